/// A tunnel to ask an HTTP proxy for, with CONNECT (RFC 9110, 9.3.6).
public struct ProxyTunnel: Hashable, Sendable {
    /// Where the tunnel should lead; the proxy resolves the name.
    public var host: String
    public var port: UInt16
    /// The value of `proxy-authorization`; a secret.
    public var authorization: String?

    public init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }
}

/// Why a proxy gave no tunnel.
public enum ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The proxy answered with another status than 2xx.
    case refused(status: Int)
    /// What came back is no HTTP/1 response, or a very long one.
    case notHTTP

    public var description: String {
        switch self {
        case .refused(let status): "the proxy refused the tunnel with status \(status)"
        case .notHTTP: "the proxy does not speak HTTP"
        }
    }
}

/// The client's side of asking for a tunnel, as a byte machine.
struct ProxyHandshake {
    private var response: [UInt8] = []
    /// More than any proxy has to say.
    private static let maxResponseByteCount = 16384

    /// What to send first.
    static func request(_ tunnel: ProxyTunnel) -> [UInt8] {
        let host = tunnel.host.utf8.contains(UInt8(ascii: ":")) ? "[\(tunnel.host)]" : tunnel.host
        let target = "\(host):\(tunnel.port)"
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let authorization = tunnel.authorization {
            text += "Proxy-Authorization: \(authorization)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// Takes bytes of the proxy in.
    ///
    /// - Returns: The bytes behind the response, once the tunnel stands; nil before.
    mutating func receive(_ bytes: some Collection<UInt8>) throws(ProxyError) -> [UInt8]? {
        response.append(contentsOf: bytes)
        guard response.prefix(5).elementsEqual("HTTP/".utf8.prefix(response.count)) else {
            throw .notHTTP
        }
        guard let end = endOfHeader else {
            if response.count > Self.maxResponseByteCount { throw .notHTTP }
            return nil
        }
        guard let status = status else { throw .notHTTP }
        guard (200..<300).contains(status) else { throw .refused(status: status) }
        return Array(response[end...])
    }

    /// Where the empty line ends that ends the header.
    private var endOfHeader: Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard response.count >= mark.count else { return nil }
        return (mark.count...response.count).first { end in
            response[end - mark.count..<end].elementsEqual(mark)
        }
    }

    /// The digits behind the first space (RFC 9112, 4).
    private var status: Int? {
        guard let space = response.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = response[(space + 1)...].prefix(3)
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
