import EventSchema
import Foundation
import JSON
import Testing
import Vocabulary

/// A record as producers send it by mistake, and every violation that it has.
struct Mistake: Sendable, CustomTestStringConvertible {
    let name: String
    let value: [UInt8]
    /// None: the event is valid.
    let answers: [[String]]

    var testDescription: String { name }

    private static let place = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Mistakes")

    /// The files of `Tests/Mistakes`, whose `answers.json` has their violations.
    static func all() throws -> [Mistake] {
        let answers = try Data(contentsOf: place.appending(path: "answers.json"))
        let table = try #require(JSONValue.parse(Array(answers)).object)
        return try table.members.map { member in
            let value = try Data(contentsOf: place.appending(path: member.name))
            let answers = try #require(member.value.array).map { try #require($0.array) }
            return Mistake(
                name: member.name,
                value: Array(value),
                answers: answers.map { $0.compactMap(\.string) }
            )
        }
    }

    var isJSON: Bool { value.first == UInt8(ascii: "{") && value.dropFirst().first != 0 }
}

@Suite struct MistakeTests {
    private func answers(_ record: Record) -> [[String]] {
        var decoder = EventDecoder()
        switch decoder.decode(record) {
        case .event(let event):
            return event.warnings.map { [$0.instanceLocation, $0.message] }
        case .invalid(let event):
            return event.violations.map { [$0.instanceLocation, $0.message] }
        case .tombstone, .awaitingSchema, .unreadable: return [["", "no event"]]
        }
    }

    @Test func `every mistake is named`() throws {
        let mistakes = try Mistake.all()
        #expect(mistakes.count == 19)
        for mistake in mistakes {
            #expect(answers(EventText.record(mistake.value)) == mistake.answers, "\(mistake.name)")
        }
    }

    @Test func `a mistake is named the same in any frame`() throws {
        for mistake in try Mistake.all() {
            let prefixed = EventText.record([0, 0, 0, 0, 7] + mistake.value)
            #expect(answers(prefixed) == mistake.answers, "\(mistake.name)")
            let attributes = #""specversion":"1.0","id":"1","source":"/s","type":"t""#
            let encoded = Data(mistake.value).base64EncodedString()
            let inBase64 = #"{\#(attributes),"data_base64":"\#(encoded)"}"#
            #expect(
                answers(EventText.record(Array(inBase64.utf8))) == mistake.answers,
                "\(mistake.name)"
            )
            guard mistake.isJSON else { continue }
            let data = String(decoding: mistake.value, as: UTF8.self)
            let inData = #"{\#(attributes),"data":\#(data)}"#
            let below = mistake.answers.map { ["/data" + $0[0], $0[1]] }
            #expect(answers(EventText.record(Array(inData.utf8))) == below, "\(mistake.name)")
        }
    }

    @Test(
        arguments: [
            (.utf16, "UTF-16"), (.utf16LittleEndian, "UTF-16"), (.utf16BigEndian, "UTF-16"),
            (.utf32, "UTF-32"), (.utf32LittleEndian, "UTF-32"), (.utf32BigEndian, "UTF-32"),
        ] as [(String.Encoding, String)],
        ["{\"id\":\"é\"}", "[1]", " {\"€\":1}", "\"a\""]
    )
    func `a text in another encoding is named`(
        encoding: (String.Encoding, String),
        text: String
    ) throws {
        let value = Array(try #require(text.data(using: encoding.0)))
        let expected = [["", "is \(encoding.1); UTF-8 is expected"]]
        #expect(answers(EventText.record(value)) == expected)
    }

    /// What another schema describes by Confluent's identifier is no text at all.
    @Test(arguments: [1, 31_500, 0x7B00])
    func `a number before a value is no encoding`(id: UInt32) {
        let prefix = (0..<4).map { UInt8(truncatingIfNeeded: id >> (24 - 8 * $0)) }
        let found = answers(EventText.record([0] + prefix + [0x0E, 0x08, 0x61, 0x62]))
        #expect(found.first?.last?.contains("UTF") == false, "\(found)")
    }

    @Test func `behind a byte order mark positions are those of the record`() throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        for prefix in [mark, [0, 0, 0, 0, 7] + mark] {
            let value = prefix + EventText().with("metadata", #"{"a":"b"}"#).bytes
            var decoder = EventDecoder()
            guard case .event(let event) = decoder.decode(EventText.record(value)) else {
                Issue.record("not an event")
                continue
            }
            #expect(String(decoding: value[event.payload], as: UTF8.self).hasPrefix("{ \"aps\""))
            let metadata = try #require(event.metadata)
            #expect(String(decoding: value[metadata], as: UTF8.self) == #"{"a":"b"}"#)
        }
    }

    @Test func `an identifier in upper case is the same in lower case`() throws {
        let id = "7A08B502-9D5D-5688-A7E3-0AA49B94BC23"
        for (name, text) in [("mixed", "7a08b502-9D5D-5688-A7E3-0AA49B94bc23"), ("upper", id)] {
            var decoder = EventDecoder()
            let record = EventText().with("apns_id", "\"\(text)\"").record
            guard case .event(let event) = decoder.decode(record) else {
                Issue.record("\(name): not an event")
                continue
            }
            #expect(event.apnsID.description == id.lowercased())
        }
    }
}

