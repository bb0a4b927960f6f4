extension Format {
    /// `full-date` of RFC 3339, 5.6.
    static func isDate(_ text: ArraySlice<UInt8>) -> Bool {
        text.count == 10 && RFC3339.milliseconds(of: (text + Array("T00:00:00Z".utf8))[...]) != nil
    }

    /// `full-time` of RFC 3339, 5.6; a leap second is valid only at the end of a UTC day.
    static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
        // The last day of a month, because a leap second can occur on it.
        RFC3339.milliseconds(of: (Array("2016-12-31T".utf8) + text)[...]) != nil
    }

    /// `duration` of RFC 3339, appendix A.
    static func isDuration(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        guard rest.popFirst() == UInt8(ascii: "P") else { return false }
        if rest.last == UInt8(ascii: "W") {
            return rest.count > 1 && rest.dropLast().allSatisfy(\.isASCIIDigit)
        }
        let isDate = takeUnits("YMD", &rest)
        guard let mark = rest.popFirst() else { return isDate == true }
        guard mark == UInt8(ascii: "T"), isDate != nil else { return false }
        return takeUnits("HMS", &rest) == true && rest.isEmpty
    }

    /// Consumes numbers with units, which must be in order and adjacent.
    ///
    /// - Returns: whether there was any; nil if they are not adjacent.
    private static func takeUnits(_ units: String, _ rest: inout ArraySlice<UInt8>) -> Bool? {
        var last: Int?
        while let first = rest.first, first.isASCIIDigit {
            let afterDigits = rest.drop(while: \.isASCIIDigit)
            guard let unit = afterDigits.first,
                let position = Array(units.utf8).firstIndex(of: unit),
                position == (last.map { $0 + 1 } ?? position)
            else { return nil }
            last = position
            rest = afterDigits.dropFirst()
        }
        return last != nil
    }
}
