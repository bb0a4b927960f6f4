/// The intended form of a value, declared by the keyword `x-form`; it validates nothing.
///
/// For an invalid value, it guesses what the value is instead and advises what to do.
enum ValueForm: String, Sendable {
    case deviceToken = "device-token"
    case unixSeconds = "unix-seconds"
    case unixMilliseconds = "unix-milliseconds"
    case dateTime = "rfc3339"

    /// What a number looks like; nil: unknown.
    func mistake(in number: Double) -> String? {
        switch (self, number) {
        case (.unixSeconds, 1..<Self.longestLife):
            "looks like a number of seconds to live; send a Unix time"
        case (.unixSeconds, Self.longestLife..<1e9):
            "looks like seconds since 2001; send seconds since 1970"
        case (.unixSeconds, 1e11..<1e14): "looks like milliseconds; send seconds"
        case (.unixSeconds, 1e14..<1e17): "looks like microseconds; send seconds"
        case (.unixSeconds, 1e17..<1e20): "looks like nanoseconds; send seconds"
        case (.unixMilliseconds, 1e8..<1e11): "looks like seconds; send milliseconds"
        case (.unixMilliseconds, 1e14..<1e17): "looks like microseconds; send milliseconds"
        case (.unixMilliseconds, 1e17..<1e20): "looks like nanoseconds; send milliseconds"
        case (.dateTime, 1e8..<1e20): "looks like a Unix time; \(Self.dateTimeExample)"
        default: nil
        }
    }

    /// What a string looks like, without repeating any of it; nil: unknown.
    func mistake(in text: String) -> String? {
        switch self {
        case .deviceToken: Self.tokenMistake(text)
        case .unixSeconds: Self.isDate(text) ? "is a date; send seconds since 1970" : nil
        case .unixMilliseconds:
            Self.isDate(text) ? "is a date; send milliseconds since 1970" : nil
        case .dateTime: Self.dateMistake(text)
        }
    }

    private static func isDate(_ text: String) -> Bool {
        RFC3339.milliseconds(of: Array(text.utf8)[...]) != nil
    }

    private static func dateMistake(_ text: String) -> String? {
        let joined = text.replacing(" ", with: "T")
        if isDate(joined) { return "has a space instead of the T; \(dateTimeExample)" }
        return isDate("\(joined)Z") ? "has no offset; \(dateTimeExample)" : nil
    }

    /// Fifteen years in seconds; more than that has passed since 2016 from Apple's reference date,
    /// 2001.
    private static let longestLife = 473_000_000.0
    private static let dateTimeExample = "send RFC 3339, such as 2026-01-31T12:00:00Z"

    // MARK: Device tokens

    /// Common mistakes for a token of 64 digits, the most specific first.
    private static func tokenMistake(_ text: String) -> String? {
        if text.isEmpty { return "is empty" }
        if let place = placeOfSpace(text) { return "has white space at its \(place)" }
        let digits = text.unicodeScalars.count { $0.isHexadecimalDigit }
        let count = text.unicodeScalars.count
        if isDescription(text) {
            return "looks like the description of a Data value; send the bytes as hexadecimal"
        }
        if isListOfBytes(text) { return "looks like a list of bytes; send them as hexadecimal" }
        if isForeign(text) {
            return "looks like a token of another push service; send the one that APNs gave the app"
        }
        if ["null", "(null)", "nil", "none", "undefined"].contains(text.lowercased()) {
            return "is a word for a missing token"
        }
        if digits == count { return count % 2 == 0 ? nil : "has an odd number of digits" }
        if let quote = text.first, "\"'".contains(quote) { return "is in quotes; leave them out" }
        let lowercased = text.lowercased()
        if lowercased.hasPrefix("0x") || lowercased.hasPrefix("\\x") {
            return "begins with \(lowercased.prefix(2)); send the digits alone"
        }
        if Format.isUUID(Array(text.utf8)[...]) {
            return "looks like a UUID; send the token that APNs gave the app"
        }
        if text.unicodeScalars.allSatisfy({ $0.isHexadecimalDigit || $0.isSeparator }) {
            return "has separators between its digits; send the digits alone"
        }
        if isBase64(text) { return "looks like Base64; send hexadecimal" }
        return "has a character that is not a hexadecimal digit"
    }

    private static func placeOfSpace(_ text: String) -> String? {
        let isSpace = { (scalar: Unicode.Scalar?) in scalar.map(\.isBlank) ?? false }
        switch (isSpace(text.unicodeScalars.first), isSpace(text.unicodeScalars.last)) {
        case (true, true): return "beginning and end"
        case (true, false): return "beginning"
        case (false, true): return "end"
        case (false, false): return nil
        }
    }

    /// A printed object: `<abababab …>`, `{length = 32, bytes = 0x…}` (iOS 13), `32 bytes` (Swift)
    /// or `Optional(…)`.
    private static func isDescription(_ text: String) -> Bool {
        text.hasPrefix("<") && text.hasSuffix(">") || text.hasPrefix("{")
            || text.hasPrefix("Optional(")
            || text.hasSuffix(" bytes") && text.dropLast(6).allSatisfy(\.isNumber)
    }

    /// A list of bytes: `[171, 171]` or `171,171`.
    private static func isListOfBytes(_ text: String) -> Bool {
        let isInBrackets = text.hasPrefix("[") && text.hasSuffix("]")
        let items = (isInBrackets ? text.dropFirst().dropLast() : text[...])
            .split(separator: ",", omittingEmptySubsequences: false)
        return items.count > 1
            && items.allSatisfy { UInt8($0.drop { $0 == " " }.prefix { $0 != " " }) != nil }
    }

    /// Another service's token: Expo, Firebase (`instance:APA91b…` or without the instance), Web
    /// Push, SNS.
    private static func isForeign(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let isFirebase =
            parts.count == 2 && parts[0].count >= 8 && parts[1].count >= 8
            && parts.allSatisfy { $0.unicodeScalars.allSatisfy(\.isBase64URL) }
            && !text.unicodeScalars.allSatisfy { $0.isHexadecimalDigit || $0 == ":" }
        let beginnings = ["ExponentPushToken[", "ExpoPushToken[", "APA91", "arn:"]
        return beginnings.contains(where: text.hasPrefix) || text.contains("://") || isFirebase
    }

    /// Base64 in either alphabet, with or without padding (RFC 4648, 4 and 5).
    private static func isBase64(_ text: String) -> Bool {
        let digits = text.unicodeScalars.reversed().drop { $0 == "=" }
        let padding = text.unicodeScalars.count - digits.count
        return digits.count >= 16 && digits.count % 4 != 1 && padding <= 2
            && (padding == 0 || text.unicodeScalars.count % 4 == 0)
            && digits.allSatisfy { $0.isBase64URL || $0 == "+" || $0 == "/" }
    }
}

extension Unicode.Scalar {
    fileprivate var isHexadecimalDigit: Bool { isASCII && properties.isASCIIHexDigit }

    fileprivate var isSeparator: Bool { " :-_.,".unicodeScalars.contains(self) }

    fileprivate var isBase64URL: Bool {
        isASCII && (properties.isAlphabetic || properties.numericType != nil)
            || self == "-" || self == "_"
    }

    /// White space, the byte order mark, and other characters without width.
    fileprivate var isBlank: Bool {
        properties.isWhitespace || self == "\u{FEFF}" || self == "\u{200B}" || self == "\0"
    }
}
