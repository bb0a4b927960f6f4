import CLinux
import Glibc
public import Vocabulary

/// The events that a file descriptor is watched for.
public struct Interest: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// EPOLLIN: bytes can be read or connections accepted.
    public static let read = Interest(rawValue: 1)
    /// EPOLLOUT: bytes can be written.
    public static let write = Interest(rawValue: 4)
}

/// What epoll reports for a file descriptor.
public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// EPOLLIN: bytes can be read or connections accepted.
    public static let readable = Readiness(rawValue: 1)
    /// EPOLLOUT: bytes can be written.
    public static let writable = Readiness(rawValue: 4)
    /// EPOLLERR: an error is pending in SO_ERROR.
    public static let failed = Readiness(rawValue: 8)
    /// EPOLLHUP: both directions have ended.
    public static let hungUp = Readiness(rawValue: 16)
}

/// One thread's epoll instance (`epoll(7)`), level-triggered and without callbacks.
///
/// It is owned and used by one thread. A descriptor is known by the `id` that its owner chose.
/// Owners never reuse an id, so they can recognize and drop an event that was collected before
/// `deregister`.
@safe public struct EventLoop: ~Copyable {
    private let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    /// The most events that one `wait` reports.
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

    /// Changes the events that a descriptor is watched for; takes one system call.
    public func modify(
        _ fileDescriptor: Int32,
        id: UInt64,
        interest: Interest
    ) throws(SystemError) {
        try control(EPOLL_CTL_MOD, fileDescriptor, id: id, interest: interest)
    }

    /// Stops watching a descriptor; call this before closing it.
    public func deregister(_ fileDescriptor: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, fileDescriptor, id: 0, interest: [])
    }

    /// Waits until a descriptor is ready or `deadline` has passed, then reports each event.
    ///
    /// Level-triggered: the next call reports again what `body` leaves unread. A nil deadline waits
    /// without limit; one in the past only polls. It waits at most one millisecond too long.
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

    /// The timeout of poll(2) and epoll(7) for a deadline; nil: without limit.
    static func milliseconds(until deadline: Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let now = SystemClock.now
        // Compared first: the distance to the earliest possible instant does not fit a duration.
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
