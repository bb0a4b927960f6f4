import Glibc

/// Opens a server's port.
enum ListeningSocket {
    /// - Returns: A non-blocking listening socket, and the address on which it listens.
    static func open(_ address: HTTPAddress) throws(HTTPServerError)
        -> (descriptor: Int32, address: HTTPAddress)
    {
        let host = address.host == "localhost" ? "127.0.0.1" : address.host
        var ip4 = sockaddr_in()
        ip4.sin_family = sa_family_t(AF_INET)
        ip4.sin_port = address.port.bigEndian
        if unsafe inet_pton(AF_INET, host, &ip4.sin_addr) == 1 {
            // SAFETY: a sockaddr_in starts with a sockaddr and is passed as one, with its own size.
            return try unsafe withUnsafePointer(to: &ip4) { pointer throws(HTTPServerError) in
                let size = socklen_t(MemoryLayout<sockaddr_in>.size)
                return try unsafe listen(AF_INET, UnsafeRawPointer(pointer), size, address)
            }
        }
        var ip6 = sockaddr_in6()
        ip6.sin6_family = sa_family_t(AF_INET6)
        ip6.sin6_port = address.port.bigEndian
        guard unsafe inet_pton(AF_INET6, host, &ip6.sin6_addr) == 1 else {
            throw .notAnAddress(address.host)
        }
        // SAFETY: as above, with a sockaddr_in6.
        return try unsafe withUnsafePointer(to: &ip6) { pointer throws(HTTPServerError) in
            let size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            return try unsafe listen(AF_INET6, UnsafeRawPointer(pointer), size, address)
        }
    }

    private static func listen(
        _ family: Int32,
        _ socketAddress: UnsafeRawPointer,
        _ size: socklen_t,
        _ address: HTTPAddress
    ) throws(HTTPServerError) -> (descriptor: Int32, address: HTTPAddress) {
        let kind =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw HTTPServerError(errno, address) }
        var one: Int32 = 1
        unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_REUSEADDR,
            &one,
            socklen_t(MemoryLayout<Int32>.size)
        )
        let raw = unsafe socketAddress.assumingMemoryBound(to: sockaddr.self)
        guard unsafe bind(descriptor, raw, size) == 0, Glibc.listen(descriptor, SOMAXCONN) == 0,
            let port = port(of: descriptor)
        else {
            let error = HTTPServerError(errno, address)
            close(descriptor)
            throw error
        }
        return (descriptor, HTTPAddress(host: address.host, port: port))
    }

    /// The port that the kernel chose.
    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        // SAFETY: getsockname writes at most `size` bytes; both address families have the port at
        // the same offset.
        let result = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &size)
            }
        }
        return result == 0 ? UInt16(bigEndian: storage.sin6_port) : nil
    }
}
