import Glibc
public import SystemIO

extension Socket {
    /// Binds to the address and listens on it; with port 0 the kernel chooses a port.
    ///
    /// - Returns: The bound address, with the chosen port.
    public func listen(
        on address: SocketAddress,
        backlog: Int32
    ) throws(SystemError) -> SocketAddress {
        let bound = unsafe address.withSocketAddress { unsafe bind(fileDescriptor, $0, $1) }
        guard bound == 0 else { throw .last("bind") }
        guard Glibc.listen(fileDescriptor, backlog) == 0 else { throw .last("listen") }
        return try localAddress()
    }

    private func localAddress() throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            // SAFETY: sockaddr_storage can hold every sockaddr_… (RFC 3493, 3.10).
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(fileDescriptor, $0, &length)
            }
        }
        guard status == 0 else { throw .last("getsockname") }
        guard let address = SocketAddress(storage) else {
            throw SystemError(call: "getsockname", code: EAFNOSUPPORT)
        }
        return address
    }
}
