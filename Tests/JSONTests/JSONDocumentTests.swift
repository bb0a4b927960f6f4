import JSON
import Testing

@Suite struct JSONDocumentTests {
    @Test(arguments: [
        ("", JSONError.Kind.empty, nil), (" \n", .empty, nil), ("{\"a\":}", .unexpectedToken, 5),
        ("{\"a\":1", .unexpectedToken, 6), ("{} x", .trailingContent, 3),
        ("[1,]", .unexpectedToken, 3), ("{,}", .unexpectedToken, 1), ("01", .invalidNumber, 0),
        ("[1.]", .invalidNumber, 1), ("[1e+]", .invalidNumber, 1), ("-", .invalidNumber, 0),
        ("[+1]", .unexpectedToken, 1), ("truex", .unexpectedToken, 0),
        ("\"abc", .unclosedString, nil), ("[\"a\"b]", .unexpectedToken, 4),
        ("[\"\\x\"]", .invalidEscape, 1), ("[\"\\ud800\"]", .invalidEscape, 1),
        ("[\"\\udc00\"]", .invalidEscape, 1), ("[\"\u{1}\"]", .controlCharacter, nil),
        ("{1:2}", .unexpectedToken, 1), ("{\"a\" 1}", .unexpectedToken, 5),
        ("]", .unexpectedToken, 0),
        ("[1 2]", .unexpectedToken, 3), ("{\"a\":1]", .unexpectedToken, 6),
    ])
    func `a text that is not JSON is rejected with the position`(
        text: String,
        kind: JSONError.Kind,
        offset: Int?
    ) {
        var document = JSONDocument()
        #expect(throws: JSONError(kind: kind, offset: offset)) {
            try document.parse(Array(text.utf8))
        }
    }

    @Test(
        arguments: [
            ([0x22, 0xFF, 0x22], 1), ([0x22, 0xC0, 0x80, 0x22], 1),
            ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
            ([0x5B, 0x22, 0xF4, 0x90, 0x80, 0x80, 0x22, 0x5D], 2),
        ] as [([UInt8], Int)]
    )
    func `bytes that are not UTF-8 are rejected with their position`(bytes: [UInt8], offset: Int) {
        var document = JSONDocument()
        #expect(throws: JSONError(kind: .invalidUTF8, offset: offset)) {
            try document.parse(bytes)
        }
    }

    @Test func `every value has its exact bytes in the source`() throws {
        let text = #" { "a" : [ 1 , -2.5e3, "x\"y" ] , "b":{ }, "c" :true , "d": null } "#
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        var cursor = document.children(of: document.root)
        var slices: [String] = []
        while let (name, value) = document.nextMember(&cursor) {
            slices.append(document.string(name) ?? "")
            slices.append(String(decoding: document.source[value.range], as: UTF8.self))
        }
        #expect(
            slices == ["a", #"[ 1 , -2.5e3, "x\"y" ]"#, "b", "{ }", "c", "true", "d", "null"]
        )
    }

    @Test func `depth is accepted up to the limit`() throws {
        var document = JSONDocument(limits: JSONLimits(maxDepth: 64))
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: 0x5B, count: depth) + Array(repeating: 0x5D, count: depth)
        }
        try document.parse(nested(64))
        #expect(throws: JSONError(kind: .tooDeep, offset: 64)) { try document.parse(nested(65)) }
    }

    @Test func `size is accepted up to the limit`() throws {
        var document = JSONDocument(limits: JSONLimits(maxByteCount: 10))
        try document.parse(Array("[1234567 ]".utf8))
        #expect(throws: JSONError(kind: .tooLarge, offset: nil)) {
            try document.parse(Array("[12345678 ]".utf8))
        }
    }

    @Test func `a number of a million digits is read safely`() throws {
        var document = JSONDocument(limits: JSONLimits(maxByteCount: 2_000_000))
        try document.parse(Array(repeating: UInt8(ascii: "9"), count: 1_000_000))
        let root = document.root
        let integer = document.integer(root)
        let double = document.double(root)
        #expect(root.kind == .integer)
        #expect(integer == nil)
        #expect(double == .infinity)
    }

    @Test(
        arguments: [
            ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min),
            ("9223372036854775808", nil), ("-0", 0), ("1.0", 1), ("1e3", 1000), ("1.5", nil),
            ("true", nil),
        ] as [(String, Int64?)]
    )
    func `integers are exact or nil`(text: String, value: Int64?) throws {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        let integer = document.integer(document.root)
        #expect(integer == value)
    }

    @Test func `a name is found with and without escapes`() throws {
        var document = JSONDocument()
        try document.parse(Array(#"{"device\u005ftoken":"\ud83d\ude00\n"}"#.utf8))
        let found = document.member(of: document.root, named: JSONName("device_token"))
        let node = try #require(found)
        let text = document.string(node)
        #expect(text == "😀\n")
    }

    @Test func `a pointer escapes its tokens`() throws {
        var document = JSONDocument()
        try document.parse(Array(#"{"a/b":[0,{"~":1}]}"#.utf8))
        var cursor = document.children(of: document.root)
        let member = document.nextMember(&cursor)
        let list = try #require(member).value
        cursor = document.children(of: list)
        _ = document.nextItem(&cursor)
        let item = document.nextItem(&cursor)
        let object = try #require(item)
        let found = document.member(of: object, named: JSONName("~"))
        let leaf = try #require(found)
        let pointer = document.pointer(to: leaf)
        #expect(pointer == "/a~1b/1/~0")
    }

    @Test func `the writer's output reads back the same`() throws {
        let text = #"{"b":[1,-2.5,"\u0001\"\\\n","é",true,false,null,{}],"a":{"x":[]}}"#
        let value = try JSONValue.parse(Array(text.utf8))
        var writer = JSONWriter()
        writer.value(value)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
    }

    @Test func `a tree rejects a duplicate name`() {
        #expect(throws: JSONError(kind: .duplicateName, offset: 7)) {
            try JSONValue.parse(Array(#"{"a":1,"a":2}"#.utf8))
        }
    }

    @Test func `a name of any length is found, with and without escapes`() throws {
        var document = JSONDocument()
        for length in 0...140 {
            let name = (0..<length).map { String(UnicodeScalar(UInt8(97 + $0 % 26))) }.joined()
            let escaped = name.replacing("m", with: "\\u006d")
            let middle =
                name.isEmpty
                ? "" : String(name.prefix(length / 2)) + "_" + name.dropFirst(length / 2 + 1)
            for text in ["{\"\(name)\":1}", "{\"\(escaped)\":1}"] {
                try document.parse(Array(text.utf8))
                #expect(document.member(of: document.root, named: JSONName(name)) != nil, "\(text)")
                let other = document.member(of: document.root, named: JSONName(middle))
                #expect((other == nil) == (middle != name), "\(text)")
            }
        }
    }

    /// These names collide under a hash without a secret key.
    @Test(arguments: [
        ("6efda69", "4a81f8c"), ("a06f1c4-", "8b690d5-"), ("66ca8b2-nam", "17f236f-nam"),
        ("a-name-of-n435e", "a-name-of-nf097"), ("2a6df6d-name-of-", "bf5d2bb-name-of-"),
        ("ff0fcf0-name-of-s", "7160b2e-name-of-s"),
    ])
    func `nobody can choose names with the same hash`(name: String, other: String) {
        #expect(JSONName(name).contentHash != JSONName(other).contentHash)
    }

    /// A key that everybody can read would still let producers choose such names.
    @Test func `the key of the hash is new in each process`() async throws {
        let other = await #expect(
            processExitsWith: .success,
            observing: [\.standardOutputContent]
        ) {
            print("hash \(JSONName("a name").contentHash) of another process")
        }
        let text = String(decoding: try #require(other).standardOutputContent, as: UTF8.self)
        #expect(text.contains("of another process"))
        #expect(!text.contains("hash \(JSONName("a name").contentHash) of"))
    }

    @Test(arguments: [1, 7, 8, 14, 28, 29, 40, 1000])
    func `every byte of a name affects its hash`(length: Int) {
        let name = [UInt8](repeating: UInt8(ascii: "a"), count: length)
        var hashes: Set<UInt32> = [JSONName(String(decoding: name, as: UTF8.self)).contentHash]
        for position in name.indices {
            var other = name
            other[position] = UInt8(ascii: "b")
            hashes.insert(JSONName(String(decoding: other, as: UTF8.self)).contentHash)
        }
        // Of half a million pairs, two are equal in one of 8,600 processes: the hash has 32 bits.
        #expect(hashes.count >= length + 1 - length / 1000)
    }

    @Test func `trailing zeros of a name affect its hash`() {
        let names = (0..<40).map { String(repeating: "\0", count: $0) }
        #expect(Set(names.map { JSONName($0).contentHash }).count == names.count)
    }

    /// With this many names, two have the same hash under any key.
    @Test func `names with the same hash are distinguished`() throws {
        var known: [UInt32: Int] = [:]
        var found: (name: String, other: String)?
        for number in 0..<1_000_000 where found == nil {
            let earlier = known.updateValue(number, forKey: JSONName("n\(number)").contentHash)
            found = earlier.map { ("n\(number)", "n\($0)") }
        }
        let (name, other) = try #require(found)
        var document = JSONDocument()
        try document.parse(Array("{\"\(name)\":[\"\(name)\",\"\(other)\"]}".utf8))
        let items = try #require(document.member(of: document.root, named: JSONName(name)))
        let isUnique = document.hasUniqueItems(items)
        #expect(isUnique)
        #expect(document.member(of: document.root, named: JSONName(other)) == nil)
    }

    @Test func `a copy keeps its document when the original parses another`() throws {
        var document = JSONDocument()
        try document.parse(Array(#"{"a":["first"]}"#.utf8))
        let copy = document
        try document.parse(Array(#"[1,2,3]"#.utf8))
        let first = try #require(copy.member(of: copy.root, named: JSONName("a")))
        var cursor = copy.children(of: first)
        #expect(copy.nextItem(&cursor).flatMap { copy.string($0) } == "first")
        #expect(document.root.count == 3)
    }
}
