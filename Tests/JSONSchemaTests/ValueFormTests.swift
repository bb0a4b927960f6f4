import JSON
import JSONSchema
import Testing

@Suite struct ValueFormTests {
    private func mistake(_ form: String, _ value: String) throws -> String? {
        // Nothing is valid, so every mistake is reported.
        let schema = try Schema(text: Array(#"{"x-form":"\#(form)","enum":[[]]}"#.utf8))
        var document = JSONDocument()
        try document.parse(Array(value.utf8))
        let message = schema.findings(in: document, document.root).first?.message
        guard let message, let words = message.firstRange(of: ", which ") else { return nil }
        return String(message[words.upperBound...])
    }

    private static let bytes = String(repeating: "ab", count: 32)

    @Test(
        arguments: [
            ("", "is empty"), (" ", "has white space at its beginning and end"),
            (bytes + #"\n"#, "has white space at its end"),
            (#"\t"# + bytes, "has white space at its beginning"),
            (#"\ufeff"# + bytes, "has white space at its beginning"),
            ("<abababab abababab>", "looks like the description of a Data value"),
            ("{length = 2, bytes = 0xabab }", "looks like the description of a Data value"),
            ("32 bytes", "looks like the description of a Data value"),
            ("Optional(32 bytes)", "looks like the description of a Data value"),
            ("[171, 205]", "looks like a list of bytes"), ("171,205", "looks like a list of bytes"),
            ("ExponentPushToken[x]", "looks like a token of another push service"),
            ("ExpoPushToken[x]", "looks like a token of another push service"),
            ("dGhpcyBpcyBub3Q:APA91bExample_-", "looks like a token of another push service"),
            ("APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3h", "looks like a token of another push service"),
            ("https://push.example/send/x", "looks like a token of another push service"),
            ("arn:aws:sns:eu-west-1:1:endpoint/a", "looks like a token of another push service"),
            ("(null)", "is a word for a missing token"),
            ("abc", "has an odd number of digits"), (#"\"abab\""#, "is in quotes"),
            ("0xabab", "begins with 0x"), (#"\\xabab"#, #"begins with \x"#),
            ("7A08B502-9D5D-5688-A7E3-0AA49B94BC23", "looks like a UUID"),
            ("ab ab", "has separators between its digits"),
            ("ab:ab", "has separators between its digits"),
            ("ab-ab", "has separators between its digits"),
            ("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=", "looks like Base64"),
            ("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s", "looks like Base64"),
            ("-_6rq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s", "looks like Base64"),
            ("zz", "has a character that is not a hexadecimal digit"),
            ("é\(bytes)", "has a character that is not a hexadecimal digit"), (bytes, nil),
        ] as [(String, String?)]
    )
    func `a device token in another notation is recognized`(text: String, mistake: String?) throws {
        let found = try self.mistake("device-token", "\"\(text)\"")
        #expect(found?.hasPrefix(mistake ?? "nothing") ?? (mistake == nil), "\(found ?? "nothing")")
        #expect(found?.contains("abab") != true)
    }

    @Test(
        arguments: [
            ("unix-seconds", "3600", "looks like a number of seconds to live"),
            ("unix-seconds", "7776000", "looks like a number of seconds to live"),
            ("unix-seconds", "785692800", "looks like seconds since 2001"),
            ("unix-seconds", "1764000000000", "looks like milliseconds; send seconds"),
            ("unix-seconds", "1.764e15", "looks like microseconds; send seconds"),
            ("unix-seconds", "1764000000000000000", "looks like nanoseconds; send seconds"),
            ("unix-seconds", "\"2026-01-31T12:00:00Z\"", "is a date; send seconds since 1970"),
            ("unix-seconds", "0", nil), ("unix-seconds", "-1", nil),
            ("unix-seconds", "1764000000", nil), ("unix-seconds", "\"soon\"", nil),
            ("unix-milliseconds", "1764000000", "looks like seconds; send milliseconds"),
            ("unix-milliseconds", "1764000000000000", "looks like microseconds; send milliseconds"),
            (
                "unix-milliseconds", "1764000000000000000",
                "looks like nanoseconds; send milliseconds"
            ),
            (
                "unix-milliseconds", "\"2026-01-31T12:00:00Z\"",
                "is a date; send milliseconds since 1970"
            ),
            ("unix-milliseconds", "1764000000000", nil),
            ("rfc3339", "1764000000", "looks like a Unix time"),
            ("rfc3339", "\"2026-01-31T12:00:00\"", "has no offset"),
            ("rfc3339", "\"2026-01-31 12:00:00\"", "has no offset"),
            ("rfc3339", "\"2026-01-31 12:00:00Z\"", "has a space instead of the T"),
            ("rfc3339", "\"yesterday\"", nil), ("none", "1764000000", nil),
        ] as [(String, String, String?)]
    )
    func `a time in another unit is recognized`(form: String, value: String, mistake: String?)
        throws
    {
        let found = try self.mistake(form, value)
        #expect(found?.hasPrefix(mistake ?? "nothing") ?? (mistake == nil), "\(found ?? "nothing")")
    }
}
