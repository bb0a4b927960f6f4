import Configuration
import Credentials
package import Log
import SystemIO
package import Vocabulary
import YAML

extension Configuration {
    /// Reads a configuration file, and checks the files that it names.
    ///
    /// - Throws: `ServiceError` with every problem, one per line, including those of
    ///   `checkCredentials` as far as they can be found.
    package init(file: String, environment: [String: String]) throws(ServiceError) {
        let bytes = try Self.bytes(of: file)
        let read: (Configuration, problems: [ConfigurationProblem])
        do throws(ConfigurationError) {
            read = try Self.read(yaml: bytes, fileName: file, environment: environment)
        } catch {
            throw ServiceError(lines: error.problems.map(\.description))
        }
        var configuration = read.0
        let problems = read.problems
        // If a key itself is invalid, problems of its file are meaningless.
        let wrong = Set(problems.map(\.path))
        let missing = (configuration.takePropertyFiles() + configuration.preflight())
            .filter { !wrong.contains($0.path) }
        let all = ConfigurationProblem.ordered(problems + missing)
        guard all.isEmpty else {
            var warnings: [String] = []
            let contents = configuration.contentProblems(
                besides: Set(all.map(\.path)),
                validAt: nil,
                &warnings
            )
            throw ServiceError(lines: all.map(\.description) + contents.map(configuration.placed))
        }
        self = configuration
    }

    private static func bytes(of file: String) throws(ServiceError) -> [UInt8] {
        do throws(FileError) {
            return try BoundedFile.read(file, limit: YAMLDocument.maxByteCount)
        } catch .empty {
            // An empty file has no keys; the missing required ones are reported later.
            return []
        } catch {
            throw ServiceError(text: "--config: \(file.quoted) \(error); check the path")
        }
    }

    /// Reads the files of every key, and checks everything possible without a network.
    ///
    /// Every problem is reported once.
    ///
    /// - Parameter now: The time at which certificates must be valid; nil: it is not checked.
    /// - Returns: Warnings about future problems.
    /// - Throws: Every problem, one per line.
    @discardableResult
    package func checkCredentials(validAt now: Timestamp? = nil) throws(ServiceError) -> [String] {
        let startUp = StartUp(configuration: self)
        var warnings: [String] = []
        let problems =
            Self.problems { try startUp.checkProperties() }
            + contentProblems(besides: [], validAt: now, &warnings)
            + Self.problems {
                let materials = try apns.readMaterials()
                _ = try startUp.shardSettings(materials, shardCount: 1)
            }
        var told: Set<String> = []
        let lines = problems.map(placed).filter { told.insert($0).inserted }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
        return warnings
    }

    /// Checks `kafka.properties`, for commands that connect to Kafka and to nothing else.
    ///
    /// - Throws: Every problem, one per line.
    package func checkKafkaProperties() throws(ServiceError) {
        do throws(ServiceError) {
            try StartUp(configuration: self).checkProperties()
        } catch {
            throw ServiceError(lines: error.lines.map(placed))
        }
    }

    /// A line that starts with a key, with the key's place at its end unless the line names it.
    private func placed(_ line: String) -> String {
        guard let end = line.firstRange(of: ": "),
            let location = locations[String(line[..<end.lowerBound])],
            !line.contains(location.description)
        else { return line }
        return "\(line) (\(location))"
    }

    /// Does the same, requires certificates to be valid now, and warns about files that others can
    /// read and about secrets in the configuration file.
    package func checkCredentialsNow() throws(ServiceError) -> [String] {
        let warnings = try checkCredentials(validAt: SystemClock.wallClock)
        return (warnings + exposedSecrets() + secretsInFile()).map(placed)
    }

    /// Checks the contents of the files of credentials, `apns`, `admin` and `log`, and the validity
    /// of Kafka's certificates.
    ///
    /// - Parameters:
    ///   - blamed: The keys whose problems are already reported. A credential's keys determine what
    ///     its files must contain, so none of its files is read if one of its keys is in this set.
    ///   - now: The time at which certificates must be valid; nil: it is not checked.
    ///   - warnings: Receives warnings about future problems.
    /// - Returns: The problems, one per line.
    private func contentProblems(
        besides blamed: Set<String>,
        validAt now: Timestamp?,
        _ warnings: inout [String]
    ) -> [String] {
        func isSound(_ path: String) -> Bool {
            !blamed.contains { $0 == path || $0.hasPrefix("\(path).") }
        }
        var lines: [String] = []
        for certificate in kafka.certificates() {
            let path = "kafka.properties.\(certificate.property)"
            guard let now, isSound(path) else { continue }
            let (problem, warning) = certificate.verdict(now: now)
            if let problem { lines.append("\(path): \(problem)") }
            if let warning { warnings.append("\(path): \(warning)") }
        }
        if isSound("log.fingerprint_key_file"), isSound("log.fingerprint_key") {
            lines += Self.problems { _ = try fingerprintKey() }
        }
        if isSound("admin.bearer_token_file"), isSound("admin.bearer_token") {
            lines += Self.problems { _ = try admin.readTokens() }
        }
        let identityKeys = ["certificate_file", "private_key_file", "private_key"]
        if identityKeys.allSatisfy({ isSound("admin.\($0)") }) {
            lines += Self.problems { _ = try admin.readIdentity() }
        }
        var materials: [CredentialMaterial] = []
        for (index, credential) in apns.credentials.enumerated()
        where isSound("apns.credentials.\(index)") {
            let path = "apns.credentials.\(index)."
            do throws(CredentialMaterialError) {
                let files = credential.readFiles()
                let material = try CredentialMaterial(credential, files)
                materials.append(material)
                guard let now else { continue }
                try material.checkValidity(files, now: now)
                if let warning = material.expiryWarning(files, now: now) {
                    warnings.append("\(path)\(warning)")
                }
            } catch {
                lines.append("\(path)\(error.text)")
            }
        }
        guard isSound("apns.ca_file"), isSound("apns.proxy_password_file"),
            isSound("apns.proxy_password")
        else { return lines }
        return lines
            + Self.problems {
                let endpoints = try apns.readEndpoints()
                for material in materials { _ = try endpoints.all(of: material) }
            }
    }

    private static func problems(_ check: () throws -> Void) -> [String] {
        do {
            try check()
            return []
        } catch let error as ServiceError {
            return error.lines
        } catch {
            return ["\(error)"]
        }
    }
}
