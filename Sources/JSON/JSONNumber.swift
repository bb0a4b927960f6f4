/// A number with the exact value of its text, of any size and precision.
///
/// Equality is by value: `1`, `1.0` and `10e-1` are equal (JSON Schema Core, 4.2.2).
public struct JSONNumber: Hashable, Sendable {
    /// The text as written.
    public let text: String
    let isNegative: Bool
    /// Decimal digits as values 0 to 9, without leading and trailing zeros; empty for zero.
    let digits: [UInt8]
    /// The exponent: the value is `0.digits` times ten to this power.
    let scale: Int
    /// The value, if it is an integer that fits.
    public let integer: Int64?

    /// - Parameter text: a number as in RFC 8259, 6.
    init(text: ArraySlice<UInt8>) {
        let source = Array(text)
        let decimal = DecimalText(source, 0..<source.count)
        self.text = String(decoding: source, as: UTF8.self)
        isNegative = decimal.isNegative
        digits = decimal.digits(in: source)
        scale = decimal.scale
        integer = decimal.integer(in: source)
    }

    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.isNegative == right.isNegative && left.scale == right.scale
            && left.digits == right.digits
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(isNegative)
        hasher.combine(scale)
        hasher.combine(digits)
    }

    /// Whether it is greater than zero.
    public var isPositive: Bool { !isNegative && !digits.isEmpty }

    /// Whether it has no fractional part (JSON Schema Core, 4.2.3).
    public var isInteger: Bool { scale >= digits.count }

    /// Whether `JSONDocument.isMultiple` can divide by it: positive, with at most 19 digits.
    public var isDivisor: Bool { isPositive && mantissa != nil }

    /// The digits as one integer; nil if they do not fit.
    var mantissa: UInt64? {
        guard digits.count <= 19 else { return nil }
        return digits.reduce(0) { $0 * 10 + UInt64($1) }
    }
}

/// The significant digits in a number's text, without copying.
struct DecimalText {
    private(set) var isNegative = false
    /// The range from the first to the last nonzero digit; it may include the decimal point.
    private(set) var significant = 0..<0
    private(set) var digitCount = 0
    /// The value is `0.digits` times ten to this power; 0 for zero.
    private(set) var scale = 0

    /// Larger exponents are treated as this one: no document is long enough for a difference.
    private static let largestExponent = 1 << 40

    init(_ source: borrowing [UInt8], _ range: Range<Int>) {
        var position = range.lowerBound
        var isBehindPoint = false
        var first = -1
        var last = -1
        if source[position] == UInt8(ascii: "-") {
            isNegative = true
            position += 1
        }
        var zeros = 0
        while position < range.upperBound, source[position] | 0x20 != UInt8(ascii: "e") {
            defer { position += 1 }
            guard source[position] != UInt8(ascii: ".") else {
                isBehindPoint = true
                continue
            }
            if source[position] != UInt8(ascii: "0") {
                if first < 0 { first = position }
                last = position
                digitCount += zeros + 1
                zeros = 0
            } else if first >= 0 {
                zeros += 1
            }
            if first >= 0, !isBehindPoint { scale += 1 }
            if first < 0, isBehindPoint { scale -= 1 }
        }
        guard first >= 0 else {
            isNegative = false
            scale = 0
            return
        }
        significant = first..<last + 1
        scale += Self.exponent(source, position + 1, range.upperBound)
    }

    private static func exponent(_ source: borrowing [UInt8], _ start: Int, _ end: Int) -> Int {
        guard start < end else { return 0 }
        var position = start
        let isNegative = source[position] == UInt8(ascii: "-")
        if isNegative || source[position] == UInt8(ascii: "+") { position += 1 }
        var exponent = 0
        while position < end {
            let digit = Int(source[position] &- UInt8(ascii: "0"))
            exponent = min(exponent * 10 + digit, largestExponent)
            position += 1
        }
        return isNegative ? -exponent : exponent
    }

    var isInteger: Bool { scale >= digitCount }

    func digits(in source: borrowing [UInt8]) -> [UInt8] {
        var digits: [UInt8] = []
        for position in significant where source[position] != UInt8(ascii: ".") {
            digits.append(source[position] &- UInt8(ascii: "0"))
        }
        return digits
    }

