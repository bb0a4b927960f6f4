/// A tunnel to request from an HTTP proxy, with CONNECT (RFC 9110, 9.3.6).
public struct ProxyTunnel: Hashable, Sendable {
    /// The destination; the proxy resolves the name.
    public var host: String
    public var port: UInt16
    /// The value of `proxy-authorization`; secret.
    public var authorization: String?

    public init(host: String, port: UInt16, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }
}

/// Why a proxy did not open a tunnel.
public enum ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The proxy answered with a status other than 2xx.
    case refused(status: Int)
    /// The answer is not an HTTP/1 response, or too long.
    case notHTTP

    public var description: String {
        switch self {
        case .refused(let status): "the proxy refused the tunnel with status \(status)"
        case .notHTTP: "the proxy does not speak HTTP"
        }
    }
}

/// The client side of a CONNECT request; performs no I/O.
///
/// Processes each byte once and keeps none: only the status line and the end of the header matter.
struct ProxyHandshake {
    /// More than a proxy needs, including informational responses before the final one.
    private static let maxByteCount = 16_384
    private static let version = Array("HTTP/1.".utf8)
    private static let endOfHeader = Array("\r\n\r\n".utf8)

    private var byteCount = 0
    /// The number of bytes read of the current response.
    private var position = 0
    private var status = 0
    /// How many of the last bytes match the start of the header's end.
    private var endByteCount = 0

    /// The request to send first.
    static func request(_ tunnel: ProxyTunnel) -> [UInt8] {
        let host = tunnel.host.utf8.contains(UInt8(ascii: ":")) ? "[\(tunnel.host)]" : tunnel.host
        let target = "\(host):\(tunnel.port)"
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let authorization = tunnel.authorization {
            text += "Proxy-Authorization: \(authorization)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    /// Processes bytes from the proxy.
    ///
    /// - Returns: The bytes after the response once the tunnel is open; nil before.
    mutating func receive(_ bytes: [UInt8]) throws(ProxyError) -> [UInt8]? {
        for index in bytes.indices {
            byteCount += 1
            guard byteCount <= Self.maxByteCount, isInOrder(bytes[index]) else { throw .notHTTP }
            position += 1
            guard isEndOfHeader(bytes[index]) else { continue }
            switch status {
            // An informational response (RFC 9110, 15.2), which a final one follows.
            case 100, 102..<200: (position, status, endByteCount) = (0, 0, 0)
            case 200..<300: return Array(bytes[(index + 1)...])
            default: throw .refused(status: status)
            }
        }
        return nil
    }

    /// Records the status, and returns whether the byte is valid at its position (RFC 9112, 4).
    private mutating func isInOrder(_ byte: UInt8) -> Bool {
        let digit = Int(byte) - Int(UInt8(ascii: "0"))
        switch position - Self.version.count {
        case ..<0: return byte == Self.version[position]
        case 0: return 0...9 ~= digit
        case 1: return byte == UInt8(ascii: " ")
        case 2...4:
            status = 10 * status + digit
            return 0...9 ~= digit && status > 0
        // Some proxies omit the space before an empty reason phrase.
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
