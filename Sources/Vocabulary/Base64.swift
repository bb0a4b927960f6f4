/// Base64 in its canonical form (RFC 4648, 3.5): each byte sequence has exactly one text.
public enum Base64: Sendable {
    /// Padded to a multiple of four characters (section 4).
    case standard
    /// With the alphabet for URLs and file names, without padding (section 5).
    case url

    public func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var group: UInt32 = 0
            for place in 0..<3 {
                group = group << 8 | (place < count ? UInt32(bytes[start + place]) : 0)
            }
            for place in 0...count {
                text.append(digit(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * place)) & 63))
            }
            if self == .standard {
                text.append(contentsOf: repeatElement(UInt8(ascii: "="), count: 3 - count))
            }
        }
    }

    /// The decoded bytes; nil if the text is not canonical Base64.
    public func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let padding = text.dropFirst(digits.count)
        guard digits.count % 4 != 1, padding.allSatisfy({ $0 == UInt8(ascii: "=") }),
            padding.count == (self == .standard ? (4 - digits.count % 4) % 4 : 0)
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var group: UInt32 = 0
        var bitCount: UInt32 = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            group = group << 6 | UInt32(value)
            bitCount += 6
            guard bitCount >= 8 else { continue }
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: group >> bitCount))
            group &= (1 << bitCount) - 1
        }
        return group == 0 ? bytes : nil
    }

    /// Whether a byte is in the alphabet; padding is not.
    public func isDigit(_ byte: UInt8) -> Bool { value(of: byte) != nil }

    private func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: self == .url ? "-" : "+")
        default: UInt8(ascii: self == .url ? "_" : "/")
        }
    }

    private func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case self.digit(62): 62
        case self.digit(63): 63
        default: nil
        }
    }
}
