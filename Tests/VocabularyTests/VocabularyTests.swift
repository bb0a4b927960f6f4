import Testing
import Vocabulary

@Suite struct VocabularyTests {
    /// Computed with Python's `uuid.uuid5`, in the namespace `uuid5(NAMESPACE_DNS, "heliograph")`.
    @Test(arguments: [
        ("e1", "00ffaa", "421de738-9041-581b-be9a-25b53666e25b"),
        ("e1", "00FFAA", "421de738-9041-581b-be9a-25b53666e25b"),
        (
            "order-4711-shipped",
            "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0",
            "5f7df2bc-29ee-58d9-b043-c77a9b9e8055"
        ),
        (String(repeating: "é", count: 128), "ab", "542c73d5-e704-59fc-b60f-069f040b987e"),
        ("", "00", "cc8cc7d5-fedb-5e5a-a460-c0a7220a36b8"),
    ])
    func `an event's identifier is a version 5 UUID`(id: String, token: String, uuid: String) throws
    {
        let token = try #require(DeviceToken(token))
        #expect(APNsID(eventID: EventID(id), deviceToken: token).description == uuid)
    }

    @Test func `event IDs are equal when their bytes are`() {
        // Around the length that is stored inline; the last two look the same.
        let texts =
            [0, 1, 39, 40, 41, 128].flatMap { count in
                ["a", "é"].map { String(repeating: "-", count: count) + $0 }
            } + ["", "\u{0}", "e\u{301}"]
        let ids = texts.map { EventID($0) }
        #expect(Set(ids).count == texts.count)
        for (id, text) in zip(ids, texts) {
            #expect(id == EventID(text))
            #expect(Array(id.description.utf8) == Array(text.utf8))
        }
    }

    @Test(arguments: [
        "", "123e4567-e89b-12d3-a456-42661417400", "123e4567-e89b-12d3-a456-4266141740000",
        "123e4567ae89b-12d3-a456-426614174000", "g23e4567-e89b-12d3-a456-426614174000",
        "123e4567-e89b-12d3-a456-42661417400é",
    ])
    func `only a canonical UUID is an APNs ID`(text: String) {
        #expect(APNsID(text) == nil)
    }

    @Test func `an APNs ID is read in either case and written in lower case`() {
        let id = APNsID("123E4567-E89B-12D3-A456-426614174000")
        #expect(id?.description == "123e4567-e89b-12d3-a456-426614174000")
    }

    /// One Swift character can have as many bytes as a whole body.
    @Test(arguments: [
        (String(repeating: "a", count: 64), 64), (String(repeating: "a", count: 65), 64),
        ("a" + String(repeating: "\u{301}", count: 2_000), 63),
        (String(repeating: "e\u{301}\u{302}\u{303}", count: 64), 64),
        (String(repeating: "👨‍👩‍👧‍👦", count: 64), 64), (String(repeating: "😀", count: 17), 64),
        (String(repeating: "é", count: 33), 64), ("", 0),
    ])
    func `an unknown reason is cut to 64 bytes without splitting a character`(
        text: String,
        byteCount: Int
    ) {
        for reason in [Reason(apnsText: text), Reason(recorded: text)] {
            #expect(reason.text.utf8.count == byteCount)
            #expect(text.utf8.starts(with: reason.text.utf8))
        }
    }

    @Test(arguments: [
        ("", false), ("0", false), ("0g", false), ("00", true), ("aAfF09", true), ("éé", false),
        ("٠٠", false), (String(repeating: "a", count: 62) + "0g", false),
        (String(repeating: "aB", count: 32), true), (String(repeating: "aB", count: 33), true),
        (String(repeating: "a", count: 67), false), (String(repeating: "0", count: 100_000), true),
    ])
    func `a device token has an even number of hexadecimal digits`(text: String, isToken: Bool) {
        #expect((DeviceToken(text)?.hexadecimal == text) == isToken)
    }

    @Test func `device tokens are equal when their digits are`() throws {
        let texts =
            ["00", "0000", "00aa", "00AA"]
            + [62, 64, 66].flatMap { count in
                ["a", "b"].map { String(repeating: "0", count: count - 1) + $0 }
            }
        let tokens = try texts.map { try #require(DeviceToken($0)) }
        #expect(Set(tokens).count == texts.count)
        for (token, text) in zip(tokens, texts) {
            #expect(token == DeviceToken(text))
            #expect(token.digitCount == text.utf8.count)
            #expect("\(token)" == "device token (hidden)")
        }
    }

    @Test func `a record's key and value can be null, empty or bytes`() {
        let choices: [[UInt8]?] = [nil, [], [1], [2, 3]]
        var records: Set<Record> = []
        for key in choices {
            for value in choices {
                var record = Record(
                    partition: PartitionID(index: 0),
                    offset: Offset(0),
                    timestamp: nil,
                    key: key,
                    value: value
                )
                records.insert(record)
                #expect(record.key == key && record.value == value)
                #expect(record.byteCount == (key?.count ?? 0) + (value?.count ?? 0))
                #expect((record.eventBytes == nil) == (value == nil))
                for other in choices {
                    record.key = other
                    #expect(record.key == other && record.value == value)
                }
            }
        }
        #expect(records.count == choices.count * choices.count)
    }

    @Test(arguments: [(0, false), (1, true), (64, true), (65, false)])
    func `a collapse ID has 1 to 64 bytes`(count: Int, isValid: Bool) {
        #expect((CollapseID(String(repeating: "a", count: count)) != nil) == isValid)
    }

    @Test func `a header block keeps the order of fields and finds the first one by name`() {
        var block = HeaderBlock()
        block.append("a", "1")
        block.append("b", "2", indexing: .neverIndexed)
        block.append("a", "3")
        #expect(block.text(of: "a") == "1")
        #expect(block.text(of: "b") == "2")
        #expect(block.text(of: "c") == nil)
        #expect(block.fields.map(\.indexing) == [.indexed, .neverIndexed, .indexed])
        block.removeAll()
        #expect(block.fields.isEmpty && block.bytes.isEmpty)
    }
}
