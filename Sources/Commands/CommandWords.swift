/// Decodes the words of a command line.
package enum CommandWords {
    /// Decodes the words from the kernel, which may be any bytes.
    ///
    /// Invalid UTF-8 is rejected, not repaired: a repaired word could be another payload or file
    /// name than the user meant.
    ///
    /// - Throws: The problem with the first word that is not UTF-8.
    package static func texts(of words: [[UInt8]]) throws(UsageError) -> [String] {
        var texts: [String] = []
        for word in words {
            guard let text = String(validating: word, as: UTF8.self) else {
                throw UsageError("\(place(of: word, after: texts)): not UTF-8; encode it as UTF-8")
            }
            texts.append(text)
        }
        return texts
    }

    private static func place(of word: [UInt8], after texts: [String]) -> String {
        let option = String(decoding: word.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        if option.hasPrefix("--"), option.utf8.count < word.count {
            return option
        }
        if let last = texts.last, last.hasPrefix("-"), !last.contains("=") {
            return last
        }
        return "argument \(texts.count + 1)"
    }
}
