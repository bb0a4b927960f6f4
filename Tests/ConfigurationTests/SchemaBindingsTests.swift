import Configuration
import Testing

@Suite struct SchemaBindingsTests {
    @Test func `a broken file hides no other file's problem, and causes no other`() throws {
        let files = SchemaFiles(
            texts: [
                "cut.json": Array("{".utf8), "good.json": Array("{}".utf8),
                "refers.json": Array(#"{"$ref": "cut.json"}"#.utf8),
                "type.json": Array(#"{"type": "objekt"}"#.utf8),
            ],
            unreadable: ["folder.json": .notRegular]
        )
        let bindings = SchemaBindings(try configuration(credentialYAML))
        let error = #expect(throws: SchemaProblems.self) {
            _ = try bindings.compile(files, in: "/s")
        }
        let starts = [
            "'/s/cut.json': ", "'/s/folder.json' is not a regular file; check the path",
            "'/s/type.json' at /type: ",
        ]
        let messages = error?.problems.map(\.message) ?? []
        #expect(messages.count == starts.count, "\(messages)")
        for (message, start) in zip(messages, starts) { #expect(message.hasPrefix(start)) }
    }
}
