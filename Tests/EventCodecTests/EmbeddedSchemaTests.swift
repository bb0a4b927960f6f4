import EventCodec
import Foundation
import JSON
import JSONSchema
import Testing

@Suite struct EmbeddedSchemaTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `each embedded schema equals its file in schemas`() throws {
        for schema in EmbeddedSchema.all {
            let file = Self.root.appending(path: "schemas/\(schema.name).schema.json")
            #expect(try String(contentsOf: file, encoding: .utf8) == schema.text)
        }
        let folder = try FileManager.default.contentsOfDirectory(
            atPath: Self.root.appending(path: "schemas").path(percentEncoded: false)
        )
        #expect(folder.filter { $0.hasSuffix(".schema.json") }.count == EmbeddedSchema.all.count)
    }

    @Test(arguments: EmbeddedSchema.all)
    func `each schema admits its valid examples and rejects its invalid ones`(
        embedded: EmbeddedSchema
    ) throws {
        let schema = embedded.compiled()
        for (folder, expected) in [("valid", true), ("invalid", false)] {
            let place = Self.root.appending(path: "schemas/examples/\(embedded.name)/\(folder)")
            let files = try FileManager.default.contentsOfDirectory(
                at: place,
                includingPropertiesForKeys: nil
            )
            #expect(!files.isEmpty)
            for file in files {
                var document = JSONDocument()
                try document.parse(Array(Data(contentsOf: file)))
                let isAdmitted = schema.admits(document, document.root)
                let findings = schema.findings(in: document, document.root)
                #expect(isAdmitted == expected, "\(file.lastPathComponent): \(findings)")
                #expect(findings.isEmpty == expected)
            }
        }
    }

    @Test(arguments: EmbeddedSchema.all)
    func `each schema is valid against its metaschema`(embedded: EmbeddedSchema) throws {
        let text = #"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#
        let metaschema = try Schema(text: Array(text.utf8))
        var document = JSONDocument()
        try document.parse(Array(embedded.text.utf8))
        #expect(metaschema.admits(document, document.root))
    }
}
