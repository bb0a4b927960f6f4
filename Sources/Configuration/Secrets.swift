import KafkaIO

/// Which parts of the configuration are secret and must not be shown.
package enum Secrets {
    private static let words = ["password", "secret", "key.pem", "jaas", "token"]
    /// All SASL properties except these are hidden: even a user name is half of a login.
    private static let plain: Set<String> = [
        "sasl.mechanism", "sasl.mechanisms", KafkaPropertyFile.tokens,
    ]
    static let hidden = "(hidden)"

    /// A librdkafka property's value, hidden if it is secret.
    package static func masked(_ value: String, of property: String) -> String {
        let property = KafkaConfiguration.withoutPrefix(property.lowercased())
        let isSecret = property.hasPrefix("sasl.") || words.contains { property.contains($0) }
        if isSecret && !plain.contains(property) { return hidden }
        return value.mayBeShown ? value : "(\(value.withheld))"
    }

    /// A value without the password that it has if it is a URL, even one without a scheme.
    ///
    /// The password may contain any characters.
    ///
    /// Call it before truncating the value: without its `@`, the password could not be recognized.
    package static func withoutPassword(inValue text: String) -> String {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        guard let at = text.lastIndex(of: "@"), start < at,
            let colon = text[start..<at].firstIndex(of: ":")
        else { return text }
        return "\(text[...colon])\(hidden)\(text[at...])"
    }

    /// A sentence without the passwords of URLs that it quotes: `http://user:(hidden)@host`.
    ///
    /// A password may itself contain a colon, a slash or an `@`: everything between the first colon
    /// and the last `@` of a word is hidden.
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
