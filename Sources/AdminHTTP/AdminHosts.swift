/// The names that the admin port answers to.
///
/// A page of the web can give its own name the port's address (DNS rebinding): its visitor's
/// browser then takes the port for that page's server, and lets it read every answer. The request
/// still has the page's name in it, and a page can choose only among names that public DNS gives
/// out. So no others have to be distinguished: an address, a name without a dot, and names below
/// the endings that public DNS does not have are always admitted.
package struct AdminHosts: Hashable, Sendable {
    /// In lower case, without a dot at their ends.
    private let names: Set<String>
    /// With the dot in front.
    private let endings: [String]
    private let admitsAll: Bool

    /// The DNS of clusters, of clouds and of the machine itself (RFC 6761; ICANN's `internal`).
    private static let privateEndings = [".svc", ".cluster.local", ".internal", ".localhost"]

    /// - Parameter admitted: Names, `*.` and a name for all below it, and `*` for every name.
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

    /// Whether a request with this authority, `name` or `name:port`, is answered.
    ///
    /// One without is: every browser sends it.
    package func admits(_ authority: String?) -> Bool {
        guard !admitsAll, let authority else { return true }
        guard let name = Self.name(in: authority) else { return false }
        if name.hasPrefix("[") || !name.contains(".") || names.contains(name) { return true }
        return Self.isAddress(name) || endings.contains(where: name.hasSuffix)
    }

    /// Without the port; nil: it has the form of no host.
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

    /// No name of DNS ends in a number: browsers take such a one for an address (WHATWG URL, 3.5).
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
