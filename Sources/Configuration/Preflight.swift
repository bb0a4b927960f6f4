import Glibc

extension Configuration {
    /// A signing key takes about 250 bytes.
    package static let maxKeyFileByteCount = 1 << 16
    /// The system's own bundle takes about 200 KiB.
    package static let maxCAFileByteCount = 8 << 20

    /// Checks the files that the configuration names.
    ///
    /// Each must exist, be readable, and not be larger than such a file can be.
    ///
    /// Also compiles the operator's schemas.
    ///
    /// - Returns: One problem for each bad file, with its key.
    package func preflight() -> [ConfigurationProblem] {
        let missing = sourcesBySection.flatMap { section, sources in
            sources.compactMap { problem(section, $0.name, $0.source) }
        }
        return missing + inputsFolderProblems() + kafkaFileProblems() + schemaProblems()
    }

    /// The files and variables that each section names, by the names of their keys without `_file`.
    ///
    /// `exposedSecrets` reads this list too. Those of `kafka.properties` are not in it.
    var sourcesBySection: [(section: String, sources: [(name: String, source: SecretSource)])] {
        var found: [(section: String, sources: [(name: String, source: SecretSource)])] = []
        for (index, credential) in apns.credentials.enumerated() {
            found.append(("apns.credentials.\(index)", credential.sources))
        }
        let others: [(section: String, name: String, source: SecretSource?)] = [
            ("apns", "ca", apns.caFile.map(SecretSource.file)),
            ("apns", "proxy_password", apns.proxyPassword),
            ("admin", "bearer_token", admin.bearerToken),
            ("admin", "certificate", admin.certificateFile.map(SecretSource.file)),
            ("admin", "private_key", admin.privateKey),
            ("log", "fingerprint_key", log.fingerprintKey),
            ("schema_registry", "ca", schemaRegistry.caFile.map(SecretSource.file)),
            ("schema_registry", "password", schemaRegistry.password),
            ("schema_registry", "bearer_token", schemaRegistry.bearerToken),
        ]
        for (section, name, source) in others {
            guard let source else { continue }
            if found.last?.section != section { found.append((section, [])) }
            found[found.count - 1].sources.append((name, source))
        }
        return found
    }

    /// The folder must exist and be writable, because the files in it are created with new names.
    private func inputsFolderProblems() -> [ConfigurationProblem] {
        guard let folder = log.inputsFolder else { return [] }
        // A dot entry exists only in a folder.
        guard unsafe access(folder + "/.", W_OK | X_OK) != 0 else { return [] }
        let error = FileError.unwritable(errno)
        return [
            problem(
                "\(folder.quoted) \(error); expected a writable folder",
                at: "log.inputs_folder"
            )
        ]
    }

    private func problem(
        _ section: String,
        _ name: String,
        _ source: SecretSource
    ) -> ConfigurationProblem? {
        // Stands for a key that is missing or wrong, which is reported.
        guard source != .file("") else { return nil }
        let limit = name == "ca" ? Self.maxCAFileByteCount : Self.maxKeyFileByteCount
        do throws(FileError) {
            _ = try source.read(limit: limit)
            return nil
        } catch {
            return problem(
                "\(source) \(error); check the path",
                at: "\(section).\(source.key(name))"
            )
        }
    }
}

extension Configuration.Credential {
    /// The files and variables of its key or certificate, by the names of their keys without
    /// `_file`.
    package var sources: [(name: String, source: SecretSource)] {
        switch proof {
        case .providerToken(_, .text, let key): return [("key", key)]
        case .providerToken(_, .file(let keyIDFile), let key):
            return [("key", key), ("key_id", .file(keyIDFile))]
        case .certificate(let files):
            let named = [
                ("certificate", .file(files.certificate)), ("private_key", files.privateKey),
                ("passphrase", files.passphrase),
            ]
            return named.compactMap { name, source in source.map { (name, $0) } }
        }
    }
}

/// Why a file could not be read.
package enum FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Contains the `errno`.
    case unreadable(Int32)
    case unwritable(Int32)
    case notRegular
    case empty
    case tooLarge(limit: Int)

    package var description: String {
        switch self {
        case .unreadable(let code): "cannot be read: \(Self.text(of: code))"
        case .unwritable(let code): "cannot be written: \(Self.text(of: code))"
        case .notRegular: "is not a regular file"
        case .empty: "is empty"
        case .tooLarge(let limit): "is larger than \(ByteSize.print(limit))"
        }
    }

    private static func text(of code: Int32) -> String {
        // SAFETY: strerror returns a NUL-terminated string, valid until this thread's next call.
        unsafe String(cString: strerror(code))
    }
}

/// Reads whole files of limited size.
package enum BoundedFile {
    /// The file's bytes; fails if there are more than `limit`.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        // Non-blocking, because opening a named pipe without a writer would block.
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
                // SAFETY: read(2) writes at most the count passed, which is that of the buffer.
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
