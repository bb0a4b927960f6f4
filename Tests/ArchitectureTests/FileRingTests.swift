import Testing

/// In the core, and in the shard around it, files know each other in one direction only: whoever
/// reads one needs those that it names, and never the other way round.
@Suite struct FileRingTests {
    @Test(arguments: ["Delivery", "Shard"])
    func `no files of a module name each other's types in a ring`(module: String) throws {
        let files = try sources(of: module)
        var declarers: [Substring: [Int]] = [:]
        for (index, file) in files.enumerated() {
            for name in file.declaredTypes { declarers[name, default: []].append(index) }
        }
        // What it names that one other file declares.
        var named = files.enumerated().map { index, file in
            Set(file.words.compactMap { declarers[$0] }.filter { $0.count == 1 }.map { $0[0] })
                .subtracting([index])
        }
        // Whoever names nobody that is left goes; a ring stays.
        var left = Set(files.indices)
        while let leaf = left.first(where: { named[$0].isDisjoint(with: left) }) {
            left.remove(leaf)
        }
        // Of those that only lead to a ring, too.
        for index in left { named[index].formIntersection(left) }
        #expect(left.map { files[$0].name }.sorted() == [])
    }
}

extension SourceFile {
    /// The types at the file's top level that other files can name.
    fileprivate var declaredTypes: [Substring] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(where: Self.keywords.contains), !line.isIndented,
                !words[..<keyword].contains("private"), !line.hasPrefix("//")
            else { return nil }
            return words[keyword + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        }
    }

    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "protocol", "typealias",
    ]

    /// The words of its code, comments and literals left out.
    fileprivate var words: Set<Substring> {
        Set(
            lines.flatMap { line -> [Substring] in
                let code = line.split(
                    separator: "//",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                // Every second piece stands between quotes.
                let pieces = (code.first ?? "").split(
                    separator: "\"",
                    omittingEmptySubsequences: false
                )
                return pieces.enumerated().filter { $0.offset.isMultiple(of: 2) }.flatMap {
                    $0.element.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                }
            }
        )
    }
}

extension Substring {
    fileprivate var isIndented: Bool { first == " " }
}
