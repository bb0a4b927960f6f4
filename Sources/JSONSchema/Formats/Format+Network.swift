extension Format {
    /// A dotted quad without leading zeros (RFC 2673, 3.2).
    static func isIPv4(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count <= 15 else { return false }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy(\.isASCIIDigit)
                    && (part.count == 1 || part.first != UInt8(ascii: "0"))
                    && part.reduce(0) { $0 * 10 + Int($1 &- UInt8(ascii: "0")) } < 256
            }
    }

    /// An IPv6 address (RFC 4291, 2.2), without a zone.
    static func isIPv6(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.count <= 45 else { return false }
        var parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return false }
        var groupCount = 0
        var hasGap = false
        // A gap at either end leaves two empty parts there.
        if parts[0].isEmpty {
            guard parts[1].isEmpty else { return false }
            parts.removeFirst()
        }
        if parts[parts.count - 1].isEmpty, parts.count > 1 {
            guard parts[parts.count - 2].isEmpty else { return false }
            parts.removeLast()
        }
        for (index, part) in parts.enumerated() {
            if part.isEmpty {
                guard !hasGap else { return false }
                hasGap = true
            } else if part.contains(UInt8(ascii: ".")) {
                guard index == parts.count - 1, isIPv4(part) else { return false }
                groupCount += 2
            } else {
                guard part.count <= 4, part.allSatisfy(\.isHexDigit) else { return false }
                groupCount += 1
            }
        }
        return hasGap ? groupCount < 8 : groupCount == 8
    }

    /// A host name (RFC 1123, 2.1), of at most 253 bytes.
    ///
    /// Its labels have 1 to 63 letters, digits and inner hyphens.
    static func isHostname(_ text: ArraySlice<UInt8>) -> Bool {
        guard (1...253).contains(text.count) else { return false }
        let labels = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return labels.allSatisfy { label in
            (1...63).contains(label.count)
                && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy {
                    $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-")
                }
        }
    }

    /// A `Mailbox` of RFC 5321, 4.1.2, or of RFC 6531.
    ///
    /// Characters beyond ASCII are not checked individually.
    static func isEmail(_ text: ArraySlice<UInt8>, isInternational: Bool = false) -> Bool {
        guard !isInternational || text.allSatisfy(\.isASCII) else {
            let letters = text.map { $0.isASCII ? $0 : UInt8(ascii: "a") }
            return isEmail(letters[...])
        }
        guard text.count <= 254, let at = text.lastIndex(of: UInt8(ascii: "@")) else {
            return false
        }
        let local = text[..<at]
        let domain = text[(at + 1)...]
        guard (1...64).contains(local.count), isLocalPart(local) else { return false }
        guard domain.first == UInt8(ascii: "["), domain.last == UInt8(ascii: "]") else {
            return isHostname(domain)
        }
        let literal = domain.dropFirst().dropLast()
        let prefix = Array("IPv6:".utf8)
        return literal.starts(with: prefix)
            ? isIPv6(literal.dropFirst(prefix.count)) : isIPv4(literal)
    }

    private static func isLocalPart(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: "\"") else {
            return text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
                .allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isMailAtom) }
        }
        guard text.count >= 2, text.last == UInt8(ascii: "\"") else { return false }
        var isEscaped = false
        for byte in text.dropFirst().dropLast() {
            guard (0x20..<0x7F).contains(byte) else { return false }
            if byte == UInt8(ascii: "\""), !isEscaped { return false }
            isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        }
        return !isEscaped
    }
}
