/// Writes integers as decimal digits without allocating a string.
enum Decimal {
    static func append(_ value: Int64, to bytes: inout [UInt8]) {
        // No 64-bit integer has more digits.
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var first = digits.count
        var rest = value.magnitude
        repeat {
            first -= 1
            digits[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        bytes.append(addingCapacity: 1 + digits.count - first) { room in
            if value < 0 { room.append(UInt8(ascii: "-")) }
            for index in first..<digits.count { room.append(digits[index]) }
        }
    }
}