    /// The value, if it is an integer that fits.
    func integer(in source: borrowing [UInt8]) -> Int64? {
        guard isInteger, scale <= 19 else { return nil }
        var value: Int64 = 0
        var isExact = true
        // Counted downwards, because -Int64.min does not fit.
        func append(_ digit: UInt8) {
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.subtractingReportingOverflow(Int64(digit))
            isExact = isExact && !overflow && !carry
            value = sum
        }
        for position in significant where source[position] != UInt8(ascii: ".") {
            append(source[position] &- UInt8(ascii: "0"))
        }
        for _ in digitCount..<max(digitCount, scale) { append(0) }
        guard isExact else { return nil }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// Negative if this number is less than `other`, positive if greater.
    func compared(to other: JSONNumber, in source: borrowing [UInt8]) -> Int {
        let sign = digitCount == 0 ? 0 : isNegative ? -1 : 1
        let otherSign = other.digits.isEmpty ? 0 : other.isNegative ? -1 : 1
        guard sign == otherSign, sign != 0 else { return sign - otherSign }
        guard scale == other.scale else { return scale < other.scale ? -sign : sign }
        var index = 0
        for position in significant where source[position] != UInt8(ascii: ".") {
            guard index < other.digits.count else { return sign }
            let digit = source[position] &- UInt8(ascii: "0")
            if digit != other.digits[index] { return digit < other.digits[index] ? -sign : sign }
            index += 1
        }
        return index < other.digits.count ? -sign : 0
    }

    /// Whether this number is an integer multiple of the divisor.
    func isMultiple(of divisor: JSONNumber, in source: borrowing [UInt8]) -> Bool {
        guard digitCount > 0 else { return true }
        guard let modulus = divisor.mantissa.map({ UInt128($0) }), modulus > 0 else { return false }
        // Both are integers without trailing zeros, times a power of ten. If this number's power is
        // smaller, it lacks a factor of ten that the divisor has.
        let power = (scale - digitCount) - (divisor.scale - divisor.digits.count)
        guard power >= 0 else { return false }
        var remainder: UInt128 = 0
        for position in significant where source[position] != UInt8(ascii: ".") {
            let digit = UInt128(source[position] &- UInt8(ascii: "0"))
            remainder = (remainder * 10 + digit) % modulus
        }
        var factor: UInt128 = 10 % modulus
        var exponent = power
        while exponent > 0, remainder != 0 {
            if exponent & 1 == 1 { remainder = remainder * factor % modulus }
            factor = factor * factor % modulus
            exponent >>= 1
        }
        return remainder == 0
    }
}

extension JSONDocument {
    /// The exact number; nil for any other value.
    public func number(_ node: JSONNode) -> JSONNumber? {
        guard node.isNumber else { return nil }
        return JSONNumber(text: source[node.range])
    }

    /// Whether a number has no fractional part, such as `1.0` and `1e400` (JSON Schema Core,
    /// 4.2.3).
    public func isInteger(_ node: JSONNode) -> Bool {
        switch node.kind {
        case .integer: true
        case .number: DecimalText(source, node.range).isInteger
        case .null, .false, .true, .string, .escapedString, .array, .object: false
        }
    }

    /// Negative if a number is less than `other`, positive if greater; exact at any size.
    ///
    /// Traps if the value is not a number.
    public func compare(_ node: JSONNode, with other: JSONNumber) -> Int {
        precondition(node.isNumber, "only numbers have an order")
        if node.kind == .integer, let limit = other.integer, let value = integer(node) {
            return value < limit ? -1 : value > limit ? 1 : 0
        }
        return DecimalText(source, node.range).compared(to: other, in: source)
    }

    /// Whether a number is an integer multiple of `divisor`, without rounding.
    ///
    /// Traps if the value is not a number.
    public func isMultiple(_ node: JSONNode, of divisor: JSONNumber) -> Bool {
        precondition(node.isNumber, "only numbers can be divided")
        if node.kind == .integer, let divisor = divisor.integer, divisor > 0,
            let value = integer(node)
        {
            return value % divisor == 0
        }
        return DecimalText(source, node.range).isMultiple(of: divisor, in: source)
    }
}
