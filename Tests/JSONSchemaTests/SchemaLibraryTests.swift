import CFiles
import Foundation
import JSON
import JSONSchema
import Testing

@Suite struct SchemaLibraryTests {
    private func admits(_ schema: Schema, _ text: String) throws -> Bool {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        return schema.admits(document, document.root)
    }

    private func library(_ documents: [(uri: String, text: String)]) throws -> SchemaLibrary {
        var library = SchemaLibrary()
        for (uri, text) in documents { try library.add(Array(text.utf8), baseURI: uri) }
        return library
    }

    @Test(arguments: [
        "https://example.com/a/number.json", "number.json", "/a/number.json", "./x/../number.json",
        "//example.com/a/number.json", "urn:example:number", "urn:example:number#/$defs/inner",
        "number.json#inner", "folder/inner.json",
    ])
    func `a document is found by its base URI and by its own identifier`(reference: String) throws {
        let library = try library([
            (
                "https://example.com/a/number.json",
                #"{"$id":"urn:example:number","type":"number","$defs":{"inner":{"$anchor":"inner","type":"number"},"other":{"$id":"https://example.com/a/folder/inner.json","type":"number"}}}"#
            )
        ])
        let text = #"{"$id":"https://example.com/a/main.json","$ref":"\#(reference)"}"#
        let schema = try Schema(text: Array(text.utf8), library: library)
        #expect(try admits(schema, "1"))
        #expect(try !admits(schema, "\"1\""))
    }

    @Test(arguments: [
        ("address.json", "{}", "address.json"),
        (
            "address.json", #"{"$id":"https://example.com/a/order.json"}"#,
            "https://example.com/a/address.json"
        ),
        ("address.json", #"{"$id":"order.json"}"#, "address.json"),
        (
            "urn:example:address", #"{"$id":"https://example.com/order.json"}"#,
            "urn:example:address"
        ),
        ("address.json", "true", "address.json"),
    ])
    func `a name is a reference relative to the schema's own identifier`(
        name: String,
        schema: String,
        uri: String
    ) throws {
        #expect(try SchemaLibrary.uris(of: [name], referredToBy: Array(schema.utf8)) == [uri])
    }

    @Test func `an unresolved reference is reported with the known documents`() throws {
        let library = try library([("https://example.com/known", "true")])
        let text = #"{"items":{"$ref":"https://example.com/unknown"}}"#
        let error = #expect(throws: SchemaError.self) {
            _ = try Schema(text: Array(text.utf8), library: library)
        }
        #expect(error?.pointer == "/items/$ref")
        #expect(error?.message.contains("https://example.com/unknown") == true)
        #expect(error?.message.contains("https://example.com/known") == true)
    }

    @Test func `an error in another document is reported with that document's URI`() throws {
        let library = try library([
            ("https://example.com/bad", #"{"$defs":{"a":{"minLength":"1"}}}"#)
        ])
        let text = ##"{"$ref":"https://example.com/bad#/$defs/a"}"##
        let error = #expect(throws: SchemaError.self) {
            _ = try Schema(text: Array(text.utf8), library: library)
        }
        #expect(error?.document == "https://example.com/bad")
        #expect(error?.pointer == "/$defs/a/minLength")
        #expect("\(try #require(error))".hasPrefix("https://example.com/bad#/$defs/a/minLength: "))
        // Nothing refers to the document, so its error does not matter.
        _ = try Schema(text: Array("true".utf8), library: library)
    }

