import Glibc
public import SystemIO

/// A non-blocking, close-on-exec TCP socket.
///
/// Never raises SIGPIPE, because everything is sent with MSG_NOSIGNAL.
public struct Socket: ~Copyable {
    public let fileDescriptor: Int32

    /// The result of a read or write.
    enum Transfer: Hashable {
        case transferred(Int)
        /// EAGAIN: wait for readiness.
        case wouldBlock
        /// The peer closed its direction.
        case endOfStream
    }

    /// Takes over an open descriptor.
    public init(owning fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    /// Makes a socket of the address's family.
    public init(for address: SocketAddress) throws(SystemError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.domain, type, Int32(IPPROTO_TCP))
        guard descriptor >= 0 else { throw .last("socket") }
        fileDescriptor = descriptor
    }

    deinit {
        _ = Glibc.close(fileDescriptor)
    }

    /// Starts to connect; writability signals completion, and `pendingError` contains the result.
    static func connecting(to address: SocketAddress) throws(SystemError) -> Socket {
        let socket = try Socket(for: address)
        socket.setConnectionOptions()
        let status = unsafe address.withSocketAddress { pointer, length in
            unsafe connect(socket.fileDescriptor, pointer, length)
        }
        // An interrupted connect continues in the background (connect(2), EINTR).
        guard status == 0 || errno == EINPROGRESS || errno == EINTR else { throw .last("connect") }
        return socket
    }

    /// Reads and clears SO_ERROR; nil: no error.
    var pendingError: SystemError? {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(fileDescriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else {
            return .last("getsockopt")
        }
        return code == 0 ? nil : SystemError(call: "connect", code: code)
    }

    /// Sets O_NONBLOCK and FD_CLOEXEC, for a descriptor that `init(for:)` did not create.
    public func setDescriptorFlags() -> Bool {
        fcntl(fileDescriptor, F_SETFL, O_NONBLOCK) == 0
            && fcntl(fileDescriptor, F_SETFD, FD_CLOEXEC) == 0
    }

    /// Sets TCP_NODELAY, because we coalesce writes ourselves, and keepalive, to detect dead peers.
    public func setConnectionOptions() {
        // Failures are ignored: the connection works without these options.
        _ = setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        _ = setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
        _ = setOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, 60)
        _ = setOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10)
        _ = setOption(Int32(IPPROTO_TCP), TCP_KEEPCNT, 6)
    }

    public func setOption(_ level: Int32, _ name: Int32, _ value: Int32) -> Bool {
        var value = value
        let length = socklen_t(MemoryLayout<Int32>.size)
        return unsafe setsockopt(fileDescriptor, level, name, &value, length) == 0
    }

    /// Reads the bytes that have arrived: `recv(2)`.
    func receive(into buffer: inout [UInt8]) throws(SystemError) -> Transfer {
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            // SAFETY: recv writes at most the buffer's length.
            retryingOnInterrupt { unsafe recv(fileDescriptor, bytes.baseAddress, bytes.count, 0) }
        }
        if count > 0 { return .transferred(count) }
        if count == 0 { return .endOfStream }
        guard errno == EAGAIN || errno == EWOULDBLOCK else { throw .last("recv") }
        return .wouldBlock
    }

    /// Writes as much as the kernel accepts: `send(2)`.
    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Transfer {
        let count = retryingOnInterrupt {
            unsafe Glibc.send(
                fileDescriptor,
                bytes.baseAddress,
                bytes.count,
                Int32(MSG_NOSIGNAL)
            )
        }
        if count >= 0 { return .transferred(count) }
        guard errno == EAGAIN || errno == EWOULDBLOCK else { throw .last("send") }
        return .wouldBlock
    }
}
