public import Vocabulary

/// Dates in HTTP's format (RFC 9110, 5.6.7).
public enum HTTPDate {
    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, the preferred form; nil for any other text.
    public static func timestamp(_ value: some StringProtocol) -> Timestamp? {
        let text = Array(value.utf8)
        guard text.count == 29, text[3] == UInt8(ascii: ","),
            text.suffix(4).elementsEqual(" GMT".utf8),
            text[4] == 0x20, text[7] == 0x20, text[11] == 0x20, text[16] == 0x20,
            text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            let day = number(text[5..<7]), (1...31).contains(day),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(text[8..<11]) }),
            let year = number(text[12..<16]),
            let hour = number(text[17..<19]), hour < 24,
            let minute = number(text[20..<22]), minute < 60,
            let second = number(text[23..<25]), second <= 60
        else { return nil }
        let days = daysSinceEpoch(year: year, month: Int64(month + 1), day: day)
        let seconds = days * 86400 + hour * 3600 + minute * 60 + second
        return Timestamp(milliseconds: seconds * 1000)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Days since 1970-01-01 in the Gregorian calendar, computed with years that start in March.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let shiftedMonth = month <= 2 ? month + 9 : month - 3
        let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
        // There are 719468 days from 0000-03-01 to 1970-01-01.
        return shiftedYear * 365 + leapDays + (153 * shiftedMonth + 2) / 5 + day - 1 - 719_468
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.allSatisfy(isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
