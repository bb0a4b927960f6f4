import KafkaIO

/// The files of the Kafka client, checked here because it reports only OpenSSL's error number.
extension Configuration {
    private static let tlsFiles: Set = [
        "ssl.ca.location", "ssl.certificate.location", "ssl.crl.location", "ssl.key.location",
        "ssl.keystore.location",
    ]
    private static let secretFiles: Set = ["ssl.key.location", "ssl.keystore.location", keytab]
    /// May also be a directory, or the keyword for the system's default.
    private static let caLocation = "ssl.ca.location"
    private static let keytab = "sasl.kerberos.keytab"

    /// Checks the files in `kafka.properties` that the client will read.
    ///
    /// - Returns: One problem for each unreadable file, with its property.
    package func kafkaFileProblems() -> [ConfigurationProblem] {
        kafkaFiles.compactMap { property, file in
            let mayBeDirectory = KafkaConfiguration.withoutPrefix(property) == Self.caLocation
            do throws(FileError) {
                _ = try BoundedFile.read(file, limit: Self.maxCAFileByteCount)
                return nil
            } catch .notRegular where mayBeDirectory {
                return nil
            } catch {
                return problem(
                    "\(file.quoted) \(error); check the path",
                    at: "kafka.properties.\(property)"
                )
            }
        }
    }

    /// The files that contain a key or replace a property, with their configuration keys.
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

    /// Whether Kerberos is used: explicitly, or by default because no SASL mechanism is set.
    private var usesKerberos: Bool {
        let mechanisms = kafkaValues(of: ["sasl.mechanism", "sasl.mechanisms"])
        return kafkaValues(of: ["security.protocol"]).contains { $0.hasPrefix("sasl") }
            && (mechanisms.isEmpty || mechanisms.contains("gssapi"))
    }

    /// A property's values for consumers, producers or both, in lower case.
    private func kafkaValues(of names: Set<String>) -> [String] {
        kafka.properties.filter { names.contains(KafkaConfiguration.withoutPrefix($0.key)) }
            .map { $0.value.lowercased() }
    }
}
