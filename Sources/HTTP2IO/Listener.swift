import Glibc

/// A listening TCP socket, non-blocking.
public struct Listener: ~Copyable {
    private let socket: Socket
    /// Where it listens, with the port that the kernel chose for port 0.
    public let address: SocketAddress

    /// Binds and listens; port 0 lets the kernel choose.
    ///
    /// With `sharesPort` (SO_REUSEPORT) several listeners, one per thread, share the connections.
    public init(
        _ address: SocketAddress,
        sharesPort: Bool = false,
        backlog: Int32 = 1024
    ) throws(SystemError) {
        let socket = try Socket(for: address)
        guard socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1) else { throw .last("setsockopt") }
        if sharesPort, !socket.setOption(SOL_SOCKET, SO_REUSEPORT, 1) {
            throw .last("setsockopt")
        }
        let descriptor = socket.fileDescriptor
        let bound = unsafe address.withSocketAddress { unsafe bind(descriptor, $0, $1) }
        guard bound == 0 else { throw .last("bind") }
        guard listen(descriptor, backlog) == 0 else { throw .last("listen") }
        self.address = try Self.localAddress(of: descriptor)
        self.socket = socket
    }

    public var fileDescriptor: Int32 { socket.fileDescriptor }

    /// One waiting connection; nil when there is none.
    ///
    /// - Throws: what is not a peer's doing, EMFILE for example. A connection that broke while it
    ///   waited is passed over.
    public func accept() throws(SystemError) -> AcceptedSocket? {
        while true {
            let descriptor = Glibc.accept(socket.fileDescriptor, nil, nil)
            if descriptor >= 0 {
                let accepted = Socket(owning: descriptor)
                guard accepted.setDescriptorFlags() else { throw .last("fcntl") }
                accepted.setConnectionOptions()
                return AcceptedSocket(socket: accepted)
            }
            switch errno {
            case EAGAIN, EWOULDBLOCK: return nil
            case EINTR, ECONNABORTED, EPROTO: continue
            default: throw .last("accept")
            }
        }
    }

    private static func localAddress(of descriptor: Int32) throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            // SAFETY: sockaddr_storage is made to hold every sockaddr_… (RFC 3493, 3.10).
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw .last("getsockname") }
        guard let address = SocketAddress(storage) else {
            throw SystemError(call: "getsockname", code: EAFNOSUPPORT)
        }
        return address
    }
}

/// A connection that a `Listener` accepted, on its way into a `ServerConnection`.
public struct AcceptedSocket: ~Copyable {
    private let socket: Socket

    init(socket: consuming Socket) {
        self.socket = socket
    }

    consuming func release() -> Socket { socket }
}
