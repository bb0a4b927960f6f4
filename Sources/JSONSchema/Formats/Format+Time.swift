extension Format {
    /// `full-date` of RFC 3339, 5.6.
    static func isDate(_ text: ArraySlice<UInt8>) -> Bool {
        text.count == 10 && RFC3339.milliseconds(of: (text + Array("T00:00:00Z".utf8))[...]) != nil
    }

    /// `full-time` of RFC 3339, 5.6; a leap second only where UTC can have one.
    static func isTime(_ text: ArraySlice<UInt8>) -> Bool {
        // The month's last day, so that a leap second is possible on the day itself.
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

    /// Takes numbers with their units, in order and without a gap.
    ///
    /// - Returns: whether there was one; nil for a gap.
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
