import Glibc
package import HTTP2IO
package import SystemIO

/// A non-blocking listening TCP socket.
package struct Listener: ~Copyable {
    private let socket: Socket
    /// The address on which it listens; for port 0, with the port that the kernel chose.
    package let address: SocketAddress

    /// Binds and listens; with port 0, the kernel chooses the port.
    ///
    /// With `sharesPort` (SO_REUSEPORT), several listeners on different threads share the
    /// connections.
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

    /// Accepts one waiting connection; nil if there is none.
    ///
    /// - Throws: Errors not caused by the peer, such as EMFILE. Connections that broke while they
    ///   waited are skipped.
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

/// A connection accepted by a `Listener`, to be used by a `ServerConnection`.
package struct AcceptedSocket: ~Copyable {
    private let socket: Socket

    init(socket: consuming Socket) {
        self.socket = socket
    }

    consuming func release() -> Socket { socket }
}
