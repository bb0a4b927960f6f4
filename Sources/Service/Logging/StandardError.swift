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
            var written = 0
            while written < bytes.count {
                let count = unsafe bytes.withUnsafeBytes { all in
                    unsafe Glibc.write(
                        descriptor,
                        all.baseAddress?.advanced(by: written),
                        all.count - written
                    )
                }
                if count >= 0 {
                    written += count
                } else if errno == EAGAIN {
                    guard hasRoom(descriptor) else { return }
                } else if errno != EINTR {
                    return
                }
            }
        }
    }

    private static func hasRoom(_ descriptor: Int32) -> Bool {
        var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&interest, 1, patienceMilliseconds) == 1
    }
}
