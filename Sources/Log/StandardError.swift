import Glibc
import Synchronization

/// Writes whole lines to standard error, one at a time.
///
/// The reader of standard error must not be able to stop the process, so what cannot be written is
/// lost. Foundation's `FileHandle.write` traps in this case: on a full disk, and on a full pipe
/// that a launcher made non-blocking.
package enum StandardError {
    private static let lock = Mutex(())
    /// How long to wait for room in a non-blocking pipe.
    private static let patienceMilliseconds: Int32 = 100

    /// Writes to standard error, or to another `descriptor` with the same rules.
    package static func write(_ bytes: [UInt8], to descriptor: Int32 = STDERR_FILENO) {
        lock.withLock { _ in
            _ = writeWhole(bytes, to: descriptor, patienceMilliseconds: patienceMilliseconds)
        }
    }
}

/// Writes all bytes, and waits for room if a launcher made the pipe non-blocking.
///
/// - Parameters:
///   - bytes: The bytes to write.
///   - descriptor: The file descriptor to write to.
///   - patienceMilliseconds: How long to wait for room each time; -1: without limit.
/// - Returns: 0, or the errno(3) value that says why not everything was written.
package func writeWhole(
    _ bytes: [UInt8],
    to descriptor: Int32,
    patienceMilliseconds: Int32
) -> Int32 {
    var written = 0
    while written < bytes.count {
        let count = unsafe bytes[written...].withUnsafeBytes {
            unsafe write(descriptor, $0.baseAddress, $0.count)
        }
        if count >= 0 {
            written += count
        } else if errno == EAGAIN {
            var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard unsafe poll(&interest, 1, patienceMilliseconds) != 0 else { return EAGAIN }
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}
