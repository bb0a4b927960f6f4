import KafkaIO

/// The parts of the configuration that are secret and must not be shown.
package enum Secrets {
    private static let words = ["password", "secret", "key.pem", "jaas", "token"]
    /// All SASL properties except the mechanism: a user's name is half of a login.
    private static let plain: Set<String> = ["sasl.mechanism", "sasl.mechanisms"]
    static let hidden = "(hidden)"

    /// The value of a librdkafka property, or what is shown of it.
    package static func masked(_ value: String, of property: String) -> String {
        let property = KafkaConfiguration.withoutPrefix(property.lowercased())
        let isSecret = property.hasPrefix("sasl.") || words.contains { property.contains($0) }
        if isSecret && !plain.contains(property) { return hidden }
        return value.mayBeShown ? value : "(\(value.withheld))"
    }

    /// A value without the password that it may have as a URL, whatever characters that has; also
    /// of one that lacks its scheme.
    ///
    /// To be asked before the value is cut: without its `@` nobody would know.
    package static func withoutPassword(inValue text: String) -> String {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        guard let at = text.lastIndex(of: "@"), start < at,
            let colon = text[start..<at].firstIndex(of: ":")
        else { return text }
        return "\(text[...colon])\(hidden)\(text[at...])"
    }

    /// A sentence that may quote URLs, without the passwords in them: `http://user:(hidden)@host`.
    ///
    /// A password may itself have a colon, a slash or an `@`: everything from the first colon
    /// to the last `@` of a word is hidden.
    package static func withoutPasswords(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let scheme = rest.firstRange(of: "://") {
            shown += rest[..<scheme.upperBound]
            rest = rest[scheme.upperBound...]
            let word = rest.prefix { !$0.isWhitespace && $0 != "'" }
            guard let at = word.lastIndex(of: "@"),
                let colon = word[..<at].firstIndex(of: ":")
            else { continue }
            shown += "\(word[...colon])\(hidden)"
            rest = rest[at...]
        }
        return shown + rest
    }
}
