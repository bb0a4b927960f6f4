/// Date-times of RFC 3339, 5.6.
public enum RFC3339 {
    /// Parses a date-time to milliseconds since 1970-01-01 UTC, truncating fractions.
    ///
    /// Strict: only existing days, and an offset of at most 23:59. Second 60 means the start of the
    /// next minute, and is valid only where UTC can have a leap second.
    public static func milliseconds(of text: ArraySlice<UInt8>) -> Int64? {
        milliseconds(of: text.span)
    }

    private static func milliseconds(of text: Span<UInt8>) -> Int64? {
        guard text.count >= 20,
            let year = number(text, 0, 4), text[4] == UInt8(ascii: "-"),
            let month = number(text, 5, 2), text[7] == UInt8(ascii: "-"),
            let day = number(text, 8, 2), text[10] | 0x20 == UInt8(ascii: "t"),
            let hour = number(text, 11, 2), text[13] == UInt8(ascii: ":"),
            let minute = number(text, 14, 2), text[16] == UInt8(ascii: ":"),
            let second = number(text, 17, 2),
            (1...12).contains(month), (1...days(in: month, of: year)).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var position = 19
        guard let fraction = fraction(text, &position),
            let offset = offsetMinutes(text.extracting(position...))
        else { return nil }
        let minutes = (daysSinceEpoch(year, month, day) * 24 + hour) * 60 + minute - offset
        // A leap second is the last second of a UTC day (RFC 3339, 5.7).
        if second == 60, (minutes % 1440 + 1440) % 1440 != 1439 { return nil }
        return (minutes * 60 + second) * 1000 + fraction
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

    /// An optional fraction in milliseconds; nil if no digit follows the point.
    private static func fraction(
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

    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    ///
    /// Years are counted from March, so that the leap day is the last day of a year.
    private static func daysSinceEpoch(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }
}
