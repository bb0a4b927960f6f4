import KafkaIO

/// The files of Kafka's client: of one that it cannot read, it reports OpenSSL's number only.
extension Configuration {
    private static let tlsFiles: Set = [
        "ssl.ca.location", "ssl.certificate.location", "ssl.crl.location", "ssl.key.location",
        "ssl.keystore.location",
    ]
    private static let secretFiles: Set = ["ssl.key.location", "ssl.keystore.location", keytab]
    /// May also be a directory, or the word for "wherever systems have it".
    private static let caLocation = "ssl.ca.location"
    private static let keytab = "sasl.kerberos.keytab"

    /// Looks at the files of `kafka.properties` that the client is going to read.
    ///
    /// - Returns: One problem for each that cannot be read, under its property.
    package func kafkaFileProblems() -> [ConfigurationProblem] {
        kafkaFiles.compactMap { property, file in
            let mayBeDirectory = KafkaConfiguration.withoutPrefix(property) == Self.caLocation
            do throws(FileError) {
                _ = try BoundedFile.read(file, limit: Self.maxCAFileByteCount)
                return nil
            } catch .notRegular where mayBeDirectory {
                return nil
            } catch {
                let path = "kafka.properties.\(property)"
                return ConfigurationProblem(
                    path: path,
                    message: "\(file.quoted) \(error); check the path",
                    location: locations[path]
                )
            }
        }
    }

    /// Those with a key, and those that replace a property, by the configuration's key.
    var kafkaSecretFiles: [(key: String, path: String)] {
        let keys = kafkaFiles.filter {
            Self.secretFiles.contains(KafkaConfiguration.withoutPrefix($0.property))
        }
        let properties =
            kafka.propertyFiles.map { (KafkaPropertyFile.key(of: $0.key), $0.value) }
            + kafka.properties.filter {
                KafkaConfiguration.withoutPrefix($0.key) == KafkaPropertyFile.tokens
            }.map { ($0.key, $0.value) }
        return keys + properties.sorted { $0.0 < $1.0 }
    }

    /// The files that the client reads, by property.
    package var kafkaFiles: [(property: String, path: String)] {
        kafka.properties.sorted { $0.key < $1.key }.compactMap { property, file in
            let name = KafkaConfiguration.withoutPrefix(property)
            let isRead =
                usesTLS && Self.tlsFiles.contains(name) || usesKerberos && name == Self.keytab
            guard isRead, !file.isEmpty, !(name == Self.caLocation && file == "probe") else {
                return nil
            }
            return (property, file)
        }
    }

    private var usesTLS: Bool {
        kafkaValues(of: ["security.protocol"]).contains { $0.hasSuffix("ssl") }
    }

    /// The mechanism of SASL that is used where none is named.
    private var usesKerberos: Bool {
        let mechanisms = kafkaValues(of: ["sasl.mechanism", "sasl.mechanisms"])
        return kafkaValues(of: ["security.protocol"]).contains { $0.hasPrefix("sasl") }
            && (mechanisms.isEmpty || mechanisms.contains("gssapi"))
    }

    /// What a property is set to, in lower case, for consumers, producers or both.
    private func kafkaValues(of names: Set<String>) -> [String] {
        kafka.properties.filter { names.contains(KafkaConfiguration.withoutPrefix($0.key)) }
            .map { $0.value.lowercased() }
    }
}