@Suite struct ValueFormTests {
    private func mistake(_ form: String, _ value: String) throws -> String? {
        // Nothing is admitted, so that everything is told of.
        let schema = try Schema(text: Array(#"{"x-form":"\#(form)","enum":[[]]}"#.utf8))
        var document = JSONDocument()
        try document.parse(Array(value.utf8))
        let message = schema.violations(in: document, document.root).first?.message
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
            ("(null)", "is no token but the word for a missing one"),
            ("abc", "has an odd number of digits"), (#"\"abab\""#, "is in quotes"),
            ("0xabab", "begins with 0x"), (#"\\xabab"#, #"begins with \x"#),
            ("7A08B502-9D5D-5688-A7E3-0AA49B94BC23", "looks like a UUID"),
            ("ab ab", "has separators between its digits"),
            ("ab:ab", "has separators between its digits"),
            ("ab-ab", "has separators between its digits"),
            ("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s=", "looks like Base64"),
            ("q6urq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s", "looks like Base64"),
            ("-_6rq6urq6urq6urq6urq6urq6urq6urq6urq6urq6s", "looks like Base64"),
            ("zz", "has a character that is no hexadecimal digit"),
            ("é\(bytes)", "has a character that is no hexadecimal digit"), (bytes, nil),
        ] as [(String, String?)]
    )
    func `a device token in another notation is named`(text: String, mistake: String?) throws {
        let found = try self.mistake("device-token", "\"\(text)\"")
        #expect(found?.hasPrefix(mistake ?? "nothing") ?? (mistake == nil), "\(found ?? "nothing")")
        #expect(found?.contains("abab") != true)
    }

    @Test(
        arguments: [
            ("unix-seconds", "3600", "looks like a number of seconds to live"),
            ("unix-seconds", "7776000", "looks like a number of seconds to live"),
            ("unix-seconds", "785692800", "looks like seconds since 2001"),
            ("unix-seconds", "1764000000000", "looks like milliseconds; seconds are expected"),
            ("unix-seconds", "1.764e15", "looks like microseconds; seconds are expected"),
            ("unix-seconds", "1764000000000000000", "looks like nanoseconds; seconds are expected"),
            ("unix-seconds", "\"2026-01-31T12:00:00Z\"", "is a date; seconds since 1970"),
            ("unix-seconds", "0", nil), ("unix-seconds", "-1", nil),
            ("unix-seconds", "1764000000", nil), ("unix-seconds", "\"soon\"", nil),
            ("unix-milliseconds", "1764000000", "looks like seconds; milliseconds are expected"),
            ("unix-milliseconds", "1764000000000000", "looks like microseconds; milliseconds"),
            ("unix-milliseconds", "1764000000000000000", "looks like nanoseconds; milliseconds"),
            ("unix-milliseconds", "\"2026-01-31T12:00:00Z\"", "is a date; milliseconds since 1970"),
            ("unix-milliseconds", "1764000000000", nil),
            ("rfc3339", "1764000000", "looks like a Unix time"),
            ("rfc3339", "\"2026-01-31T12:00:00\"", "has no offset"),
            ("rfc3339", "\"2026-01-31 12:00:00\"", "has no offset"),
            ("rfc3339", "\"2026-01-31 12:00:00Z\"", "has a space in place of the T"),
            ("rfc3339", "\"yesterday\"", nil), ("none", "1764000000", nil),
        ] as [(String, String, String?)]
    )
    func `a time in another unit is named`(form: String, value: String, mistake: String?) throws {
        let found = try self.mistake(form, value)
        #expect(found?.hasPrefix(mistake ?? "nothing") ?? (mistake == nil), "\(found ?? "nothing")")
    }
}
