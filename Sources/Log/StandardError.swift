import Glibc
import Synchronization

/// Whole lines on standard error, one at a time.
///
/// Nobody's reading decides whether the process lives: what cannot be written is lost. (Foundation's
/// `FileHandle.write` traps then: on a full disk, and on a full pipe that a launcher made
/// non-blocking.)
package enum StandardError {
    private static let lock = Mutex(())
    /// How long a reader may keep a line waiting, in a non-blocking pipe.
    private static let patienceMilliseconds: Int32 = 100

    /// `descriptor`: another place that has to be treated so.
    package static func write(_ bytes: [UInt8], to descriptor: Int32 = STDERR_FILENO) {
        lock.withLock { _ in
            _ = writeWhole(bytes, to: descriptor, patienceMilliseconds: patienceMilliseconds)
        }
    }
}

/// Writes everything, and waits for room where a launcher has made a pipe non-blocking.
///
/// - Parameters:
///   - bytes: What is written.
///   - descriptor: Where to.
///   - patienceMilliseconds: How long to wait for room each time; -1: for ever.
/// - Returns: 0, or why not everything is written, as errno(3) has it.
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
