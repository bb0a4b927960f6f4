import EventCodec
import Foundation
import JSON
import Testing
import Vocabulary

/// A typical mistake of a producer, and every violation in it.
struct Mistake: Sendable, CustomTestStringConvertible {
    let name: String
    let value: [UInt8]
    /// Empty if the event is valid.
    let answers: [[String]]

    var testDescription: String { name }

    private static let place = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Mistakes")

    /// The files of `Tests/Mistakes`; `answers.json` there lists their violations.
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
        case .tombstone, .awaitingSchema, .fanOut, .unreadable: return [["", "no event"]]
        }
    }

    @Test func `every mistake is reported with all its violations`() throws {
        let mistakes = try Mistake.all()
        #expect(mistakes.count == 19)
        for mistake in mistakes {
            #expect(answers(EventText.record(mistake.value)) == mistake.answers, "\(mistake.name)")
        }
    }

    @Test func `a mistake is reported the same way in every framing`() throws {
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
    func `a text in another encoding is reported with its encoding`(
        encoding: (String.Encoding, String),
        text: String
    ) throws {
        let value = Array(try #require(text.data(using: encoding.0)))
        let expected = [["", "is \(encoding.1); send UTF-8"]]
        #expect(answers(EventText.record(value)) == expected)
    }

    /// After Confluent's schema ID, the value may be binary rather than text.
    @Test(arguments: [1, 31_500, 0x7B00])
    func `a schema ID before a value is not mistaken for an encoding`(id: UInt32) {
        let prefix = (0..<4).map { UInt8(truncatingIfNeeded: id >> (24 - 8 * $0)) }
        let found = answers(EventText.record([0] + prefix + [0x0E, 0x08, 0x61, 0x62]))
        #expect(found.first?.last?.contains("UTF") == false, "\(found)")
    }

    @Test func `after a byte order mark, ranges still point into the record's bytes`() throws {
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

    @Test func `an APNs ID in upper case becomes lower case`() throws {
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
