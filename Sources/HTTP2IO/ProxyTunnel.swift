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
    /// What came back is not an HTTP/1 response, or a very long one.
    case notHTTP

    public var description: String {
        switch self {
        case .refused(let status): "the proxy refused the tunnel with status \(status)"
        case .notHTTP: "the proxy does not speak HTTP"
        }
    }
}

/// The client's side of asking for a tunnel, as a byte machine.
///
/// It looks at each byte once and keeps none: of all that a proxy says only the status line counts,
/// and where the header ends.
struct ProxyHandshake {
    /// More than any proxy has to say, with all that comes before its final response.
    private static let maxByteCount = 16_384
    private static let version = Array("HTTP/1.".utf8)
    private static let endOfHeader = Array("\r\n\r\n".utf8)

    private var byteCount = 0
    /// Bytes of the response that is being read.
    private var position = 0
    private var status = 0
    /// As many of the last bytes are the beginning of an end of the header.
    private var endByteCount = 0

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
    mutating func receive(_ bytes: [UInt8]) throws(ProxyError) -> [UInt8]? {
        for index in bytes.indices {
            byteCount += 1
            guard byteCount <= Self.maxByteCount, isInOrder(bytes[index]) else { throw .notHTTP }
            position += 1
            guard isEndOfHeader(bytes[index]) else { continue }
            switch status {
            // An informational response (RFC 9110, 15.2): the final one follows.
            case 100, 102..<200: (position, status, endByteCount) = (0, 0, 0)
            case 200..<300: return Array(bytes[(index + 1)...])
            default: throw .refused(status: status)
            }
        }
        return nil
    }

    /// Notes the status, and whether the next byte may be where it is (RFC 9112, 4).
    private mutating func isInOrder(_ byte: UInt8) -> Bool {
        let digit = Int(byte) - Int(UInt8(ascii: "0"))
        switch position - Self.version.count {
        case ..<0: return byte == Self.version[position]
        case 0: return 0...9 ~= digit
        case 1: return byte == UInt8(ascii: " ")
        case 2...4:
            status = 10 * status + digit
            return 0...9 ~= digit && status > 0
        // Some leave the space out that is before an empty reason.
        case 5: return byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\r")
        default: return true
        }
    }

    private mutating func isEndOfHeader(_ byte: UInt8) -> Bool {
        if byte == Self.endOfHeader[endByteCount] {
            endByteCount += 1
        } else {
            endByteCount = byte == Self.endOfHeader[0] ? 1 : 0
        }
        return endByteCount == Self.endOfHeader.count
    }
}
