import CLinux
import Glibc
public import Vocabulary

/// What a file descriptor is watched for.
public struct Interest: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes or connections to take: EPOLLIN.
    public static let read = Interest(rawValue: 1)
    /// Room for bytes: EPOLLOUT.
    public static let write = Interest(rawValue: 4)
}

/// What epoll reports for a file descriptor.
public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Bytes or connections wait: EPOLLIN.
    public static let readable = Readiness(rawValue: 1)
    /// There is room for bytes: EPOLLOUT.
    public static let writable = Readiness(rawValue: 4)
    /// An error waits in SO_ERROR: EPOLLERR.
    public static let failed = Readiness(rawValue: 8)
    /// Both directions have ended: EPOLLHUP.
    public static let hungUp = Readiness(rawValue: 16)
}

/// One thread's epoll instance (`epoll(7)`), level-triggered and without callbacks.
///
/// Owned and used by one thread. A descriptor is known by the `id` its owner chose; identifiers
/// are never used twice, so that a readiness that was collected before `deregister` is
/// recognised as late and dropped by the owner.
@safe public struct EventLoop: ~Copyable {
    private let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    /// The most readiness events that one `wait` hands over.
    private static let batch: Int32 = 256

    public init() throws(SystemError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw .last("epoll_create1") }
        self.descriptor = descriptor
        unsafe events = .allocate(capacity: Int(Self.batch))
    }

    deinit {
        unsafe events.deallocate()
        _ = Glibc.close(descriptor)
    }

    /// The monotonic clock.
    public var now: Instant { SystemClock.now }

    public func register(
        _ fileDescriptor: Int32,
        id: UInt64,
        interest: Interest
    ) throws(SystemError) {
        try control(EPOLL_CTL_ADD, fileDescriptor, id: id, interest: interest)
    }

    /// Changes what the descriptor is watched for; one system call.
    public func modify(
        _ fileDescriptor: Int32,
        id: UInt64,
        interest: Interest
    ) throws(SystemError) {
        try control(EPOLL_CTL_MOD, fileDescriptor, id: id, interest: interest)
    }

    /// Must precede the closing of the descriptor.
    public func deregister(_ fileDescriptor: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, fileDescriptor, id: 0, interest: [])
    }

    /// Waits until a descriptor is ready or `deadline` has come, then reports each readiness.
    ///
    /// Level-triggered: what `body` leaves unread is reported again by the next call. Nil waits for
    /// ever, a deadline in the past only looks. Waits at most one millisecond too long.
    public func wait(
        until deadline: Instant?,
        _ body: (_ id: UInt64, _ readiness: Readiness) -> Void
    ) throws(SystemError) {
        let count = unsafe epoll_wait(
            descriptor,
            events,
            Self.batch,
            Self.milliseconds(until: deadline)
        )
        guard count >= 0 else {
            if errno == EINTR { return }
            throw .last("epoll_wait")
        }
        for index in 0..<Int(count) {
            // SAFETY: epoll_wait filled the first `count` elements.
            let event = unsafe events[index]
            unsafe body(event.data.u64, Readiness(rawValue: event.events))
        }
    }

    private static func milliseconds(until deadline: Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let now = SystemClock.now
        // Compared before: the way to the earliest moment there is does not fit a duration.
        guard deadline > now else { return 0 }
        return Int32(min((deadline - now).nanoseconds / 1_000_000 + 1, Int64(Int32.max)))
    }

    private func control(
        _ operation: Int32,
        _ fileDescriptor: Int32,
        id: UInt64,
        interest: Interest
    ) throws(SystemError) {
        var event = unsafe epoll_event(events: interest.rawValue, data: epoll_data_t(u64: id))
        guard unsafe epoll_ctl(descriptor, operation, fileDescriptor, &event) == 0 else {
            throw .last("epoll_ctl")
        }
    }
}
