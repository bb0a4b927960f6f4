import JSON
import Testing

@Suite struct JSONWriterTests {
    /// The writer's output for the members that `write` adds.
    private func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return writer.bytes
    }

    @Test func `every character reads back the same at any position`() throws {
        for character in (0..<0x80).map({ UnicodeScalar(UInt8($0)) }) + ["\u{80}", "é", "\u{2028}"]
        {
            for length in [1, 2, 7, 8, 9, 15, 16, 17, 25] {
                for position in 0..<length {
                    var scalars = Array(
                        repeating: UnicodeScalar(UInt8(ascii: "\u{7F}")),
                        count: length
                    )
                    scalars[position] = character
                    var text = ""
                    text.unicodeScalars.append(contentsOf: scalars)
                    let read = try JSONValue.parse(object { $0.member("name", text) })
                    #expect(read["name"] == .string(text))
                }
            }
        }
    }

    /// A terminal may interpret 8-bit controls, direction marks and invisible tags.
    @Test(arguments: [
        ("plain, ü 😀", "plain, ü 😀"), ("\u{1B}[2J\u{7F}", #"\u001b[2J\u007f"#),
        ("ü\u{9B}2J\u{80}\u{9F}\u{A0}", "ü\\u009b2J\\u0080\\u009f\u{A0}"),
        ("a\u{2028}b\u{2029}c\u{85}", #"a\u2028b\u2029c\u0085"#),
        ("a\u{202E}\u{2066}b\u{200B}", #"a\u202e\u2066b\u200b"#), ("\u{E0041}", #"\udb40\udc41"#),
        ("\"\\\r\n\t\0", #"\"\\\r\n\t\u0000"#), ("\u{FEFF}\u{AD}", #"\ufeff\u00ad"#),
    ])
    func `no text starts a new line or controls a terminal`(text: String, shown: String) throws {
        let members: [(inout JSONWriter) -> Void] = [
            { $0.member("name", text) }, { $0.member("name", utf8: text.utf8.span) },
            {
                $0.name("name")
                $0.string(text)
            },
            {
                $0.name("name")
                $0.value(.string(text))
            },
        ]
        for member in members {
            let written = object(member)
            #expect(String(decoding: written, as: UTF8.self) == "{\"name\":\"\(shown)\"}")
            #expect(try JSONValue.parse(written)["name"] == .string(text))
        }
        let named = object {
            $0.name(text)
            $0.null()
        }
        #expect(String(decoding: named, as: UTF8.self) == "{\"\(shown)\":null}")
    }

    @Test func `only quotes, backslashes and control characters are escaped`() {
        for byte: UInt8 in 0..<0x80 {
            let text = String(UnicodeScalar(byte))
            let isPlain = byte >= 0x20 && byte != 0x7F && text != "\"" && text != "\\"
            let written = object { $0.member("name", text) }
            #expect((written == Array("{\"name\":\"\(text)\"}".utf8)) == isPlain, "\(byte)")
        }
    }

    @Test(arguments: [0, 9, 10, -1, -10, 1_769_851_800_200, .max, .min] as [Int64])
    func `an integer is written with all its digits`(value: Int64) {
        let text = "{\"name\":\(value)}"
        #expect(object { $0.member("name", value) } == Array(text.utf8))
        let inPieces = object {
            $0.name("name")
            $0.integer(value)
        }
        #expect(inPieces == Array(text.utf8))
    }

    @Test func `members are separated by commas`() {
        let written = object {
            $0.member("a", nil)
            $0.member("b", plain: "x")
            $0.member("c", plain: nil)
            $0.member("d", plain: [UInt8](repeating: UInt8(ascii: "y"), count: 2).span)
            $0.member("e", 1)
            $0.name(plain: "f")
            $0.raw(utf8: Array("[]".utf8).span)
            $0.name(plain: "g")
            $0.beginArray()
            $0.string("")
            $0.bool(true)
            $0.endArray()
        }
        let text = #"{"a":null,"b":"x","c":null,"d":"yy","e":1,"f":[],"g":["",true]}"#
        #expect(String(decoding: written, as: UTF8.self) == text)
    }

    @Test func `output is appended to the buffer's contents`() {
        var writer = JSONWriter(buffer: Array("log: ".utf8))
        writer.beginObject()
        writer.endObject()
        #expect(writer.bytes == Array("log: {}".utf8))
    }
}
