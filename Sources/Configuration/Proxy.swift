import Vocabulary

/// An HTTP proxy, configured as `http://host:port` or `http://user@host:port`.
package struct ProxyAddress: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name or an IP address, without brackets.
    package let host: String
    package let port: UInt16
    package let username: String?

    package init(host: String, port: UInt16, username: String? = nil) {
        self.host = host
        self.port = port
        self.username = username
    }

    /// Parses the URL; rejects a password in it, which would appear in logs and files.
    package init?(url: String) {
        let scheme = "http://"
        guard url.hasPrefix(scheme) else { return nil }
        let parts = url.dropFirst(scheme.count).split(
            separator: "@",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard let authority = parts.last, let endpoint = Endpoint(authority: String(authority))
        else { return nil }
        let username = parts.count == 2 ? String(parts[0]) : nil
        guard username.map({ !$0.isEmpty && !$0.contains(":") }) ?? true else { return nil }
        self.init(host: endpoint.host, port: endpoint.port, username: username)
    }

    package var description: String {
        let user = username.map { "\($0)@" } ?? ""
        return host.contains(":")
            ? "http://\(user)[\(host)]:\(port)" : "http://\(user)\(host):\(port)"
    }
}

/// Hosts that are reached without the proxy, in the form of the variable `NO_PROXY`.
///
/// A name matches itself and all its subdomains, with or without a leading dot; `*` matches
/// everything. Addresses are compared as text; networks are not supported.
package struct ProxyExceptions: Hashable, Sendable, CustomStringConvertible {
    private let entries: [String]

    package init(_ text: String) {
        entries = text.split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    package func covers(_ host: String) -> Bool {
        let host = host.lowercased()
        return entries.contains { entry in
            if entry == "*" { return true }
            let name = entry.hasPrefix(".") ? String(entry.dropFirst()) : entry
            return host == name || host.hasSuffix(".\(name)")
        }
    }

    package var description: String { entries.joined(separator: ",") }
}

extension ValueType where Value == ProxyAddress {
    static let proxy = ValueType(
        name: "URL",
        expectation: "a URL such as http://proxy.internal:3128 or http://user@proxy.internal:3128",
        notation: .text,
        placeholder: ProxyAddress(host: "localhost", port: 3128),
        parse: ProxyAddress.init(url:),
        print: \.description
    )
}

extension ValueType where Value == ProxyExceptions {
    static let proxyExceptions = ValueType(
        name: "hosts",
        expectation: "hosts and domains, separated by commas",
        notation: .text,
        placeholder: ProxyExceptions(""),
        parse: ProxyExceptions.init,
        print: \.description
    )
}
