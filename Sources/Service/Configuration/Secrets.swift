/// Which librdkafka properties hold a secret.
enum Secrets {
    private static let words = ["password", "secret", "key.pem", "jaas", "token"]
    private static let properties: Set<String> = ["sasl.oauthbearer.config", "ssl.key.pem"]

    static func masked(_ value: String, of property: String) -> String {
        let isSecret =
            properties.contains(property) || words.contains { property.lowercased().contains($0) }
        return isSecret ? "(hidden)" : value
    }
}
