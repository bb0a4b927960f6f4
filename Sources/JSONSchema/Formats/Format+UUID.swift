extension Format {
    /// A UUID (RFC 9562, 4), in either case.
    static func isUUID(_ text: ArraySlice<UInt8>) -> Bool {
        let text = text.span
        guard text.count == 36 else { return false }
        for index in text.indices {
            let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
            guard isHyphen ? text[index] == UInt8(ascii: "-") : text[index].isHexDigit else {
                return false
            }
        }
        return true
    }
}
