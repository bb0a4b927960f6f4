import Glibc

extension Configuration {
    /// A signing key has some 250 bytes.
    static let maxKeyFileByteCount = 1 << 16
    /// The system's own bundle has some 200 KiB.
    static let maxCAFileByteCount = 8 << 20

    /// Looks at the files that the configuration names.
    ///
    /// Each must be there, readable, and no larger than such a file can be.
    ///
    /// The operator's schemas are compiled as well.
    ///
    /// - Returns: One problem for each file that is not, under its key.
    package func preflight() -> [ConfigurationProblem] {
        var files: [(path: String, file: String, limit: Int)] = []
        for (index, credential) in apns.credentials.enumerated() {
            for (key, file) in credential.files {
                files.append(
                    ("apns.credentials.\(index).\(key)", file, Self.maxKeyFileByteCount)
                )
            }
        }
        if let file = apns.caFile {
            files.append(("apns.ca_file", file, Self.maxCAFileByteCount))
        }
        if let file = apns.proxyPasswordFile {
            files.append(("apns.proxy_password_file", file, Self.maxKeyFileByteCount))
        }
        if let file = log.fingerprintKeyFile {
            files.append(("log.fingerprint_key_file", file, Self.maxKeyFileByteCount))
        }
        let registry = schemaRegistry
        for (name, file, limit) in [
            ("ca_file", registry.caFile, Self.maxCAFileByteCount),
            ("password_file", registry.passwordFile, Self.maxKeyFileByteCount),
            ("bearer_token_file", registry.bearerTokenFile, Self.maxKeyFileByteCount),
        ] {
            guard let file else { continue }
            files.append((path: "schema_registry.\(name)", file: file, limit: limit))
        }
        let missing: [ConfigurationProblem] = files.compactMap { path, file, limit in
            do throws(FileError) {
                _ = try BoundedFile.read(file, limit: limit)
                return nil
            } catch {
                return ConfigurationProblem(
                    path: path,
                    message: "'\(file)' \(error), expected a readable file",
                    location: locations[path]
                )
            }
        }
        return missing + kafkaFileProblems() + schemaProblems()
    }
}

extension Configuration.Credential {
    /// The files that it names, by their keys.
    var files: [(key: String, file: String)] {
        switch proof {
        case .providerToken(_, .text, let keyFile): return [("key_file", keyFile)]
        case .providerToken(_, .file(let keyIDFile), let keyFile):
            return [("key_file", keyFile), ("key_id_file", keyIDFile)]
        case .certificate(let files):
            let named = [
                ("certificate_file", files.certificate), ("private_key_file", files.privateKey),
                ("passphrase_file", files.passphrase),
            ]
            return named.compactMap { key, file in file.map { (key, $0) } }
        }
    }
}

/// Why a file was not read.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// With the number of `errno`.
    case unreadable(Int32)
    case notRegular
    case empty
    case tooLarge(limit: Int)

    package var description: String {
        switch self {
        // SAFETY: strerror returns a terminated string, valid until this thread's next call.
        case .unreadable(let code): unsafe "cannot be read: \(String(cString: strerror(code)))"
        case .notRegular: "is not a regular file"
        case .empty: "is empty"
        case .tooLarge(let limit): "is larger than \(ByteSize.print(limit))"
        }
    }
}

/// Whole files of a bounded size.
package enum BoundedFile {
    /// The file's bytes; `limit` is the most that it may have.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        // Not blocking, or a named pipe without a writer would hold the process here.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .unreadable(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                // SAFETY: read(2) writes at most the count it is given, the buffer's own.
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(errno) }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        }
        guard !bytes.isEmpty else { throw .empty }
        return bytes
    }
}
