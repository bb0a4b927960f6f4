import CLinux
import Glibc
public import Vocabulary

/// An `eventfd(2)` that wakes an event loop from another thread.
///
/// Safe to share: it is immutable, and eventfd reads and writes are atomic.
public final class Wakeup: Sendable {
    /// Becomes readable after `signal()`, until `drain()`.
    public let fileDescriptor: Int32

    public init() throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .last("eventfd") }
        fileDescriptor = descriptor
    }

    deinit {
        _ = Glibc.close(fileDescriptor)
    }

    /// Wakes the loop; any number of signals before the next `drain()` count as one.
    public func signal() {
        // A full counter (EAGAIN) means that a wakeup is already pending.
        _ = eventfd_write(fileDescriptor, 1)
    }

    /// Clears all signals so far.
    public func drain() {
        var count: eventfd_t = 0
        // SAFETY: eventfd_read writes one counter.
        _ = unsafe eventfd_read(fileDescriptor, &count)
    }

    /// Waits until it is signalled, at most until `deadline`; needs no other descriptor.
    ///
    /// The signals stay until `drain()`.
    ///
    /// - Returns: whether it is signalled.
    public func wait(until deadline: Instant) -> Bool {
        var interest = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
        while true {
            // SAFETY: poll writes its result into the one structure that it is given.
            let count = unsafe poll(&interest, 1, EventLoop.milliseconds(until: deadline))
            guard count < 0, errno == EINTR else { return count > 0 }
        }
    }
}
