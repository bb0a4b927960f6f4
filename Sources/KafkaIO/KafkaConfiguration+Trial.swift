import CRdkafka

extension KafkaConfiguration {
    /// The problems that librdkafka finds only when it creates a client.
    ///
    /// Examples are TLS files that cannot be read, a key that does not match its certificate, or
    /// values that contradict each other. Creates and destroys a client of each role, without
    /// brokers and without SASL: it connects to nothing, and runs no login helper.
    ///
    /// - Parameters:
    ///   - properties: the properties as the operator wrote them.
    ///   - transactionalID: the producer's transactional ID; nil: it uses no transactions.
    /// - Returns: each problem once, without secret values; empty if a single property is invalid,
    ///   which `problems(in:)` reports better.
    public static func clientProblems(
        in properties: [String: String],
        transactionalID: String? = nil
    ) -> [String] {
        guard problems(in: properties).isEmpty else { return [] }
        let roles: [(Role, rd_kafka_type_t)] = [
            (.consumer, RD_KAFKA_CONSUMER), (.producer, RD_KAFKA_PRODUCER),
            (.inspector, RD_KAFKA_CONSUMER),
        ]
        var texts: [String] = []
        for (role, type) in roles {
            if let text = loginProblem(properties, role), !texts.contains(text) {
                texts.append(text)
            }
            do throws(KafkaError) {
                let configuration = try KafkaConfiguration(
                    role,
                    bootstrapServers: "",
                    properties: withoutSASL(properties),
                    transactionalID: role == .producer ? transactionalID : nil
                )
                try ClientHandle(configuration: configuration, type: type, wakeup: nil).destroy()
            } catch {
                if !texts.contains(error.text) { texts.append(error.text) }
            }
        }
        return texts
    }

    /// What is wrong with the login settings, or with the login helper.
    private static func loginProblem(_ properties: [String: String], _ role: Role) -> String? {
        // librdkafka treats an empty value as unset, and has two names for this property.
        let own = Self.properties(properties, for: role).map { key, value in
            let name = withoutPrefix(key)
            return (name == "sasl.mechanism" ? "sasl.mechanisms" : name, value)
        }
        let values = Dictionary(own) { $1 }.filter { !$0.value.isEmpty }
        guard values["security.protocol"]?.lowercased().hasPrefix("sasl_") == true else {
            return nil
        }
        let mechanism = values["sasl.mechanisms"] ?? "GSSAPI"
        switch mechanism {
        case "GSSAPI":
            // With 0 librdkafka runs no helper: something else renews the tickets.
            let helper = ["sasl.kerberos.keytab", "sasl.kerberos.kinit.cmd"]
            guard helper.allSatisfy({ values[$0] == nil }),
                values["sasl.kerberos.min.time.before.relogin"].flatMap(Int.init) != 0
            else { return nil }
            let choice = values["sasl.mechanisms"] == nil ? "GSSAPI if it is not set" : "GSSAPI"
            return "sasl.mechanisms is \(choice), which needs sasl.kerberos.keytab"
        case "PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512":
            let login = ["sasl.username", "sasl.password"]
            guard login.contains(where: { values[$0] == nil }) else { return nil }
            return "sasl.mechanisms is \(mechanism), which needs sasl.username and sasl.password"
        case "OAUTHBEARER":
            return values[TokenFile.property].flatMap { TokenFile(path: $0).problem }
        default:
            return "sasl.mechanisms is \(mechanism); expected GSSAPI, PLAIN, SCRAM-SHA-256,"
                + " SCRAM-SHA-512 or OAUTHBEARER, in capitals"
        }
    }

    /// The same properties without SASL, keeping TLS if the protocol uses it.
    private static func withoutSASL(_ properties: [String: String]) -> [String: String] {
        var kept = properties.filter { !withoutPrefix($0.key).contains("sasl.") }
        for (name, value) in kept where withoutPrefix(name) == "security.protocol" {
            kept[name] = value.lowercased() == "sasl_ssl" ? "ssl" : value
            if value.lowercased() == "sasl_plaintext" { kept[name] = "plaintext" }
        }
        return kept
    }
}
