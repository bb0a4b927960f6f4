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
        // The content in use is not a change.
        (["old", "old"], []),
        // Two equal reads report it once.
        (["new", "new", "new"], ["new"]),
        // A half-finished swap is skipped.
        (["half", "new", "new"], ["new"]),
        (["new", "old", "new", "new"], ["new"]),
        // A change and its reversal.
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
