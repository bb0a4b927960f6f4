import Foundation
import Testing
import Tools

@Suite struct SchemaSourceTests {
    @Test(
        arguments: [
            ("schemas", nil, "schemas"),
            ("https://example.com/=schemas", "https://example.com/", "schemas"),
            ("urn:example:=a=b", "urn:example:", "a=b"), ("a=b", nil, "a=b"),
            ("./a:b=c", nil, "./a:b=c"), ("1x:=c", nil, "1x:=c"), ("x:=", "x:", ""),
        ] as [(String, String?, String)]
    )
    func `a folder argument may start with a base URI`(
        argument: String,
        baseURI: String?,
        path: String
    ) {
        let directory = SchemaSource.Directory(argument: argument)
        #expect(directory.baseURI == baseURI)
        #expect(directory.path == path)
    }

    /// Calls the body with a folder that contains these files, and then removes it.
    private func withFiles(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: file)
        }
        try body(folder.path(percentEncoded: false))
    }

    private func source(_ folder: String, _ file: String, base: String? = nil) -> SchemaSource {
        let argument = base.map { "\($0)=\(folder)" } ?? folder
        return SchemaSource(
            file: "\(folder)/\(file)",
            directories: [SchemaSource.Directory(argument: argument)],
            draft: .draft2020,
            assertsFormat: false
        )
    }

    private func verdict(_ checker: SchemaChecker, _ text: String) -> CheckedDocument.Verdict {
        checker.check(Array(text.utf8)).verdict
    }

    @Test func `a duplicate name matches no schema`() throws {
        try withFiles(["main.json": "{}"]) { folder in
            let checker = try source(folder, "main.json").checker()
            #expect(verdict(checker, #"{"a":{"b":1}}"#) == .valid)
            #expect(verdict(checker, #"{"a":{"b":1,"\u0062":1}}"#) == .invalid)
        }
    }

    @Test func `a reference is resolved across files`() throws {
        let main = #"{"$ref":"a%20b/%C3%BC.json"}"#
        try withFiles(["main.json": main, "a b/ü.json": #"{"type":"string"}"#]) { folder in
            let checker = try source(folder, "main.json").checker()
            #expect(verdict(checker, "\"a\"") == .valid)
            #expect(verdict(checker, "1") == .invalid)
        }
    }

    @Test func `a base URI replaces the folder in references`() throws {
        let main = #"{"$ref":"https://example.com/s/part.json"}"#
        try withFiles(["main.json": main, "part.json": #"{"type":"string"}"#]) { folder in
            let checker = try source(folder, "main.json", base: "https://example.com/s/").checker()
            #expect(verdict(checker, "1") == .invalid)
            #expect(throws: ValidationProblem.self) {
                _ = try source(folder, "main.json").checker()
            }
        }
    }

    @Test(arguments: [
        ("main.json", "{", "main.json"), ("main.json", #"{"type":"text"}"#, "/type"),
        ("main.json", ##"{"$ref":"#/$defs/a"}"##, "/$ref"), ("other.json", "true", "main.json"),
    ])
    func `an unusable schema is reported with its place`(
        name: String,
        text: String,
        word: String
    ) throws {
        try withFiles([name: text]) { folder in
            let error = #expect(throws: ValidationProblem.self) {
                _ = try source(folder, "main.json").checker()
            }
            #expect(error?.description.contains(word) == true, "\(error as Any)")
        }
    }

    @Test func `hidden files are skipped`() throws {
        let files = ["main.json": "true", "..data/main.json": "{", ".x.json": "{", "x.txt": "{"]
        try withFiles(files) { folder in
            let checker = try source(folder, "main.json").checker()
            #expect(verdict(checker, "1") == .valid)
        }
    }
}
