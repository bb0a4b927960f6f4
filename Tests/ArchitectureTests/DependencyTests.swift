import Foundation
import Testing

private let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// What a build takes from outside: the toolchain and Debian's libraries (decision 0027).
@Suite struct DependencyTests {
    @Test func `the manifest names no package from outside`() throws {
        let manifest = try String(
            contentsOf: root.appending(path: "Package.swift"),
            encoding: .utf8
        )
        #expect(!manifest.contains(".package("), "a Debian library is the way: CONTRIBUTING.md")
        #expect(!manifest.contains("product("), "a product of another package")
        let pinned = root.appending(path: "Package.resolved").path
        #expect(!FileManager.default.fileExists(atPath: pinned))
    }
}
