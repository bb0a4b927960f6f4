import Configuration
import Testing

@Suite struct DirectoryWatchTests {
    private static func reading(_ text: String) -> Result<SchemaFiles, SchemaProblems> {
        .success(SchemaFiles(texts: ["a.json": Array(text.utf8)]))
    }

    private static let broken = Result<SchemaFiles, SchemaProblems>.failure(
        SchemaProblems("is not readable")
    )

    @Test(arguments: [
        // What is in use is nothing new.
        (["old", "old"], []),
        // Twice the same, once.
        (["new", "new", "new"], ["new"]),
        // Half of a swap is passed over.
        (["half", "new", "new"], ["new"]),
        (["new", "old", "new", "new"], ["new"]),
        // There and back.
        (["new", "new", "old", "old"], ["new", "old"]),
        // Unreadable for longer than a moment.
        (["broken", "new", "new"], ["new"]),
        (["broken", "broken", "broken", "old", "old"], ["broken", "old"]),
    ])
    func `a change is used when two reads agree`(texts: [String], taken: [String]) {
        func reading(_ text: String) -> Result<SchemaFiles, SchemaProblems> {
            text == "broken" ? Self.broken : Self.reading(text)
        }
        var watch = DirectoryWatch(inUse: Self.reading("old"))
        let changes = texts.compactMap { watch.read(reading($0)) }
        #expect(changes == taken.map(reading))
    }
}
