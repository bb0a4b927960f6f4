/// The parts of a URI or relative reference (RFC 3986, 4.1); missing parts are nil.
struct URIReference: Hashable, Sendable {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    /// Without the `#`, still percent-encoded.
    var fragment: String?

    /// Splits a text as in RFC 3986, appendix B; this works for every text.
    init(_ text: String) {
        var rest = text[...]
        if let mark = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(where: { ":/".contains($0) }), rest[mark] == ":",
            rest.first?.isLetter == true
        {
            scheme = String(rest[..<mark]).lowercased()
            rest = rest[rest.index(after: mark)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        path = String(rest)
    }

    var text: String {
        var text = scheme.map { $0 + ":" } ?? ""
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// Resolves this reference against a base URI (RFC 3986, 5.2.2).
    func resolved(against base: URIReference) -> URIReference {
        var target = self
        guard scheme == nil else {
            target.path = Self.withoutDots(path)
            return target
        }
        target.scheme = base.scheme
        guard authority == nil else {
            target.path = Self.withoutDots(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if path.hasPrefix("/") {
            target.path = Self.withoutDots(path)
        } else if base.authority != nil, base.path.isEmpty {
            target.path = Self.withoutDots("/" + path)
        } else {
            let folder = base.path.lastIndex(of: "/").map { base.path[...$0] } ?? ""
            target.path = Self.withoutDots(folder + path)
        }
        return target
    }

    /// Removes `.` and `..` segments from a path (RFC 3986, 5.2.4).
    private static func withoutDots(_ path: some StringProtocol) -> String {
        guard path.contains(".") else { return String(path) }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".":
                if isLast { kept.append("") }
            case "..":
                if let last = kept.last, kept.count > 1 || !last.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            default: kept.append(Substring(segment))
            }
        }
        return kept.joined(separator: "/")
    }

    /// The percent-decoded fragment; nil if it is not UTF-8.
    var decodedFragment: String? {
        guard let fragment, fragment.contains("%") else { return self.fragment ?? "" }
        var bytes: [UInt8] = []
        var rest = Array(fragment.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
