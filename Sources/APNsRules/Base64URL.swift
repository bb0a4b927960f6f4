/// Base64 with the URL-safe alphabet and without padding (RFC 4648, 5).
public enum Base64URL {
    public static func append(_ octets: [UInt8], to text: inout [UInt8]) {
        var index = 0
        while index < octets.count {
            let count = min(3, octets.count - index)
            var group: UInt32 = 0
            for place in 0..<3 {
                group = group << 8 | (place < count ? UInt32(octets[index + place]) : 0)
            }
            for place in 0...count {
                text.append(digit(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * place)) & 63))
            }
            index += 3
        }
    }

    /// The octets; nil for a foreign character, padding, or a length or spare bits that no encoder
    /// makes.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count * 3 / 4)
        var group: UInt32 = 0
        var bitCount: UInt32 = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            group = group << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                octets.append(UInt8(truncatingIfNeeded: group >> bitCount))
                group &= (1 << bitCount) - 1
            }
        }
        return group == 0 ? octets : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
