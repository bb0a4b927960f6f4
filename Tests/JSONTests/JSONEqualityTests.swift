import JSON
import Testing

@Suite struct JSONEqualityTests {
    @Test(arguments: [
        ("null", "null", true), ("null", "false", false), ("true", "true", true),
        ("1", "true", false),
        ("1", "1.0", true), ("1", "\"1\"", false), ("1e400", "1e401", false),
        ("1.5", "15e-1", true), ("0.0", "-0.0", true), ("1e400", "10e399", true),
        ("0.1", "0.10000000000000000001", false), ("1.5", "1.25", false),
        (#""é""#, #""\u00e9""#, true), (#""a""#, #""b""#, false), (#""é""#, "\"e\u{301}\"", false),
        ("[1,[2]]", "[1.0,[2]]", true), ("[1,2]", "[2,1]", false), ("[1]", "[1,1]", false),
        (#"{"a":1,"b":[2]}"#, #"{"b":[2],"a":1}"#, true), (#"{"a":1}"#, #"{"a":2}"#, false),
        (#"{"a":1}"#, #"{"b":1}"#, false), (#"{"a":1}"#, #"{"a":1,"b":1}"#, false),
        (#"{"a":{"c":1,"d":2},"b":3}"#, #"{"b":3,"\u0061":{"d":2,"c":1}}"#, true),
        ("{}", "[]", false),
        (#"{"a":1,"b":2}"#, #"{"b":1,"a":2}"#, false),
    ])
    func `values are compared as JSON Schema defines equality`(
        left: String,
        right: String,
        expected: Bool
    ) throws {
        var document = JSONDocument()
        try document.parse(Array("[\(left),\(right)]".utf8))
        var cursor = document.children(of: document.root)
        guard let first = document.nextItem(&cursor), let second = document.nextItem(&cursor) else {
            Issue.record("expected two items")
            return
        }
        let answers = [
            document.isEqual(first, second), document.isEqual(second, first),
            !document.hasUniqueItems(document.root),
        ]
        #expect(answers == [expected, expected, expected])
        // Among many others, the two are compared by hash.
        let others = (0..<40).map { "{\"other\":\($0)}" }.joined(separator: ",")
        try document.parse(Array("[\(left),\(others),\(right)]".utf8))
        let isUnique = document.hasUniqueItems(document.root)
        #expect(isUnique == !expected)
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":2}"#, nil), (#"{"a":1,"a":2}"#, "/a"), (#"{"a":1,"\u0061":2}"#, "/a"),
            (#"{"\u0061":1,"a":2}"#, "/a"), (#"{"\u0061":1,"\u0061":2}"#, "/a"),
            (#"{"":1,"":2}"#, "/"), (#"{"a":{"b":1},"c":{"b":1}}"#, nil),
            (#"{"a":"a","b":"a"}"#, nil), (#"{"a":{"a":{"a":1}}}"#, nil),
            (#"{"x":[0,{"y":{"a":1,"b":[],"a":{}}}]}"#, "/x/1/y/a"), (#"["a","a"]"#, nil),
            (#""a""#, nil), (#"{"a":{"b":1,"b":2},"a":1}"#, "/a"),
            // Names with different bytes differ, even if they look alike.
            ("{\"\u{e9}\":1,\"e\u{301}\":2}", nil), (#"{"é":1,"\u00e9":2}"#, "/é"),
            (#"{"a":1,"A":2}"#, nil), (#"{"\ud83d\ude00":1,"😀":2}"#, "/😀"),
        ] as [(String, String?)]
    )
    func `a duplicate name in an object is found`(text: String, place: String?) throws {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        let found = document.repeatedMember(in: document.root)
        #expect(found.map { document.pointer(to: $0) } == place)
        guard text.hasPrefix("{") else { return }
        // Among many others, the search works differently.
        let others = (0..<40).map { "\"other\($0)\":{}," }.joined()
        try document.parse(Array("{\(others)\(text.dropFirst())".utf8))
        let foundAmongMany = document.repeatedMember(in: document.root)
        #expect(foundAmongMany.map { document.pointer(to: $0) } == place)
    }

    /// They differ only in the middle, which some hashes skip.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func `many similar names are distinguished quickly`(isLastRepeated: Bool) throws {
        let count = 25_000
        let names = (0..<count).map { number in
            let middle = String(number + 100_000)
            return String(repeating: "a", count: 16) + middle + String(repeating: "b", count: 16)
        }
        let members = names + (isLastRepeated ? [names[0]] : [])
        let text = "{" + members.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        var document = JSONDocument(limits: JSONLimits(maxByteCount: 4 << 20))
        try document.parse(Array(text.utf8))
        let found = document.repeatedMember(in: document.root)
        #expect((found != nil) == isLastRepeated)
    }

    @Test func `a tree compares texts and names by their bytes`() throws {
        func tree(_ text: String) throws -> JSONValue { try .parse(Array(text.utf8)) }
        let both = try tree("{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(both["\u{e9}"] == .integer(1))
        #expect(both["e\u{301}"] == .integer(2))
        let reversed = try tree("{\"e\u{301}\":2,\"\u{e9}\":1}")
        #expect(both == reversed)
        #expect(both.hashValue == reversed.hashValue)
        #expect(try tree("{\"\u{e9}\":1}") != tree("{\"e\u{301}\":1}"))
        #expect(try tree("[\"\u{e9}\"]") != tree("[\"e\u{301}\"]"))
        #expect(try Set([tree("\"\u{e9}\""), tree("\"e\u{301}\""), tree("\"\u{e9}\"")]).count == 2)
        #expect(throws: JSONError.self) { try tree("{\"\u{e9}\":1,\"\u{e9}\":2}") }
    }

    /// All have the same hash, and no two are equal, so comparing them in pairs would be quadratic.
    @Test(arguments: [(2, true), (8, true), (40, false)])
    func `many objects with a duplicate name are not compared`(
        count: Int,
        expected: Bool
    ) throws {
        let items = (0..<count).map { item in
            "{" + (0..<40).map { "\"a\":\($0 == item)" }.joined(separator: ",") + "}"
        }
        let others = (0..<40).map { "\($0)" }
        var document = JSONDocument()
        try document.parse(Array("[\((items + others).joined(separator: ","))]".utf8))
        let isUnique = document.hasUniqueItems(document.root)
        #expect(isUnique == expected)
    }

    /// Comparing both orders at each level would take exponential time.
    @Test func `nested objects in different orders are compared once`() throws {
        var (left, right) = ("1", "1")
        for _ in 0..<60 {
            left = #"{"a":\#(left),"b":0,"c":0}"#
            right = #"{"a":\#(right),"c":0,"b":0}"#
        }
        var document = JSONDocument()
        try document.parse(Array("[\(left),\(right)]".utf8))
        let isUnique = document.hasUniqueItems(document.root)
        #expect(!isUnique)
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("~/", "~0~1"), ("~1", "~01"), ("é", "é"),
        // A mark that combines with the character before it.
        ("~\u{301}", "~0\u{301}"), ("a/\u{301}b", "a~1\u{301}b"),
    ])
    func `a name becomes a reference token and back`(name: String, token: String) {
        #expect(Array(JSONPointer.escaped(name).utf8) == Array(token.utf8))
        #expect(Array(JSONPointer.unescaped(token).utf8) == Array(name.utf8))
    }

    @Test func `a list of names finds members by their content`() throws {
        var names = JSONNameList()
        let short = names.append("a")
        let long = names.append("a rather long name, äöü")
        let empty = names.append("")
        var document = JSONDocument()
        try document.parse(Array(#"{"\u0061":1,"a rather long name, \u00e4öü":2,"b":3}"#.utf8))
        let found = [short, long, empty].map { position in
            document.member(of: document.root, named: position, in: names)
                .flatMap { document.integer($0) }
        }
        #expect(found == [1, 2, nil])
        #expect(names.text(long) == "a rather long name, äöü")
        #expect(names.count == 3)
    }
}
