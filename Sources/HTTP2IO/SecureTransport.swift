import Glibc
public import SystemIO

/// TLS over a TCP socket, or over nothing: then the owner carries the ciphertext itself.
public struct SecureTransport: ~Copyable {
    private let socket: Socket?
    private var tls: TLSSession
    /// Ciphertext that the socket has not taken yet.
    private var outgoing = ByteQueue(capacity: 32768)
    /// Ciphertext bytes ever handed to the socket or the owner.
    public private(set) var sentByteCount: UInt64 = 0
    /// Calls of `send(2)` that wrote something.
    public private(set) var socketWriteCount: UInt64 = 0
    /// The peer closed its direction of the socket.
    public private(set) var hasReachedEnd = false
    private var receiveBuffer: [UInt8]

    public init(socket: consuming Socket?, tls: consuming TLSSession) {
        let hasSocket = socket != nil
        self.socket = socket
        self.tls = tls
        receiveBuffer = [UInt8](repeating: 0, count: hasSocket ? 65536 : 0)
    }

    /// -1 without a socket.
    public var fileDescriptor: Int32 {
        switch socket {
        case .some(let socket): socket.fileDescriptor
        case .none: -1
        }
    }

    /// SO_ERROR of the socket, taken and cleared.
    public var pendingError: SystemError? {
        switch socket {
        case .some(let socket): socket.pendingError
        case .none: nil
        }
    }

    /// Ciphertext bytes that wait for the socket.
    public var backlogByteCount: Int { outgoing.count }
    /// Ciphertext bytes ever made.
    public var producedByteCount: UInt64 { sentByteCount + UInt64(outgoing.count) }
    public var isEstablished: Bool { tls.isEstablished }
    public var isClosedByPeer: Bool { tls.isClosedByPeer || hasReachedEnd }
    public var peerCertificateDER: [UInt8]? { tls.peerCertificateDER }
    public var peerCertificateFacts: CertificateFacts? { tls.peerCertificateFacts }

    /// Takes ciphertext in without a socket.
    public mutating func receive(_ ciphertext: [UInt8]) {
        unsafe ciphertext.withUnsafeBytes { unsafe tls.receive($0) }
    }

    /// Queues bytes as they are, before TLS begins.
    public mutating func writePlain(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: append copies the bytes while the array lends them.
            guard let start = bytes.baseAddress else { return }
            unsafe outgoing.append(start, byteCount: bytes.count)
        }
    }

    /// Reads once from the socket, past TLS.
    public mutating func receivePlainFromSocket() throws(SystemError) -> [UInt8] {
        let transfer: Socket.Transfer
        switch socket {
        case .some(let socket): transfer = try socket.receive(into: &receiveBuffer)
        case .none: return []
        }
        if transfer == .endOfStream { hasReachedEnd = true }
        guard case .transferred(let count) = transfer else { return [] }
        return Array(receiveBuffer[..<count])
    }

    /// Reads once from the socket.
    ///
    /// - Returns: whether the buffer was filled, so that more may wait.
    public mutating func receiveFromSocket() throws(SystemError) -> Bool {
        let transfer: Socket.Transfer
        switch socket {
        case .some(let socket): transfer = try socket.receive(into: &receiveBuffer)
        case .none: return false
        }
        switch transfer {
        case .transferred(let count):
            // SAFETY: recv wrote `count` bytes; TLS copies them.
            unsafe receiveBuffer.withUnsafeBytes {
                unsafe tls.receive(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            return count == receiveBuffer.count
        case .wouldBlock:
            return false
        case .endOfStream:
            hasReachedEnd = true
            return false
        }
    }

    /// Goes on with the handshake and queues its answer.
    public mutating func handshake() throws(TLSError) -> Bool {
        try tls.handshake(ciphertext: &outgoing)
    }

    /// Appends the plaintext of one record to `queue`, if a whole one is there.
    public mutating func read(into queue: inout ByteQueue) throws(TLSError) {
        try unsafe queue.append(upTo: TLSSession.recordByteCount) { (room) throws(TLSError) in
            try unsafe tls.read(into: room, ciphertext: &outgoing)
        }
    }

    /// Takes `byteCount` bytes off `plaintext`, encrypts and queues them.
    public mutating func write(_ plaintext: inout ByteQueue, byteCount: Int) throws(TLSError) {
        try unsafe plaintext.withBytes { (bytes) throws(TLSError) in
            try unsafe tls.write(
                UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]),
                ciphertext: &outgoing
            )
        }
        plaintext.removeFirst(byteCount)
    }

    /// Queues close_notify.
    public mutating func writeEnd() {
        tls.close(ciphertext: &outgoing)
    }

    /// Gives the socket as much of the queue as it takes.
    public mutating func flush() throws(SystemError) {
        while !outgoing.isEmpty {
            let transfer = try sendOnce()
            guard case .transferred(let count) = transfer else { return }
            socketWriteCount += 1
            sentByteCount += UInt64(count)
            outgoing.removeFirst(count)
        }
    }

    /// Takes the whole queue, without a socket.
    public mutating func takeOutgoing() -> [UInt8] {
        sentByteCount += UInt64(outgoing.count)
        return outgoing.takeAll()
    }

    /// Ends both directions; the descriptor stays open, so that its number stays ours.
    public mutating func shutDown() {
        if fileDescriptor >= 0 { _ = Glibc.shutdown(fileDescriptor, Int32(SHUT_RDWR)) }
    }

    private func sendOnce() throws(SystemError) -> Socket.Transfer {
        switch socket {
        case .some(let socket):
            try unsafe outgoing.withBytes { (bytes) throws(SystemError) in
                try unsafe socket.send(bytes)
            }
        case .none: .wouldBlock
        }
    }
}
