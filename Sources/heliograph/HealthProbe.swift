import Glibc

/// One GET over HTTP/1.1 without TLS, for container images without a shell or curl.
struct HealthProbe {
    /// Why the request failed.
    enum Failure: Error, Hashable, CustomStringConvertible {
        case unknownHost(String)
        case unreachable(String)
        /// The bytes received do not start like an HTTP answer.
        case noAnswer
        case refused(status: Int)

        var description: String {
            switch self {
            case .unknownHost(let host): "unknown host '\(host)'"
            case .unreachable(let why): "connection failed: \(why)"
            case .noAnswer: "no answer in time"
            case .refused(let status): "answered with status \(status)"
            }
        }
    }

    private let host: String
    private let port: String
    private let path: String
    private static let statusLineBytesMax = 64

    /// nil: it is not a URL of http.
    init?(_ url: String) {
        guard url.hasPrefix("http://") else { return nil }
        let rest = url.dropFirst("http://".count)
        let authority = rest.prefix { $0 != "/" }
        path = authority.endIndex == rest.endIndex ? "/" : String(rest[authority.endIndex...])
        // An IPv6 address is in brackets because of its colons (RFC 3986, section 3.2.2).
        let name = authority.prefix { $0 != (authority.first == "[" ? "]" : ":") }
        let isBracketed = authority.first == "["
        let end = authority[name.endIndex...].dropFirst(isBracketed ? 1 : 0)
        host = String(name.dropFirst(isBracketed ? 1 : 0))
        port = end.isEmpty ? "80" : String(end.dropFirst())
        guard !host.isEmpty, !isBracketed || name.endIndex < authority.endIndex,
            end.isEmpty || end.hasPrefix(":"), let number = UInt16(port),
            number > 0, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
    }

    /// Sends the request, and returns if the status is 2xx; each system call takes at most
    /// `seconds`.
    func ask(seconds: Int) throws(Failure) {
        let socket = try connected(seconds: seconds)
        defer { _ = close(socket) }
        let request = "GET \(path) HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n\r\n"
        let bytes = Array(request.utf8)
        let sent = unsafe bytes.withUnsafeBytes {
            unsafe send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard sent == bytes.count else { throw .noAnswer }
        let status = try status(in: statusLine(from: socket))
        guard (200..<300).contains(status) else { throw .refused(status: status) }
    }

    private func connected(seconds: Int) throws(Failure) -> Int32 {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, port, &hints, &list) == 0, let first = unsafe list else {
            throw .unknownHost(host)
        }
        // SAFETY: the list is valid until it is freed, after its last use.
        defer { unsafe freeaddrinfo(first) }
        var problem: Int32 = 0
        var next = unsafe Optional(first)
        while let entry = unsafe next {
            let descriptor = socket(
                unsafe entry.pointee.ai_family,
                Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue),
                0
            )
            Self.limit(descriptor, seconds: seconds)
            let address = unsafe entry.pointee
            if unsafe connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 {
                return descriptor
            }
            problem = errno
            _ = close(descriptor)
            unsafe next = unsafe entry.pointee.ai_next
        }
        throw .unreachable(unsafe String(cString: strerror(problem)))
    }

    /// Linux applies SO_SNDTIMEO to connect as well (socket(7)).
    private static func limit(_ socket: Int32, seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(
                socket,
                SOL_SOCKET,
                option,
                &time,
                socklen_t(MemoryLayout<timeval>.size)
            )
        }
    }

    private func statusLine(from socket: Int32) -> [UInt8] {
        var line: [UInt8] = []
        var block = [UInt8](repeating: 0, count: Self.statusLineBytesMax)
        while line.count < Self.statusLineBytesMax, !line.contains(UInt8(ascii: "\n")) {
            let count = unsafe block.withUnsafeMutableBytes {
                unsafe recv(socket, $0.baseAddress, $0.count, 0)
            }
            guard count > 0 else { break }
            line += block[..<count]
        }
        return line
    }

    /// The status code in `HTTP/1.1 200 OK` (RFC 9112, section 4).
    private func status(in line: [UInt8]) throws(Failure) -> Int {
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1].prefix(3))
        else { throw .noAnswer }
        return status
    }
}
