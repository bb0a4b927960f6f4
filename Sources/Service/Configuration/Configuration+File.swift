extension Configuration {
    private static let maxFileByteCount = 1 << 20

    /// Reads and checks a configuration file.
    ///
    /// - Throws: `ServiceError` with every problem, a line each.
    package init(file: String, environment: [String: String]) throws(ServiceError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try BoundedFile.read(file, limit: Self.maxFileByteCount)
        } catch {
            throw ServiceError(text: "configuration '\(file)' \(error)")
        }
        do throws(ConfigurationError) {
            try self.init(
                yaml: String(decoding: bytes, as: UTF8.self),
                fileName: file,
                environment: environment
            )
        } catch {
            throw ServiceError(lines: error.problems.map(\.description))
        }
    }

    /// Reads every key file, and tries what can be tried without a network.
    package func checkCredentials() throws(ServiceError) {
        let startUp = StartUp(configuration: self)
        _ = try startUp.signingKeys()
        _ = try startUp.shardSettings(shardCount: shards ?? 1)
    }
}
