import Foundation
import Glibc
import HTTPServer

/// A peer on a plain socket.
///
/// Blocks its own thread: the cooperative pool and Dispatch share a few threads, which the server's
/// tasks need.
final class LoopbackPeer: Sendable {
    struct Failure: Error {
        let call: String
        let code: Int32
    }

    private let descriptor: Int32

    private init(_ address: HTTPAddress) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var peer = sockaddr_in()
        peer.sin_family = sa_family_t(AF_INET)
        peer.sin_port = address.port.bigEndian
        peer.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        // SAFETY: connect(2) reads a sockaddr_in of the size it is given.
        let result = unsafe withUnsafePointer(to: &peer) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure(call: "connect", code: errno) }
    }

    deinit { close(descriptor) }

    /// Connects and returns the result of `body`, which may wait for the server.
    static func connected<Value: Sendable>(
        to address: HTTPAddress,
        _ body: @escaping @Sendable (LoopbackPeer) throws -> Value
    ) async throws -> Value {
        try await onThread { try body(LoopbackPeer(address)) }
    }

    /// Peers that send nothing until they are released.
    static func silent(_ count: Int, to address: HTTPAddress) async throws -> [LoopbackPeer] {
        try await onThread { try (0..<count).map { _ in try LoopbackPeer(address) } }
    }

    /// Everything that the server sends after this text until it closes; `isClosing`: nothing
    /// follows the text.
    static func exchange(
        _ text: String,
        with address: HTTPAddress,
        isClosing: Bool = false
    ) async throws -> String {
        try await connected(to: address) { peer in
            try peer.send(text)
            if isClosing { shutdown(peer.descriptor, Int32(SHUT_WR)) }
            return try peer.readToEnd()
        }
    }

    /// Like `exchange`, on the thread of another peer.
    static func answer(to text: String, from address: HTTPAddress) throws -> String {
        let peer = try LoopbackPeer(address)
        try peer.send(text)
        return try peer.readToEnd()
    }

    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: body)) }.start()
        }
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        var sentByteCount = 0
        while sentByteCount < bytes.count {
            let count = unsafe bytes[sentByteCount...].withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor,
                    buffer.baseAddress,
                    buffer.count,
                    Int32(MSG_NOSIGNAL)
                )
            }
            guard count > 0 else { throw Failure(call: "send", code: errno) }
            sentByteCount += count
        }
    }

    /// Sends the text every few milliseconds until the server closes.
    /// - Returns: How often the text was sent.
    func drip(_ text: String) -> Int {
        var count = 0
        while true {
            var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // Readable means closed, because the server has nothing to send.
            if unsafe poll(&look, 1, 20) != 0 { return count }
            guard (try? send(text)) != nil else { return count }
            count += 1
        }
    }

    /// Reads at most 4 KiB per millisecond until the server has closed.
    /// - Returns: The number of bytes received.
    func sip() -> Int {
        var byteCount = 0
        while let text = try? read(4096) {
            byteCount += text.utf8.count
            _ = poll(nil, 0, 1)
        }
        return byteCount
    }

    /// Reads until the text has arrived, and returns everything read.
    func read(until end: String) throws -> String {
        var text = ""
        while !text.hasSuffix(end) {
            guard let more = try read() else { return text }
            text += more
        }
        return text
    }

    /// Reads the available bytes once.
    func read(upTo maxByteCount: Int) throws -> String { try read(maxByteCount) ?? "" }

    func readToEnd() throws -> String {
        var text = ""
        while let more = try read() { text += more }
        return text
    }

    private func read(_ maxByteCount: Int = 65_536) throws -> String? {
        var chunk = [UInt8](repeating: 0, count: maxByteCount)
        let count = unsafe chunk.withUnsafeMutableBytes { buffer in
            unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        }
        guard count >= 0 else { throw Failure(call: "read", code: errno) }
        return count == 0 ? nil : String(decoding: chunk[..<count], as: UTF8.self)
    }
}