    @Test func `a URI belongs to one document`() throws {
        var library = try library([("https://example.com/a", #"{"$id":"https://example.com/b"}"#)])
        for uri in ["https://example.com/a", "https://example.com/b"] {
            #expect(throws: SchemaError.self) { try library.add(Array("true".utf8), baseURI: uri) }
        }
        #expect(throws: SchemaError.self) { try library.add(Array("{".utf8), baseURI: "x:y") }
        let error = #expect(throws: SchemaError.self) {
            _ = try Schema(text: Array(#"{"$ref":"x:y"}"#.utf8), library: library)
        }
        #expect(try #require(error).message.hasSuffix("known: https://example.com/a"))
        // A schema in the library can also be compiled itself.
        let text = ##"{"$id":"https://example.com/b","type":"object","items":{"$ref":"b"}}"##
        let schema = try Schema(text: Array(text.utf8), library: library)
        #expect(try !admits(schema, "[]"))
    }

    @Test func `the draft decides what a keyword means`() throws {
        let text = #"{"items":[{"type":"string"}],"additionalItems":false}"#
        let old = try Schema(
            text: Array(text.utf8),
            options: SchemaOptions(defaultDraft: .draft7)
        )
        #expect(try admits(old, "[\"a\"]"))
        #expect(try !admits(old, "[1]"))
        #expect(try !admits(old, "[\"a\",1]"))
        #expect(throws: SchemaError.self) { _ = try Schema(text: Array(text.utf8)) }
        let named = #"{"$schema":"http://json-schema.org/draft-07/schema#",\#(text.dropFirst())"#
        #expect(try !admits(try Schema(text: Array(named.utf8)), "[1]"))
    }

    @Test func `each embedded metaschema equals its file`() throws {
        let folder = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/CFiles/Metaschemas")
        let files = try FileManager.default.contentsOfDirectory(
            at: folder,
            includingPropertiesForKeys: nil
        )
        #expect(files.count == 10)
        for file in files {
            let bytes = try Array(Data(contentsOf: file))
            let uri = try #require(try JSONValue.parse(bytes)["$id"]?.string)
            // SAFETY: the text ends with a NUL and is never freed.
            let text = unsafe String(cString: hg_file_text(uri.replacing("#", with: "")))
            #expect(Array(text.utf8) == bytes, "\(file.lastPathComponent)")
        }
    }

    @Test(arguments: [
        ("https://json-schema.org/draft/2020-12/schema", #"{"minLength":-1}"#),
        ("https://json-schema.org/draft/2020-12/schema", #"{"properties":{"a":{"type":"text"}}}"#),
        ("http://json-schema.org/draft-07/schema#", #"{"items":{"required":"a"}}"#),
    ])
    func `the metaschemas are built in`(uri: String, wrong: String) throws {
        let schema = try Schema(text: Array(#"{"$ref":"\#(uri)"}"#.utf8))
        #expect(try !admits(schema, wrong))
        #expect(try admits(schema, #"{"type":"object","properties":{"a":{"minLength":1}}}"#))
    }

    @Test func `a metaschema's vocabularies decide what is enforced`() throws {
        let metaschema =
            #"{"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,"#
            + #""https://json-schema.org/draft/2020-12/vocab/format-assertion":true,"#
            + #""https://example.com/vocab":\#("%")}}"#
        let text = #"{"$schema":"https://example.com/meta","format":"ipv4","minLength":99}"#
        let optional = try library([
            ("https://example.com/meta", metaschema.replacing("%", with: "false"))
        ])
        let schema = try Schema(text: Array(text.utf8), library: optional)
        #expect(try admits(schema, "\"127.0.0.1\""))
        #expect(try !admits(schema, "\"localhost\""))
        let needed = try library([
            ("https://example.com/meta", metaschema.replacing("%", with: "true"))
        ])
        let error = #expect(throws: SchemaError.self) {
            _ = try Schema(text: Array(text.utf8), library: needed)
        }
        #expect(error?.pointer == "/$schema")
    }

    @Test func `a chain of schemas for one value has a length limit`() throws {
        func text(_ count: Int) -> String {
            let links = (0..<count).map { ##""d\##($0)":{"$ref":"#/$defs/d\##($0 + 1)"}"## }
            return
                ##"{"$ref":"#/$defs/d0","$defs":{\##(links.joined(separator: ",")),"d\##(count)":true}}"##
        }
        _ = try Schema(text: Array(text(97).utf8))
        #expect(throws: SchemaError.self) { _ = try Schema(text: Array(text(200).utf8)) }
    }
}
