import YAML

extension Configuration {
    /// Reads a configuration file, and looks at the files that it names.
    ///
    /// - Throws: `ServiceError` with every problem there is, a line each; with them what
    ///   `checkCredentials` would find, as far as it can be seen beside them.
    package init(file: String, environment: [String: String]) throws(ServiceError) {
        let bytes = try Self.bytes(of: file)
        let read: (Configuration, problems: [ConfigurationProblem])
        do throws(ConfigurationError) {
            read = try Self.read(yaml: bytes, fileName: file, environment: environment)
        } catch {
            throw ServiceError(lines: error.problems.map(\.description))
        }
        let (configuration, problems) = read
        // A key that is wrong already says nothing about a file.
        let wrong = Set(problems.map(\.path))
        let missing = configuration.preflight().filter { !wrong.contains($0.path) }
        let all = ConfigurationProblem.ordered(problems + missing)
        guard all.isEmpty else {
            let contents = configuration.contentProblems(besides: Set(all.map(\.path)))
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
            throw ServiceError(text: "configuration '\(file)' \(error)")
        }
    }

    /// Reads every key, and tries what can be tried without a network; every problem is told once.
    package func checkCredentials() throws(ServiceError) {
        let startUp = StartUp(configuration: self)
        let problems =
            Self.problems { try startUp.checkProperties() }
            + contentProblems(besides: [])
            + Self.problems {
                let materials = try startUp.credentialMaterials()
                _ = try startUp.shardSettings(materials, shardCount: 1)
            }
        var told: Set<String> = []
        let lines = problems.filter { told.insert($0).inserted }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
    }

    /// Looks into the files of the credentials, of `apns` and of `log`.
    ///
    /// - Parameter blamed: The keys that are told already. A credential's keys decide what its files
    ///   have to be, so none of them is read when a key of it is among these.
    /// - Returns: What is wrong there, a line each.
    private func contentProblems(besides blamed: Set<String>) -> [String] {
        func isSound(_ path: String) -> Bool {
            !blamed.contains { $0 == path || $0.hasPrefix("\(path).") }
        }
        var lines: [String] = []
        if isSound("log.fingerprint_key_file") {
            lines += Self.problems { _ = try fingerprintKey() }
        }
        var materials: [CredentialMaterial] = []
        for (index, credential) in apns.credentials.enumerated()
        where isSound("apns.credentials.\(index)") {
            do throws(CredentialMaterialError) {
                materials.append(try CredentialMaterial(credential, credential.readFiles()))
            } catch {
                lines.append("apns.credentials.\(index).\(error.text)")
            }
        }
        guard isSound("apns.ca_file"), isSound("apns.proxy_password_file") else { return lines }
        return lines
            + Self.problems {
                let endpoints = try StartUp(configuration: self).endpoints()
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
