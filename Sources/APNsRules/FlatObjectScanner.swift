/// Reads the strings and integers of one JSON object and steps over everything else in it.
///
/// It is lenient inside values that it skips, and strict about what it returns.
struct FlatObjectScanner {
    struct Member {
        var name: String
        var value: Value
    }

    enum Value {
        case string(String)
        case integer(Int64)
        case null
        case other
    }

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The members in order; nil unless the bytes are one object.
    mutating func members() -> [Member]? {
        skipSpace()
        guard take("{") else { return nil }
        var members: [Member] = []
        skipSpace()
        if take("}") { return isAtEnd ? members : nil }
        repeat {
            skipSpace()
            guard let name = string() else { return nil }
            skipSpace()
            guard take(":") else { return nil }
            skipSpace()
            guard let value = value() else { return nil }
            members.append(Member(name: name, value: value))
            skipSpace()
        } while take(",")
        guard take("}") else { return nil }
        return isAtEnd ? members : nil
    }

    private var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position == bytes.count
        }
    }

    private mutating func value() -> Value? {
        switch peek {
        case UInt8(ascii: "\""): string().map(Value.string)
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipNested() ? .other : nil
        default: scalar()
        }
    }

    /// A number, `true`, `false` or `null`.
    private mutating func scalar() -> Value? {
        let start = position
        while let byte = peek, !Self.endsScalar(byte) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if text == "null" { return .null }
        if text == "true" || text == "false" { return .other }
        if let integer = Int64(text) { return .integer(integer) }
        return Double(text) == nil ? nil : .other
    }

    /// Steps over an object or array, counting brackets outside strings.
    private mutating func skipNested() -> Bool {
        var depth = 0
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                guard string() != nil else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
            if depth == 0 { return true }
        }
        return false
    }

    private mutating func string() -> String? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard appendEscape(to: &text) else { return nil }
            case 0..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func appendEscape(to text: inout [UInt8]) -> Bool {
        guard let kind = peek else { return false }
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            guard let scalar = escapedScalar() else { return false }
            text.append(contentsOf: String(Character(scalar)).utf8)
        default: return false
        }
        return true
    }

    /// The scalar of `\uXXXX`, or of two that form a surrogate pair (RFC 8259, 7).
    private mutating func escapedScalar() -> Unicode.Scalar? {
        guard let first = hexQuad() else { return nil }
        guard (0xD800...0xDBFF).contains(first) else { return Unicode.Scalar(first) }
        guard take("\\"), take("u"), let second = hexQuad(), (0xDC00...0xDFFF).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func hexQuad() -> UInt32? {
        guard position + 4 <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[position..<position + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        position += 4
        return value
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ expected: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: expected) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D {
            position += 1
        }
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x09, 0x0A, 0x0D, 0x20: true
        default: false
        }
    }
}
