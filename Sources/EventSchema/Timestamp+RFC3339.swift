public import Vocabulary

extension Timestamp {
    /// Reads a date-time of RFC 3339, 5.6, cut to milliseconds.
    ///
    /// Strict: real days only, an offset of at most 23:59; second 60 stands for the next
    /// minute's first, and only where UTC can have it.
    public init?(rfc3339 text: ArraySlice<UInt8>) {
        self.init(rfc3339: text.span)
    }

    private init?(rfc3339 text: Span<UInt8>) {
        guard text.count >= 20,
            let year = Self.number(text, 0, 4), text[4] == UInt8(ascii: "-"),
            let month = Self.number(text, 5, 2), text[7] == UInt8(ascii: "-"),
            let day = Self.number(text, 8, 2), text[10] | 0x20 == UInt8(ascii: "t"),
            let hour = Self.number(text, 11, 2), text[13] == UInt8(ascii: ":"),
            let minute = Self.number(text, 14, 2), text[16] == UInt8(ascii: ":"),
            let second = Self.number(text, 17, 2),
            (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var position = 19
        guard let fraction = Self.milliseconds(text, &position),
            let offset = Self.offsetMinutes(text.extracting(position...))
        else { return nil }
        let minutes = (Self.daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - offset
        // A leap second is the last of a UTC day (RFC 3339, 5.7).
        if second == 60, (minutes % 1440 + 1440) % 1440 != 1439 { return nil }
        self.init(milliseconds: (minutes * 60 + second) * 1000 + fraction)
    }

    /// Appends `rfc3339`.
    public func appendRFC3339(to text: inout [UInt8]) {
        let bytes = rfc3339
        for index in bytes.indices { text.append(bytes[index]) }
    }

    /// `2026-01-31T23:59:59.999Z`; years outside 0 to 9999 are cut to that range.
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

    /// Of the text: since 1970, and 0 to 999.
    fileprivate var secondsAndMilliseconds: (seconds: Int64, milliseconds: Int64) {
        min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
            .quotientAndRemainder(floor: 1000)
    }

    private static func number(_ text: Span<UInt8>, _ start: Int, _ count: Int) -> Int64? {
        var value: Int64 = 0
        for index in start..<start + count {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
        }
        return value
    }

    /// An optional fraction; nil when a point has no digit behind it.
    private static func milliseconds(
        _ text: Span<UInt8>,
        _ position: inout Int
    ) -> Int64? {
        guard position < text.count, text[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        let start = position
        var value: Int64 = 0
        var weight: Int64 = 100
        while position < text.count {
            let digit = text[position] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            value += Int64(digit) * weight
            weight /= 10
            position += 1
        }
        return position > start ? value : nil
    }

    private static func offsetMinutes(_ text: Span<UInt8>) -> Int64? {
        guard !text.isEmpty else { return nil }
        let sign = text[0]
        if sign | 0x20 == UInt8(ascii: "z") { return text.count == 1 ? 0 : nil }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), text.count == 6,
            let hour = number(text, 1, 2), text[3] == UInt8(ascii: ":"),
            let minute = number(text, 4, 2), hour < 24, minute < 60
        else { return nil }
        let offset = hour * 60 + minute
        return sign == UInt8(ascii: "-") ? -offset : offset
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days of the proleptic Gregorian calendar; years are counted from March, so that the leap
    /// day is a year's last.
    private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
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

/// Timestamps' text for who writes many: most are of the same second as the one before.
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
    /// Two digits: by a constant, the compiler divides without a division.
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
    /// By a positive divisor; the remainder is not negative.
    fileprivate func quotientAndRemainder(floor divisor: Int64) -> (Int64, Int64) {
        let remainder = (self % divisor + divisor) % divisor
        return ((self - remainder) / divisor, remainder)
    }
}
