/// The host names that the admin port accepts.
///
/// A web page can point its own name to the port's address (DNS rebinding). Its visitor's browser
/// then takes the port for the page's server, and lets the page read every answer. But the request
/// still contains the page's name, which must be one that public DNS can have. So all other names
/// are safe and always accepted: addresses, names without a dot, and names below endings that
/// public DNS does not have.
package struct AdminHosts: Hashable, Sendable {
    /// In lower case, without a trailing dot.
    private let names: Set<String>
    /// With a leading dot.
    private let endings: [String]
    private let admitsAll: Bool

    /// DNS endings of clusters, clouds and the local machine (RFC 6761; ICANN's `internal`).
    private static let privateEndings = [".svc", ".cluster.local", ".internal", ".localhost"]

    /// - Parameter admitted: Names, `*.` followed by a name for all its subdomains, or `*` for
    ///   every name.
    package init(_ admitted: [String]) {
        let words = admitted.map(Self.normal)
        admitsAll = words.contains("*")
        names = Set(words)
        endings =
            Self.privateEndings
            + words.filter { $0.hasPrefix("*.") }.map {
                String($0.dropFirst())
            }
    }

    /// Whether to answer a request with this authority, `name` or `name:port`.
    ///
    /// A request without one is answered: every browser sends it.
    package func admits(_ authority: String?) -> Bool {
        guard !admitsAll, let authority else { return true }
        guard let name = Self.name(in: authority) else { return false }
        if name.hasPrefix("[") || !name.contains(".") || names.contains(name) { return true }
        return Self.isAddress(name) || endings.contains(where: name.hasSuffix)
    }

    /// The name without the port; nil if it is not a valid host.
    private static func name(in authority: String) -> String? {
        let isLiteral = authority.hasPrefix("[")
        let end = isLiteral ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        if isLiteral, end == nil { return nil }
        let name = authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)]
        let port = authority[name.endIndex...]
        let isName = isLiteral || name.utf8.allSatisfy(isNameByte)
        guard isName, !name.isEmpty,
            port.isEmpty || port.first == ":" && port.dropFirst().utf8.allSatisfy(isDigit)
        else { return nil }
        return normal(String(name))
    }

    private static func normal(_ name: String) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// No DNS name ends with a number: browsers treat such a name as an address (WHATWG URL, 3.5).
    private static func isAddress(_ name: String) -> Bool {
        let last = name.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }
        return !last.isEmpty && last.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || "-._".utf8.contains(byte)
    }
}
