import Configuration
import Credentials
package import Log
import SystemIO
package import Vocabulary
import YAML

extension Configuration {
    /// Reads a configuration file, and looks at the files that it names.
    ///
    /// - Throws: `ServiceError` with every problem there is, a line each; with them what
    ///   `checkCredentials` would find, as far as it can be seen without them.
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
        // A key that is wrong already says nothing about a file.
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
            throw ServiceError(lines: all.map(\.description) + contents)
        }
        self = configuration
    }

    private static func bytes(of file: String) throws(ServiceError) -> [UInt8] {
        do throws(FileError) {
            return try BoundedFile.read(file, limit: YAMLDocument.maxByteCount)
        } catch .empty {
            // No keys: the required ones are reported.
            return []
        } catch {
            throw ServiceError(text: "--config: \(file.quoted) \(error); check the path")
        }
    }

    /// Reads every key, and tries what can be tried without a network; every problem is reported
    /// once.
    ///
    /// - Parameter now: When certificates have to be valid; nil: it does not matter.
    /// - Returns: What will be a problem soon.
    /// - Throws: Every problem, a line each.
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
        let lines = problems.filter { told.insert($0).inserted }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
        return warnings
    }

    /// The same, with certificates that have to be valid now; the files that others may read are
    /// among the warnings.
    package func checkCredentialsNow() throws(ServiceError) -> [String] {
        try checkCredentials(validAt: SystemClock.wallClock) + exposedSecrets()
    }

    /// Looks into the files of the credentials, of `apns`, of `admin` and of `log`, and at the time of
    /// Kafka's certificates.
    ///
    /// - Parameters:
    ///   - blamed: The keys that are already reported. A credential's keys decide what its files
    ///     have to be, so none of them is read when a key of it is among these.
    ///   - now: When certificates have to be valid; nil: it does not matter.
    ///   - warnings: Grows by what will be a problem soon.
    /// - Returns: What is wrong there, a line each.
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
