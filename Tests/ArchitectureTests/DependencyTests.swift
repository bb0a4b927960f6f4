import Foundation
import Testing

private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// A build's external inputs are the toolchain and Debian's libraries (decision 0027).
@Suite struct DependencyTests {
    @Test func `the manifest names no external package`() throws {
        let manifest = try String(
            contentsOf: root.appending(path: "Package.swift"),
            encoding: .utf8
        )
        #expect(
            !manifest.contains(".package("),
            "use a Debian library instead; see CONTRIBUTING.md"
        )
        #expect(!manifest.contains("product("), "a product of another package")
        let pinned = root.appending(path: "Package.resolved").path
        #expect(!FileManager.default.fileExists(atPath: pinned))
    }
}
