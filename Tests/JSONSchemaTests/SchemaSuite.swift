import Foundation
import JSON
import JSONSchema

/// The official JSON-Schema-Test-Suite, in a folder that `scripts/fetch-schema-suite` fills.
struct SchemaSuite {
    static let variable = "HELIOGRAPH_SCHEMA_SUITE"

    /// The folder, if the environment names one.
    static var folder: URL? {
        guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else {
            return nil
        }
        return URL(filePath: path, directoryHint: .isDirectory)
    }

    /// One schema and the values to check against it.
    struct Group {
        let file: String
        let name: String
        let schema: [UInt8]
        let cases: [Case]
    }

    struct Case {
        let name: String
        let value: [UInt8]
        let isValid: Bool
    }

    /// Why a folder is not a suite.
    struct Missing: Error, CustomStringConvertible {
        let path: String
        var description: String {
            "\(SchemaSuite.variable): there is no test suite at \(path); "
                + "run scripts/fetch-schema-suite"
        }
    }

    let root: URL

    init(folder: URL) throws {
        root = folder
        for needed in ["tests/draft2020-12", "tests/draft7", "remotes"] {
            let place = folder.appending(path: needed)
            guard FileManager.default.fileExists(atPath: place.path(percentEncoded: false)) else {
                throw Missing(path: place.path(percentEncoded: false))
            }
        }
    }

    /// The groups of all files directly in a folder, such as `draft7/optional`.
    func groups(in folder: String) throws -> [Group] {
        let place = root.appending(path: "tests/\(folder)")
        let files = try FileManager.default.contentsOfDirectory(
            at: place,
            includingPropertiesForKeys: nil
        )
        let names = files.filter { $0.pathExtension == "json" }.map(\.lastPathComponent).sorted()
        return try names.flatMap { name in
            try Self.groups(of: Array(Data(contentsOf: place.appending(path: name))), file: name)
        }
    }

    private static func groups(of text: [UInt8], file: String) throws -> [Group] {
        var document = JSONDocument()
        try document.parse(text)
        var groups: [Group] = []
        var groupCursor = document.children(of: document.root)
        while let group = document.nextItem(&groupCursor) {
            groups.append(
                Group(
                    file: file,
                    name: Self.text(of: "description", in: group, document),
                    schema: Self.bytes(of: "schema", in: group, document),
                    cases: Self.cases(of: group, document)
                )
            )
        }
        return groups
    }

    private static func cases(
        of group: JSONNode,
        _ document: borrowing JSONDocument
    ) -> [Case] {
        guard let tests = document.member(of: group, named: JSONName("tests")) else { return [] }
        var cases: [Case] = []
        var cursor = document.children(of: tests)
        while let test = document.nextItem(&cursor) {
            cases.append(
                Case(
                    name: text(of: "description", in: test, document),
                    value: bytes(of: "data", in: test, document),
                    isValid: bytes(of: "valid", in: test, document) == Array("true".utf8)
                )
            )
        }
        return cases
    }

    private static func text(
        of name: String,
        in node: JSONNode,
        _ document: borrowing JSONDocument
    ) -> String {
        document.member(of: node, named: JSONName(name)).flatMap { document.string($0) } ?? ""
    }

    /// The bytes of a member as in the file, so that no number is rounded.
    private static func bytes(
        of name: String,
        in node: JSONNode,
        _ document: borrowing JSONDocument
    ) -> [UInt8] {
        guard let value = document.member(of: node, named: JSONName(name)) else { return [] }
        return Array(document.source[value.range])
    }

    /// The documents in `remotes`, under the addresses that the suite gives them.
    func library(defaultDraft: SchemaDraft) throws -> SchemaLibrary {
        var library = SchemaLibrary(defaultDraft: defaultDraft)
        let remotes = root.appending(path: "remotes", directoryHint: .isDirectory)
        let prefix = remotes.standardizedFileURL.path(percentEncoded: false)
        let files = FileManager.default.enumerator(at: remotes, includingPropertiesForKeys: nil)
        let paths = (files?.allObjects as? [URL] ?? [])
            .map { $0.standardizedFileURL.path(percentEncoded: false) }
            .filter { $0.hasSuffix(".json") }
        let unread = ["draft3/", "draft4/", "draft6/", "draft-next/"]
        for path in paths.sorted() {
            let name = String(path.dropFirst(prefix.count))
            guard !unread.contains(where: name.hasPrefix) else { continue }
            let text = try Data(contentsOf: URL(filePath: path))
            try library.add(Array(text), baseURI: "http://localhost:1234/\(name)")
        }
        return library
    }
}
