import JSON
import Testing

@Suite struct JSONWriterTests {
    /// What the writer makes of the members that `write` writes.
    private func object(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return writer.bytes
    }

    @Test func `every character reads back the same, wherever it stands`() throws {
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

    @Test func `only quotes, backslashes and control characters are escaped`() {
        for byte: UInt8 in 0..<0x80 {
            let text = String(UnicodeScalar(byte))
            let isPlain = byte >= 0x20 && text != "\"" && text != "\\"
            let written = object { $0.member("name", text) }
            #expect((written == Array("{\"name\":\"\(text)\"}".utf8)) == isPlain, "\(byte)")
        }
    }

    @Test(arguments: [0, 9, 10, -1, -10, 1_769_851_800_200, .max, .min] as [Int64])
    func `an integer is written with all of its digits`(value: Int64) {
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

    @Test func `what a buffer held stands before what is written`() {
        var writer = JSONWriter(buffer: Array("log: ".utf8))
        writer.beginObject()
        writer.endObject()
        #expect(writer.bytes == Array("log: {}".utf8))
    }
}
