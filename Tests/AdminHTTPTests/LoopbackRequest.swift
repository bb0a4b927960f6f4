import AdminHTTP
import Dispatch
import Glibc

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
    static func waitInSilence(for address: AdminAddress) async throws -> String {
        try await onThread {
            let descriptor = try connected(to: address)
            defer { close(descriptor) }
            return try readToEnd(descriptor)
        }
    }

    static func send(
        _ method: String,
        _ path: String,
        to address: AdminAddress
    ) async throws -> Answer {
        try await onThread { try exchange(method, path, with: address) }
    }

    /// Everything that the server sends after this text, up to its closing; `isClosing`: nothing
    /// comes behind the text.
    static func exchange(
        _ text: String,
        with address: AdminAddress,
        isClosing: Bool = false
    ) async throws -> String {
        try await onThread {
            let descriptor = try connected(to: address)
            defer { close(descriptor) }
            try sendAll(Array(text.utf8), to: descriptor)
            if isClosing { shutdown(descriptor, Int32(SHUT_WR)) }
            return try readToEnd(descriptor)
        }
    }

    /// Connections on which nothing is sent; they end with the array.
    static func connections(_ count: Int, to address: AdminAddress) async throws -> [Silence] {
        try await onThread { try (0..<count).map { _ in Silence(try connected(to: address)) } }
    }

    final class Silence: Sendable {
        private let descriptor: Int32

        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    /// Sends the same text every few milliseconds until the server closes.
    ///
    /// - Returns: How often it could be sent.
    static func drip(_ text: String, to address: AdminAddress) async throws -> Int {
        try await onThread {
            let descriptor = try connected(to: address)
            defer { close(descriptor) }
            var count = 0
            while true {
                var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                // Readable: the server has closed, for it has nothing to say.
                if unsafe poll(&look, 1, 20) != 0 { return count }
                guard (try? sendAll(Array(text.utf8), to: descriptor)) != nil else { return count }
                count += 1
            }
        }
    }

    private static func sendAll(_ bytes: [UInt8], to descriptor: Int32) throws {
        let sent = unsafe bytes.withUnsafeBytes { buffer in
            unsafe Glibc.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
        }
        guard sent == bytes.count else { throw Failure.call("send", errno) }
    }

    /// Blocks a thread of its own, because the server needs those of the cooperative pool.
    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
        }
    }

    private static func exchange(
        _ method: String,
        _ path: String,
        with address: AdminAddress
    ) throws -> Answer {
        let descriptor = try connected(to: address)
        defer { close(descriptor) }
        let request = Array(
            "\(method) \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8
        )
        try sendAll(request, to: descriptor)
        return try parse(try readToEnd(descriptor))
    }

    private static func connected(to address: AdminAddress) throws -> Int32 {
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
            // What was not read when the server closed may turn the end into a reset.
            guard count >= 0 || errno == ECONNRESET else { throw Failure.call("read", errno) }
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
