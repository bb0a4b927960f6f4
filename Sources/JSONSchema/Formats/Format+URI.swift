extension Format {
    /// A URI or URI reference (RFC 3986, 3 and 4.1), or an IRI (RFC 3987, 2.2).
    ///
    /// Characters beyond ASCII are not checked individually.
    static func isURIReference(
        _ text: ArraySlice<UInt8>,
        hasScheme: Bool = false,
        isInternational: Bool = false
    ) -> Bool {
        // Characters that RFC 3987 adds are treated as letters.
        guard !isInternational || text.allSatisfy(\.isASCII) else {
            let letters = text.map { $0.isASCII ? $0 : UInt8(ascii: "a") }
            return isURIReference(letters[...], hasScheme: hasScheme)
        }
        var rest = text
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            guard isPart(rest[(mark + 1)...], allowsQuestionMark: true) else { return false }
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            guard isPart(rest[(mark + 1)...], allowsQuestionMark: true) else { return false }
            rest = rest[..<mark]
        }
        let first = rest.prefix { $0 != UInt8(ascii: "/") }
        if let colon = first.firstIndex(of: UInt8(ascii: ":")) {
            // Without a scheme, the first segment contains no colon (RFC 3986, 4.2).
            guard isScheme(rest[..<colon]) else { return false }
            rest = rest[(colon + 1)...]
        } else if hasScheme {
            return false
        }
        guard rest.starts(with: Array("//".utf8)) else {
            return isPart(rest, allowsQuestionMark: false)
        }
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        return isAuthority(rest[..<end]) && isPart(rest[end...], allowsQuestionMark: false)
    }

    private static func isScheme(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first, first.isASCIILetter else { return false }
        return text.allSatisfy { byte in
            byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }

    /// A path, query or fragment: `pchar`, slashes and, if allowed, question marks.
    private static func isPart(_ text: ArraySlice<UInt8>, allowsQuestionMark: Bool) -> Bool {
        isEncoded(text) { byte in
            byte == UInt8(ascii: ":") || byte == UInt8(ascii: "@") || byte == UInt8(ascii: "/")
                || byte == UInt8(ascii: "?") && allowsQuestionMark
        }
    }

    private static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            guard isEncoded(rest[..<at], allows: { $0 == UInt8(ascii: ":") }) else { return false }
            rest = rest[(at + 1)...]
        }
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            guard isIPLiteral(rest[(rest.startIndex + 1)..<end]) else { return false }
            rest = rest[(end + 1)...]
            guard !rest.isEmpty else { return true }
            return rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isASCIIDigit)
        }
        if let colon = rest.lastIndex(of: UInt8(ascii: ":")) {
            guard rest[(colon + 1)...].allSatisfy(\.isASCIIDigit) else { return false }
            rest = rest[..<colon]
        }
        return isEncoded(rest) { _ in false }
    }

    private static func isIPLiteral(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.first.map({ $0 | 0x20 }) == UInt8(ascii: "v") else { return isIPv6(text) }
        let parts = text.dropFirst().split(separator: UInt8(ascii: "."), maxSplits: 1)
        return parts.count == 2 && parts[0].allSatisfy(\.isHexDigit)
            && parts[1].allSatisfy {
                $0.isURIUnreserved || $0.isURISubDelimiter || $0 == UInt8(ascii: ":")
            }
    }

    /// Whether all characters are allowed or percent-encoded.
    private static func isEncoded(
        _ text: ArraySlice<UInt8>,
        allows: (UInt8) -> Bool
    ) -> Bool {
        var position = text.startIndex
        while position < text.endIndex {
            let byte = text[position]
            if byte == UInt8(ascii: "%") {
                guard position + 2 < text.endIndex, text[position + 1].isHexDigit,
                    text[position + 2].isHexDigit
                else { return false }
                position += 3
            } else {
                guard byte.isURIUnreserved || byte.isURISubDelimiter || allows(byte) else {
                    return false
                }
                position += 1
            }
        }
        return true
    }

    /// A JSON Pointer (RFC 6901, 5).
    static func isJSONPointer(_ text: ArraySlice<UInt8>) -> Bool {
        guard let first = text.first else { return true }
        guard first == UInt8(ascii: "/") else { return false }
        for (position, byte) in zip(text.indices, text) where byte == UInt8(ascii: "~") {
            guard position + 1 < text.endIndex,
                text[position + 1] == UInt8(ascii: "0") || text[position + 1] == UInt8(ascii: "1")
            else { return false }
        }
        return true
    }

    /// A number without leading zeros, then a JSON Pointer or `#`
    /// (draft-bhutton-relative-json-pointer).
    static func isRelativeJSONPointer(_ text: ArraySlice<UInt8>) -> Bool {
        let digits = text.prefix(while: \.isASCIIDigit)
        guard let first = digits.first, digits.count == 1 || first != UInt8(ascii: "0") else {
            return false
        }
        let rest = text.dropFirst(digits.count)
        return rest.elementsEqual([UInt8(ascii: "#")]) || isJSONPointer(rest)
    }
}
