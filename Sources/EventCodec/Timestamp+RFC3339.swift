import JSONSchema
public import Vocabulary

extension Timestamp {
    /// Parses a date-time of RFC 3339, 5.6, truncated to milliseconds; as strict as `RFC3339`.
    public init?(rfc3339 text: ArraySlice<UInt8>) {
        guard let milliseconds = RFC3339.milliseconds(of: text) else { return nil }
        self.init(milliseconds: milliseconds)
    }

    /// `2026-01-31T23:59:59.999Z`; years outside 0 to 9999 are clamped.
    public var rfc3339Text: String {
        let bytes = rfc3339
        return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }

    /// The UTF-8 bytes of `rfc3339Text`.
    var rfc3339: InlineArray<24, UInt8> {
        let (seconds, millisecond) = secondsAndMilliseconds
        let (days, second) = seconds.quotientAndRemainder(floor: 86_400)
        let (year, month, day) = Self.date(days)
        var text = InlineArray<24, UInt8>(repeating: UInt8(ascii: "-"))
        text.setDigits(at: 0, year / 100)
        text.setDigits(at: 2, year % 100)
        text.setDigits(at: 5, month)
        text.setDigits(at: 8, day)
        text[10] = UInt8(ascii: "T")
        text.setDigits(at: 11, second / 3600)
        text[13] = UInt8(ascii: ":")
        text.setDigits(at: 14, second / 60 % 60)
        text[16] = UInt8(ascii: ":")
        text.setDigits(at: 17, second % 60)
        text[19] = UInt8(ascii: ".")
        text.setMilliseconds(millisecond)
        text[23] = UInt8(ascii: "Z")
        return text
    }

    /// The seconds since 1970, and the milliseconds within the second (0 to 999), clamped to that
    /// range.
    fileprivate var secondsAndMilliseconds: (seconds: Int64, milliseconds: Int64) {
        min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
            .quotientAndRemainder(floor: 1000)
    }

    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// Formats many timestamps: most have the same second as the one before.
struct TimestampText: Sendable {
    /// The text of the last timestamp.
    private(set) var utf8 = Timestamp(milliseconds: 0).rfc3339
    private var seconds: Int64 = 0

    mutating func set(_ timestamp: Timestamp) {
        let (seconds, millisecond) = timestamp.secondsAndMilliseconds
        if seconds == self.seconds {
            utf8.setMilliseconds(millisecond)
        } else {
            utf8 = timestamp.rfc3339
            self.seconds = seconds
        }
    }
}

extension InlineArray<24, UInt8> {
    /// Writes two digits; dividing by a constant compiles to a multiplication.
    fileprivate mutating func setDigits(at index: Int, _ value: Int64) {
        self[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 10)
        self[index + 1] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10)
    }

    fileprivate mutating func setMilliseconds(_ value: Int64) {
        self[20] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / 100)
        setDigits(at: 21, value % 100)
    }
}

extension Int64 {
    /// Floor division by a positive divisor; the remainder is not negative.
    fileprivate func quotientAndRemainder(floor divisor: Int64) -> (Int64, Int64) {
        let remainder = (self % divisor + divisor) % divisor
        return ((self - remainder) / divisor, remainder)
    }
}
