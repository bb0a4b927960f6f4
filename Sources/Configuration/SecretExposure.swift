import Glibc
import KafkaIO
package import SystemIO

extension FileRights {
    /// Whether others may read this file, which contains a secret.
    ///
    /// As for PostgreSQL's keys, the mode must be 0600, or 0640 if another user such as root owns
    /// the file: then the process can only read it through its group.
    ///
    /// Files that an orchestrator mounts in memory are visible to one container only. By default,
    /// Kubernetes and Docker let everybody read them there.
    ///
    /// - Parameter user: The user ID of the process.
    /// - Returns: What is wrong, to follow the file's name; nil: nothing.
    package func exposure(user: UInt32) -> String? {
        guard !isInReadOnlyMemory else { return nil }
        let digits = String(mode, radix: 8)
        let shown = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        if mode & 0o006 != 0 {
            return
                "is readable by every user (mode \(shown)); set mode 0600, or 0640 if root owns it"
        }
        if mode & 0o060 != 0, owner == user, user != 0 {
            return "is readable by its group (mode \(shown)); set mode 0600"
        }
        return nil
    }
}

extension Configuration {
    /// The secret files that others may read, one per line; symbolic links are followed.
    package func exposedSecrets() -> [String] {
        let own = sourcesBySection.flatMap { section, sources in
            SecretSource.exposures(of: sources).map { "\(section).\($0)" }
        }
        let kafka = kafkaSecretFiles.compactMap { key, path in
            SecretSource.file(path).exposure.map { "kafka.properties.\(key): \($0)" }
        }
        return own + kafka
    }
}

extension Configuration {
    /// The secrets in `kafka.properties` that the configuration file itself contains, one per line.
    ///
    /// The file refuses every other secret. These are properties of librdkafka, and accepted.
    package func secretsInFile() -> [String] {
        kafka.properties.keys.sorted().compactMap { property in
            let path = "kafka.properties.\(property)"
            guard KafkaConfiguration.isSecret(KafkaConfiguration.withoutPrefix(property)),
                case .file? = locations[path]
            else { return nil }
            let steps = path.split(separator: ".").map(String.init)
            return problem(
                "is a secret in the configuration file; write it into a file of its own"
                    + " and set \(KafkaPropertyFile.key(of: property)), or set the variable"
                    + " \(ConfigurationReader.variable(for: steps))",
                at: path
            ).description
        }
    }
}

extension Configuration.Credential {
    /// Checks this credential's files; each line contains the key's name within the credential.
    package func exposedSecrets() -> [String] { SecretSource.exposures(of: sources) }
}

extension SecretSource {
    /// Checks the sources of one section; each line starts with the key's name.
    ///
    /// A new source is taken for a secret unless it is named here.
    fileprivate static func exposures(
        of sources: [(name: String, source: SecretSource)]
    ) -> [String] {
        let hasKey = sources.contains { $0.name == "private_key" }
        return sources.compactMap { name, source in
            switch name {
            case "ca", "key_id": nil
            // The key is in the certificate's file if it has no source of its own.
            case "certificate": hasKey ? nil : source.exposure(name)
            default: source.exposure(name)
            }
        }
    }

    fileprivate func exposure(_ name: String) -> String? {
        exposure.map { "\(key(name)): \($0)" }
    }

    fileprivate var exposure: String? {
        guard case .file(let path) = self else { return nil }
        return FileRights(path: path)?.exposure(user: geteuid()).map { "\(self) \($0)" }
    }
}
