import JSON
import JSONSchema
import Testing

@Suite struct ItemSchemaTests {
    private static let schema = #"""
        {"properties": {
          "list": {"maxItems": 3, "items": {"type": "object", "required": ["a", "b", "c", "d"],
            "properties": {"a": {"type": "integer"}}}},
          "open": {"type": "array"}}}
        """#

    @Test func `an array apart is checked without its items, and each item on its own`() throws {
        let schema = try Schema(text: Array(Self.schema.utf8))
        let items = try #require(ItemSchema(schema, ofItemsIn: "list"))
        var document = JSONDocument()
        let text = #"{"data":{"list":[{"a":1,"b":2,"c":3,"d":4},{"a":"x","b":1,"c":1,"d":1},{}]}}"#
        try document.parse(Array(text.utf8))
        let root = try #require(document.member(of: document.root, named: JSONName("data")))
        let list = try #require(document.member(of: root, named: JSONName("list")))
        var check = SchemaCheck(document)
        #expect(!schema.admits(root, &check))
        check.arrayApart = list.index
        #expect(schema.admits(root, &check))
        var found: [[[String]]] = []
        var cursor = document.children(of: list)
        while let item = document.nextItem(&cursor) {
            guard !items.admits(item, &check) else {
                found.append([])
                continue
            }
            let place = "/data/list/\(found.count)"
            found.append(
                items.findings(of: item, at: place, refusedIn: &check).map {
                    [$0.instanceLocation, $0.keywordLocation, $0.message]
                }
            )
        }
        let place = "/properties/list/items"
        #expect(
            found == [
                [],
                [
                    [
                        "/data/list/1/a", "\(place)/properties/a/type",
                        "must be integer; found a string of 1 character",
                    ]
                ],
                [
                    ["/data/list/2", "\(place)/required", "'a' is missing"],
                    ["/data/list/2", "\(place)/required", "'b' is missing"],
                    ["/data/list/2", "", "2 further violations are left out"],
                ],
            ]
        )
    }

    @Test func `what else is wrong with the array is reported without its items`() throws {
        let schema = try Schema(text: Array(Self.schema.utf8))
        var document = JSONDocument()
        try document.parse(Array(#"{"list":[1,2,3,4],"open":1}"#.utf8))
        var check = SchemaCheck(document)
        check.arrayApart = try #require(document.member(of: document.root, named: JSONName("list")))
            .index
        #expect(!schema.admits(document.root, &check))
        let found = schema.findings(of: document.root, refusedIn: &check)
        #expect(found.map(\.instanceLocation) == ["/list", "/open"])
        #expect(found.first?.keywordLocation == "/properties/list/maxItems")
    }

    @Test(arguments: ["open", "other", ""])
    func `a property without a schema of items has none`(name: String) throws {
        let schema = try Schema(text: Array(Self.schema.utf8))
        let items = ItemSchema(schema, ofItemsIn: name)
        #expect(items == nil)
    }
}
