extension Configuration {
    private static let maxFileByteCount = 1 << 20

    /// Reads a configuration file, and looks at the files that it names.
    ///
    /// - Throws: `ServiceError` with every problem there is, a line each.
    package init(file: String, environment: [String: String]) throws(ServiceError) {
        let text = try Self.text(of: file)
        do throws(ConfigurationError) {
            let (configuration, problems) = try Self.read(
                yaml: text,
                fileName: file,
                environment: environment
            )
            // A key that is wrong already says nothing about a file.
            let wrong = Set(problems.map(\.path))
            let missing = configuration.preflight().filter { !wrong.contains($0.path) }
            let all = ConfigurationProblem.ordered(problems + missing)
            guard all.isEmpty else { throw ConfigurationError(problems: all) }
            self = configuration
        } catch {
            throw ServiceError(lines: error.problems.map(\.description))
        }
    }

    private static func text(of file: String) throws(ServiceError) -> String {
        do throws(FileError) {
            let bytes = try BoundedFile.read(file, limit: maxFileByteCount)
            return String(decoding: bytes, as: UTF8.self)
        } catch .empty {
            // No keys: the required ones are reported.
            return ""
        } catch {
            throw ServiceError(text: "configuration '\(file)' \(error)")
        }
    }

    /// Reads every key, and tries what can be tried without a network; every problem is told once.
    package func checkCredentials() throws(ServiceError) {
        let startUp = StartUp(configuration: self)
        let problems =
            Self.problems { try startUp.checkProperties() }
            + Self.problems { _ = try fingerprintKey() }
            + Self.problems {
                let materials = try startUp.credentialMaterials()
                _ = try startUp.shardSettings(materials, shardCount: 1)
                let endpoints = try startUp.endpoints()
                for material in materials { _ = try endpoints.all(of: material) }
            }
        var told: Set<String> = []
        let lines = problems.filter { told.insert($0).inserted }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
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
