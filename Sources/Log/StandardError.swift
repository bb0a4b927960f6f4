import Glibc
import Synchronization

/// Writes whole lines to standard error, one at a time.
///
/// The reader of standard error must not be able to stop the process, so what cannot be written is
/// lost. Foundation's `FileHandle.write` traps in this case: on a full disk, and on a full pipe
/// that a launcher made non-blocking.
package enum StandardError {
    /// Held by the thread that writes; whether the last line found no room.
    private static let isStalled = Mutex(false)
    /// How long to wait for room in a full pipe.
    ///
    /// Only the first line waits. The following ones are written if there is room, or lost: they
    /// would add up to more time than a shard has for a turn.
    private static let patienceMilliseconds: Int32 = 100

    /// Writes to standard error, or to another `descriptor` with the same rules.
    package static func write(_ bytes: [UInt8], to descriptor: Int32 = STDERR_FILENO) {
        isStalled.withLock { isStalled in
            let code = writeWhole(
                bytes,
                to: descriptor,
                patienceMilliseconds: isStalled ? 0 : patienceMilliseconds
            )
            isStalled = code == EAGAIN
        }
    }
}

/// How many bytes fit into a pipe that has room at all: `PIPE_BUF` of pipe(7).
///
/// A larger write can block in a blocking pipe, although poll(2) reports room.
private let pipeBuffer = 4096

/// Writes all bytes, and waits for room in a full pipe, whether it is blocking or not.
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
    let mayBlock = patienceMilliseconds < 0
    var written = 0
    while written < bytes.count {
        if !mayBlock {
            let code = waitForRoom(in: descriptor, patienceMilliseconds)
            guard code == 0 else { return code }
        }
        let end = mayBlock ? bytes.count : min(written + pipeBuffer, bytes.count)
        let count = unsafe bytes[written..<end].withUnsafeBytes {
            unsafe write(descriptor, $0.baseAddress, $0.count)
        }
        if count >= 0 {
            written += count
        } else if errno == EAGAIN {
            let code = waitForRoom(in: descriptor, patienceMilliseconds)
            guard code == 0 else { return code }
        } else if errno != EINTR {
            return errno
        }
    }
    return 0
}

/// Waits until a write is possible, or fails at once.
///
/// - Returns: 0, `EAGAIN` after the given time, or another errno(3) value.
private func waitForRoom(in descriptor: Int32, _ patienceMilliseconds: Int32) -> Int32 {
    var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while true {
        let count = unsafe poll(&interest, 1, patienceMilliseconds)
        if count > 0 { return 0 }
        if count == 0 { return EAGAIN }
        if errno != EINTR { return errno }
    }
}
