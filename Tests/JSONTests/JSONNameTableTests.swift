import JSON
import Testing

/// Finds many names in an object at once, or leaves the search to the caller.
@Suite struct JSONNameTableTests {
    private static let names = ["id", "push_type", "a name of more than 32 bytes, for its hash"]

    /// The texts of the values found, by the position of the name.
    private func found(in text: String) throws -> [Int: String]? {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        var places = [UInt32](repeating: 0, count: 8)
        var span = places.mutableSpan
        let table = JSONNameTable(Self.names)
        guard let bits = document.findMembers(of: document.root, in: table, &span, from: 2)
        else { return nil }
        var texts: [Int: String] = [:]
        var cursor = document.children(of: document.root)
        while let (_, value) = document.nextMember(&cursor) {
            for position in Self.names.indices
            where bits >> UInt64(position) & 1 == 1 && places[2 + position] == value.index {
                texts[position] = String(decoding: document.source[value.range], as: UTF8.self)
            }
        }
        #expect(texts.count == bits.nonzeroBitCount)
        return texts
    }

    @Test(
        arguments: [
            ("{}", [:]), (#"{"stranger":1,"i":2,"idd":3}"#, [:]), (#"{"id":1}"#, [0: "1"]),
            (#"{"x":{"id":1,"push_type":[]},"push_type":"a"}"#, [1: #""a""#]),
            (
                #"{"push_type":[[],{}],"x":[{"id":0}],"id":{"id":2}}"#,
                [0: #"{"id":2}"#, 1: "[[],{}]"]
            ),
            (#"{"a name of more than 32 bytes, for its hash":null}"#, [2: "null"]),
            // The same length, and the same first and last bytes.
            (#"{"a name of more than 33 bytes, for its hash":null}"#, [:]),
            (#"{"\u0078":1,"id":2}"#, [0: "2"]),
        ] as [(String, [Int: String])]
    )
    func `names are found at their positions`(text: String, expected: [Int: String]) throws {
        #expect(try found(in: text) == expected)
    }

    @Test(arguments: [
        #"{"id":1,"id":1}"#, #"{"\u0069d":1}"#, #"{"id":1,"\u0069d":1}"#, "[]", #""id""#, "1",
    ])
    func `an object that is not simple enough is left to the caller`(text: String) throws {
        #expect(try found(in: text) == nil)
    }

    @Test func `a node of another document reads nothing beyond its own`() throws {
        var document = JSONDocument()
        try document.parse(Array(#"{"a":[1,2,3],"b":{"id":1,"x":[]}}"#.utf8))
        var cursor = document.children(of: document.root)
        var nodes = [document.root]
        while let (name, value) = document.nextMember(&cursor) { nodes += [name, value] }
        let table = JSONNameTable(Self.names)
        var places = [UInt32](repeating: 0, count: 8)
        for text in ["[]", #"{"id":1}"#, #"{"x":{"x":{"x":{}}}}"#, #"["a","b",{},"c"]"#] {
            try document.parse(Array(text.utf8))
            for node in nodes {
                var span = places.mutableSpan
                _ = document.findMembers(of: node, in: table, &span, from: 0)
            }
            #expect(places.allSatisfy { $0 < text.utf8.count })
        }
    }
}
