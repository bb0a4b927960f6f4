import Foundation
import Glibc
import HTTPServer

/// One HTTP/1.1 request over a plain socket, read to its end.
enum LoopbackRequest {
    struct Answer: Sendable {
        var status: Int
        var head: String
        var body: String
    }

    enum Failure: Error {
        case call(String, Int32)
        case noHTTP(String)
    }

    /// What the server sends before it closes a connection on which it was sent nothing.
    static func waitInSilence(for address: HTTPAddress) async throws -> String {
        try await onThread {
            let descriptor = try connected(to: address)
            defer { close(descriptor) }
            return try readToEnd(descriptor)
        }
    }

    static func send(
        _ method: String,
        _ path: String,
        _ field: String = "Host: a",
        to address: HTTPAddress
    ) async throws -> Answer {
        try await onThread { try exchange(method, path, field, with: address) }
    }

    private static func sendAll(_ bytes: [UInt8], to descriptor: Int32) throws {
        let sent = unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
        }
        guard sent == bytes.count else { throw Failure.call("send", errno) }
    }

    /// Blocks a thread of its own: the server's tasks need those of the cooperative pool.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result(catching: body)) }.start()
        }
    }

    private static func exchange(
        _ method: String,
        _ path: String,
        _ field: String,
        with address: HTTPAddress
    ) throws -> Answer {
        let descriptor = try connected(to: address)
        defer { close(descriptor) }
        let request = Array(
            "\(method) \(path) HTTP/1.1\r\n\(field)\r\nConnection: close\r\n\r\n".utf8
        )
        try sendAll(request, to: descriptor)
        return try parse(try readToEnd(descriptor))
    }

    private static func connected(to address: HTTPAddress) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.call("socket", errno) }
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
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw Failure.call("connect", code)
        }
        return descriptor
    }

    private static func readToEnd(_ descriptor: Int32) throws -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe read(descriptor, buffer.baseAddress, buffer.count)
            }
            guard count >= 0 else { throw Failure.call("read", errno) }
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    private static func parse(_ text: String) throws -> Answer {
        let parts = text.split(
            separator: "\r\n\r\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let words = text.split(separator: " ", maxSplits: 2)
        guard parts.count == 2, words.count == 3, let status = Int(words[1]) else {
            throw Failure.noHTTP(text)
        }
        return Answer(status: status, head: String(parts[0]), body: String(parts[1]))
    }
}
