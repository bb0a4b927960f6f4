/// What some files of the configuration hold at one moment.
struct WatchedFiles: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        var key: String
        var path: String
        var content: Result<[UInt8], FileError>
    }

    private var readings: [Reading]

    /// Reads all of them; an unreadable one is a fact like others.
    ///
    /// - Parameters:
    ///   - files: Their keys in the configuration, and their paths.
    ///   - limit: The most bytes that one may have.
    init(reading files: [(key: String, file: String)], limit: Int) {
        readings = files.map { key, file in
            let content = Result { () throws(FileError) in
                try BoundedFile.read(file, limit: limit)
            }
            return Reading(key: key, path: file, content: content)
        }
    }

    /// The file that a key names; nil when the key is not set.
    func bytes(_ key: String) throws(CredentialMaterialError) -> [UInt8]? {
        guard let reading = readings.first(where: { $0.key == key }) else { return nil }
        do throws(FileError) {
            return try reading.content.get()
        } catch {
            throw CredentialMaterialError(key: key, file: reading.path, cause: "unusable: \(error)")
        }
    }

    func path(_ key: String) -> String? {
        readings.first { $0.key == key }?.path
    }
}

extension Configuration.Credential {
    func readFiles() -> WatchedFiles {
        WatchedFiles(reading: files, limit: Configuration.maxKeyFileByteCount)
    }
}

extension Configuration.APNs {
    /// The files that all credentials share: `ca_file` and `proxy_password_file`.
    func readCommonFiles() -> WatchedFiles {
        let named = [("ca_file", caFile), ("proxy_password_file", proxyPasswordFile)]
        return WatchedFiles(
            reading: named.compactMap { key, file in file.map { (key, $0) } },
            limit: Configuration.maxCAFileByteCount
        )
    }
}
