import Configuration

/// The contents of several configured files, or of the variables that replace them, at one time.
///
/// Each is identified by its configuration key without `_file`.
package struct WatchedFiles: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        var name: String
        var source: SecretSource
        var content: Result<[UInt8], FileError>
    }

    private var readings: [Reading]

    /// Reads all of them; an unreadable file, or one larger than `limit` bytes, is recorded as an
    /// error.
    init(reading sources: [(name: String, source: SecretSource)], limit: Int) {
        readings = sources.map { name, source in
            let content = Result { () throws(FileError) in try source.read(limit: limit) }
            return Reading(name: name, source: source, content: content)
        }
    }

    /// The contents; nil if the key is not set.
    func bytes(_ name: String) throws(CredentialMaterialError) -> [UInt8]? {
        guard let reading = readings.first(where: { $0.name == name }) else { return nil }
        do throws(FileError) {
            return try reading.content.get()
        } catch {
            throw CredentialMaterialError(name, reading.source, error.description)
        }
    }

    func source(_ name: String) -> SecretSource? {
        readings.first { $0.name == name }?.source
    }
}

extension Configuration.Credential {
    package func readFiles() -> WatchedFiles {
        WatchedFiles(reading: sources, limit: Configuration.maxKeyFileByteCount)
    }
}

extension Configuration.APNs {
    /// Reads the files that all credentials share: `ca_file` and `proxy_password_file`.
    func readCommonFiles() -> WatchedFiles {
        let named = [("ca", caFile.map(SecretSource.file)), ("proxy_password", proxyPassword)]
        return WatchedFiles(
            reading: named.compactMap { name, source in source.map { (name, $0) } },
            limit: Configuration.maxCAFileByteCount
        )
    }
}
