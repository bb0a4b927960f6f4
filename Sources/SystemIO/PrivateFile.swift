import Glibc

/// A new file that only its owner may read, written once from start to end.
public struct PrivateFile: ~Copyable {
    private let descriptor: Int32

    /// Creates the file with mode 0600; fails with `EEXIST`, without a change, if the file exists.
    public init(at path: String) throws(SystemError) {
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .last("open") }
    }

    deinit { close(descriptor) }

    /// Appends all bytes to the file.
    public func append(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // SAFETY: the slice's bytes live as long as the call.
            let count = unsafe rest.withUnsafeBytes { bytes in
                retryingOnInterrupt { unsafe write(descriptor, bytes.baseAddress, bytes.count) }
            }
            guard count > 0 else { throw .last("write") }
            rest = rest.dropFirst(count)
        }
    }
}
