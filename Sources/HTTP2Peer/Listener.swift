import Glibc
package import HTTP2IO
package import SystemIO

/// A listening TCP socket, non-blocking.
package struct Listener: ~Copyable {
    private let socket: Socket
    /// Where it listens, with the port that the kernel chose for port 0.
    package let address: SocketAddress

    /// Binds and listens; port 0 lets the kernel choose.
    ///
    /// With `sharesPort` (SO_REUSEPORT) several listeners, one per thread, share the connections.
    package init(
        _ address: SocketAddress,
        sharesPort: Bool = false,
        backlog: Int32 = 1024
    ) throws(SystemError) {
        let socket = try Socket(for: address)
        guard socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1) else { throw .last("setsockopt") }
        if sharesPort, !socket.setOption(SOL_SOCKET, SO_REUSEPORT, 1) {
            throw .last("setsockopt")
        }
        self.address = try socket.listen(on: address, backlog: backlog)
        self.socket = socket
    }

    package var fileDescriptor: Int32 { socket.fileDescriptor }

    /// One waiting connection; nil when there is none.
    ///
    /// - Throws: what is not a peer's doing, EMFILE for example. A connection that broke while it
    ///   waited is passed over.
    package func accept() throws(SystemError) -> AcceptedSocket? {
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
}

/// A connection that a `Listener` accepted, on its way into a `ServerConnection`.
package struct AcceptedSocket: ~Copyable {
    private let socket: Socket

    init(socket: consuming Socket) {
        self.socket = socket
    }

    consuming func release() -> Socket { socket }
}
