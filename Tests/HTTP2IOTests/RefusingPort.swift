import Glibc
import HTTP2IO

/// A port of the loopback interface that is reserved, and on which nothing listens.
final class RefusingPort {
    struct Failure: Error {
        var code: Int32
    }

    let address: SocketAddress
    private let descriptor: Int32

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // SAFETY: bind(2) and getsockname(2) take a sockaddr_in of the size they are given.
        let isBound = unsafe withUnsafeMutablePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                unsafe bind(descriptor, raw, length) == 0
                    && getsockname(descriptor, raw, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        self.descriptor = descriptor
        address = .loopback(port: UInt16(bigEndian: name.sin_port))
    }

    deinit { close(descriptor) }
}
