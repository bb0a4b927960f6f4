import CLinux
import Glibc
import Synchronization
public import SystemIO
import Vocabulary

/// Why a name could not be resolved.
public struct ResolveError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An EAI code of `getaddrinfo(3)`.
    public let code: Int32
    /// The text of `gai_strerror(3)`, or of `errno` for EAI_SYSTEM.
    public let text: String

    public var description: String { text }
}

/// The result of one query.
public struct Resolution: Sendable {
    /// The number that the caller gave the query.
    public let id: UInt64
    /// At least one address, or the error.
    public let result: Result<[SocketAddress], ResolveError>
}

/// Resolves names with `getaddrinfo(3)` on a thread of its own, because it blocks.
///
/// Nothing is cached: Apple recommends a fresh look-up before each connection.
public final class Resolver: Sendable {
    private struct Query {
        let id: UInt64
        let host: String
        let port: UInt16
        let shuffleSeed: UInt64?
    }

    private struct Mailbox {
        var queries: [Query] = []
        var resolutions: [Resolution] = []
        /// Queries whose resolutions were not taken yet, including the one in progress.
        var outstanding = 0
        var isClosed = false
    }

    /// Shared with the thread, which may outlive the resolver by one query.
    private final class Shared: Sendable {
        let mailbox = Mutex(Mailbox())
        /// An eventfd with EFD_SEMAPHORE: reading blocks until there is a query.
        let queryCount: Int32
        let wakeup: Wakeup

        init() throws(SystemError) {
            wakeup = try Wakeup()
            queryCount = eventfd(0, Int32(EFD_CLOEXEC | EFD_SEMAPHORE))
            guard queryCount >= 0 else { throw .last("eventfd") }
        }

        deinit {
            _ = Glibc.close(queryCount)
        }
    }

    private let shared: Shared
    private let capacity: Int

    /// Starts the thread; at most `capacity` queries and results may wait at once.
    public init(capacity: Int = 256) throws(SystemError) {
        self.capacity = capacity
        shared = try Shared()
        try Self.startThread(shared)
    }

    deinit {
        shared.mailbox.withLock { $0.isClosed = true }
        _ = eventfd_write(shared.queryCount, 1)
    }

    /// Readable while resolutions wait.
    public var fileDescriptor: Int32 { shared.wakeup.fileDescriptor }

    /// Requests the addresses of a host, of both families; a numeric host needs no look-up.
    ///
    /// The resolution carries `id`. `shuffleSeed` spreads connections over the addresses; nil keeps
    /// the order of getaddrinfo. The address family that getaddrinfo puts first stays first,
    /// because it knows which one works here (RFC 6724).
    ///
    /// - Returns: `false` if the mailbox is full, and there is no query.
    public func resolve(
        _ host: String,
        port: UInt16,
        id: UInt64,
        shuffleSeed: UInt64? = nil
    ) -> Bool {
        let query = Query(id: id, host: host, port: port, shuffleSeed: shuffleSeed)
        let isTaken = shared.mailbox.withLock { mailbox in
            guard mailbox.outstanding < capacity else { return false }
            mailbox.outstanding += 1
            mailbox.queries.append(query)
            return true
        }
        if isTaken { _ = eventfd_write(shared.queryCount, 1) }
        return isTaken
    }

    /// Removes and returns the finished resolutions, in the order of their queries.
    public func takeResolutions() -> [Resolution] {
        shared.wakeup.drain()
        return shared.mailbox.withLock { mailbox in
            let resolutions = mailbox.resolutions
            mailbox.resolutions = []
            mailbox.outstanding -= resolutions.count
            return resolutions
        }
    }

    private static func startThread(_ shared: Shared) throws(SystemError) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe _ = pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // SAFETY: the thread takes over the reference that passRetained added.
        let context = unsafe Unmanaged.passRetained(shared)
        var thread = pthread_t()
        let status = unsafe pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context = unsafe context else { return nil }
                Resolver.run(
                    unsafe Unmanaged<Shared>.fromOpaque(context).takeRetainedValue()
                )
                return nil
            },
            context.toOpaque()
        )
        guard status == 0 else {
            unsafe context.release()
            throw SystemError(call: "pthread_create", code: status)
        }
    }

    private static func run(_ shared: Shared) {
        while true {
            var count: eventfd_t = 0
            let status = unsafe eventfd_read(shared.queryCount, &count)
            if status != 0, errno != EINTR { return }
            let (query, isClosed) = shared.mailbox.withLock { mailbox in
                (mailbox.queries.isEmpty ? nil : mailbox.queries.removeFirst(), mailbox.isClosed)
            }
            if isClosed { return }
            guard let query else { continue }
            var result = addresses(of: query.host, port: query.port)
            if let seed = query.shuffleSeed {
                var generator = SeededGenerator(seed: seed)
                result = result.map { $0.shuffledWithinFamilies(using: &generator) }
            }
            shared.mailbox.withLock {
                $0.resolutions.append(Resolution(id: query.id, result: result))
            }
            shared.wakeup.signal()
        }
    }

    private static func addresses(
        of host: String,
        port: UInt16
    ) -> Result<[SocketAddress], ResolveError> {
        if let numeric = SocketAddress(numeric: host, port: port) { return .success([numeric]) }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // Without this flag, glibc returns IPv6 addresses on machines without IPv6.
        unsafe hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else { return .failure(error(status)) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = unsafe list
        // SAFETY: the list is valid until freeaddrinfo; ai_addr has ai_addrlen octets.
        while let entry = unsafe next {
            var storage = sockaddr_storage()
            let length = unsafe min(
                Int(entry.pointee.ai_addrlen),
                MemoryLayout<sockaddr_storage>.size
            )
            if let source = unsafe entry.pointee.ai_addr {
                unsafe withUnsafeMutableBytes(of: &storage) { room in
                    unsafe room.copyMemory(
                        from: UnsafeRawBufferPointer(start: source, count: length)
                    )
                }
            }
            if var address = SocketAddress(storage) {
                address.port = port
                if !addresses.contains(address) { addresses.append(address) }
            }
            unsafe next = entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(error(EAI_NONAME)) : .success(addresses)
    }

    private static func error(_ code: Int32) -> ResolveError {
        if code == EAI_SYSTEM { return ResolveError(code: code, text: systemErrorText(errno)) }
        // SAFETY: gai_strerror returns static strings.
        let text = unsafe gai_strerror(code).map { unsafe String(cString: $0) }
        return ResolveError(code: code, text: text ?? "error \(code)")
    }
}
