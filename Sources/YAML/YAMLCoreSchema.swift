/// The type of a scalar.
package enum YAMLKind: String, Hashable, Sendable, CaseIterable {
    case null
    case boolean
    case integer
    case float
    case string
}

/// The core schema, which defines the types of plain scalars (YAML 1.2.2, 10.3.2).
///
/// It recognizes less than YAML 1.1: `no`, `yes`, `on` and `off` are strings, and so are `1_000`,
/// `0b1` and `1:30`.
package enum YAMLCoreSchema {
    /// The kind of a plain scalar.
    package static func kind(of text: String) -> YAMLKind {
        if isNull(text) { return .null }
        if boolean(text) != nil { return .boolean }
        if isInteger(text.utf8) { return .integer }
        return isFloat(text.utf8) ? .float : .string
    }

    /// Whether it is `null`, `Null`, `NULL`, `~` or empty.
    package static func isNull(_ text: String) -> Bool {
        ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// - Returns: nil unless the text is `true` or `false`, in lower case, upper case or
    ///   capitalised.
    package static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true", "True", "TRUE": true
        case "false", "False", "FALSE": false
        default: nil
        }
    }

    /// The value of an integer: `[-+]?[0-9]+`, `0o[0-7]+` or `0x[0-9a-fA-F]+`.
    ///
    /// - Returns: nil for any other text, and for values that do not fit in `Int`.
    package static func integer(_ text: String) -> Int? {
        guard isInteger(text.utf8) else { return nil }
        switch text.prefix(2) {
        case "0o": return Int(text.dropFirst(2), radix: 8)
        case "0x": return Int(text.dropFirst(2), radix: 16)
        default: return Int(text)
        }
    }

    private static func isInteger(_ text: String.UTF8View) -> Bool {
        if text.starts(with: "0o".utf8) {
            return isRun(text.dropFirst(2), of: isOctalDigit)
        }
        if text.starts(with: "0x".utf8) { return isRun(text.dropFirst(2), of: isHexadecimalDigit) }
        return isRun(withoutSign(text[...]), of: isDigit)
    }

    /// Whether it matches `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, `.inf` or `.nan`.
    private static func isFloat(_ text: String.UTF8View) -> Bool {
        let number = withoutSign(text[...])
        let isNamed =
            [".nan", ".NaN", ".NAN"].contains { text.elementsEqual($0.utf8) }
            || [".inf", ".Inf", ".INF"].contains { number.elementsEqual($0.utf8) }
        if isNamed { return true }
        let whole = number.prefix(while: isDigit)
        var rest = number[whole.endIndex...]
        var digitCount = whole.count
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix(while: isDigit)
            digitCount += fraction.count
            rest = rest[fraction.endIndex...]
        }
        guard digitCount > 0 else { return false }
        guard let letter = rest.first else { return true }
        guard letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") else { return false }
        return isRun(withoutSign(rest.dropFirst()), of: isDigit)
    }

    private static func withoutSign(_ text: Substring.UTF8View) -> Substring.UTF8View {
        text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
    }

    private static func isRun(
        _ text: Substring.UTF8View,
        of isMember: (UInt8) -> Bool
    ) -> Bool {
        !text.isEmpty && text.allSatisfy(isMember)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isOctalDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte)
    }

    private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
