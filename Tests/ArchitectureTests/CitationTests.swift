import Foundation
import Testing

private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// The tests that documents cite.
@Suite struct CitationTests {
    /// The names of all files and folders in `Tests`.
    private static func namesOfTests() -> Set<String> {
        let folder = root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var names: Set<String> = []
        for case let file as URL in files ?? FileManager.DirectoryEnumerator() {
            names.insert(file.lastPathComponent)
        }
        return names
    }

    @Test(arguments: ["guarantees.md", "apns-coverage.md"])
    func `a test that a document cites exists`(document: String) throws {
        let text = try String(contentsOf: root.appending(path: "docs/\(document)"), encoding: .utf8)
        let known = Self.namesOfTests()
        var count = 0
        for line in text.split(separator: "\n") {
            // Every other piece is between backticks.
            let pieces = line.split(separator: "`", omittingEmptySubsequences: false)
            for quoted in stride(from: 1, to: pieces.count, by: 2).map({ pieces[$0] }) {
                let name = String(quoted.split(separator: "/").last ?? "")
                let isPython = name.hasPrefix("test_") && name.hasSuffix(".py")
                guard isPython || (name.hasSuffix("Tests") && name != "Tests") else { continue }
                count += 1
                let isKnown = known.contains(name) || known.contains(name + ".swift")
                #expect(isKnown, "\(document) cites \(name)")
            }
        }
        #expect(count > 20)
    }
}
