import HTTP2IO

/// The HTTPS address of APNs, or of a replacement.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name or an IP address, without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `https://host:port`; the default port is 443.
    package init?(url: String) {
        let scheme = "https://"
        guard url.hasPrefix(scheme) else { return nil }
        let authority = String(url.dropFirst(scheme.count))
        if let whole = Endpoint(authority: authority) {
            self = whole
        } else if let defaulted = Endpoint(authority: "\(authority):443") {
            self = defaulted
        } else {
            return nil
        }
    }

    /// Parses `host:port` or `[IPv6]:port`.
    package init?(authority: String) {
        guard let colon = authority.lastIndex(of: ":") else { return nil }
        let digits = authority[authority.index(after: colon)...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit), let port = UInt16(digits),
            port > 0, let host = Self.host(authority[..<colon])
        else { return nil }
        self.init(host: host, port: port)
    }

    package var description: String {
        host.contains(":") ? "https://[\(host)]:\(port)" : "https://\(host):\(port)"
    }

    private static func host(_ text: Substring) -> String? {
        if text.hasPrefix("["), text.hasSuffix("]") {
            let address = String(text.dropFirst().dropLast())
            return SocketAddress(numeric: address, port: 0)?.family == .ipv6 ? address : nil
        }
        let isName =
            !text.isEmpty && text.utf8.count <= 253
            && text.utf8.allSatisfy {
                $0.isDigit || $0.isUppercase || $0.isLowercase || $0 == UInt8(ascii: "-")
                    || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
            }
        return isName ? String(text) : nil
    }
}

extension ValueType where Value == Endpoint {
    static let endpoint = ValueType(
        name: "URL",
        expectation: "a URL such as https://api.push.apple.com:443, without a path",
        notation: .text,
        placeholder: Endpoint(host: "localhost", port: 443),
        parse: Endpoint.init(url:),
        print: \.description
    )
}

extension ValueType where Value == String {
    /// Kafka's brokers: `host:port`, or several separated by commas.
    static let brokers = text(
        "brokers",
        expectation: "host:port, or several of them separated by commas"
    ) { text in
        text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { broker in
            Endpoint(authority: String(broker.drop { $0 == " " })) != nil
        }
    }

    /// An address to which a socket can be bound without name resolution.
    static let listenAddress = text("IP address", expectation: "an IP address or localhost") {
        $0 == "localhost" || SocketAddress(numeric: $0, port: 0) != nil
    }
}
