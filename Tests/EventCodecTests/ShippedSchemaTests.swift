import APNsRules
public import EventCodec
import Foundation
import JSON
import JSONSchema
public import Testing
import Vocabulary

/// An example in `schemas/examples/`, where `violations.json` lists the violation of each invalid
/// one.
struct SchemaExample: Sendable, CustomTestStringConvertible {
    let name: String
    let text: [UInt8]
    /// Nil if the example is valid.
    let expected: Violation?

    var testDescription: String { name }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every file in the folder, sorted by name.
    static func all(of schema: EmbeddedSchema, _ folder: String) throws -> [SchemaExample] {
        let place = root.appending(path: "schemas/examples/\(schema.name)")
        let files = try FileManager.default.contentsOfDirectory(
            at: place.appending(path: folder),
            includingPropertiesForKeys: nil
        )
        let table = try JSONValue.parse(
            Array(Data(contentsOf: place.appending(path: "violations.json")))
        )
        return try files.sorted { $0.path < $1.path }.map { file in
            let name = file.lastPathComponent
            let text = try Array(Data(contentsOf: file))
            guard folder == "invalid" else {
                return SchemaExample(name: name, text: text, expected: nil)
            }
            let row: JSONValue? = table[name]
            let expected = try Violation(
                instanceLocation: #require(row?["instance_location"]?.string, "\(name)"),
                keywordLocation: #require(row?["keyword_location"]?.string, "\(name)"),
                message: ""
            )
            return SchemaExample(name: name, text: text, expected: expected)
        }
    }

    /// The names in `violations.json`.
    static func rows(of schema: EmbeddedSchema) throws -> [String] {
        let place = root.appending(path: "schemas/examples/\(schema.name)/violations.json")
        let table = try JSONValue.parse(Array(Data(contentsOf: place)))
        return try #require(table.object).members.map(\.name).sorted()
    }
}

extension EmbeddedSchema: CustomTestStringConvertible {
    public var testDescription: String { name }
}

@Suite struct ShippedSchemaTests {
    /// The violations, after checking that both validators agree.
    private func violations(_ schema: Schema, _ text: [UInt8]) throws -> [Violation] {
        var document = JSONDocument()
        try document.parse(text)
        let violations = schema.findings(in: document, document.root).map { Violation($0) }
        let isAdmitted = schema.admits(document, document.root)
        #expect(isAdmitted == violations.isEmpty)
        return violations
    }

    @Test(arguments: EmbeddedSchema.all)
    func `every valid example is valid`(embedded: EmbeddedSchema) throws {
        let schema = embedded.compiled()
        let examples = try SchemaExample.all(of: embedded, "valid")
        #expect(examples.count >= 5)
        for example in examples {
            #expect(try violations(schema, example.text) == [], "\(example.name)")
        }
    }

    @Test(arguments: EmbeddedSchema.all)
    func `every invalid example breaks exactly the rule in its row`(
        embedded: EmbeddedSchema
    ) throws {
        let schema = embedded.compiled()
        let examples = try SchemaExample.all(of: embedded, "invalid")
        #expect(examples.map(\.name) == (try SchemaExample.rows(of: embedded)))
        for example in examples {
            let expected = try #require(example.expected)
            let found = try violations(schema, example.text)
            #expect(
                found.first?.instanceLocation == expected.instanceLocation,
                "\(example.name): \(found)"
            )
            #expect(
                found.first?.keywordLocation == expected.keywordLocation,
                "\(example.name): \(found)"
            )
            // The branches of an alternative explain it; no other violation is allowed.
            for other in found.dropFirst() {
                #expect(
                    other.keywordLocation.hasPrefix(expected.keywordLocation + "/"),
                    "\(example.name): \(found)"
                )
            }
        }
    }

    @Test func `each example event is valid or invalid according to its folder`() throws {
        for folder in ["valid", "invalid"] {
            for example in try SchemaExample.all(of: .notificationEventV1, folder) {
                var decoder = EventDecoder(payloadPolicy: .off)
                switch decoder.decode(EventText.record(example.text)) {
                case .event: #expect(folder == "valid", "\(example.name)")
                case .fanOut(let event, awaiting: _):
                    let isValid = event.recipients.invalidCount == 0
                    #expect(isValid == (folder == "valid"), "\(example.name)")
                case .invalid:
                    #expect(folder == "invalid", "\(example.name)")
                case .tombstone, .awaitingSchema, .unreadable:
                    Issue.record("\(example.name) is an event")
                }
            }
        }
    }

    /// Consumers use these examples in their tests.
    @Test func `every example outcome agrees with the reason tables`() throws {
        for example in try SchemaExample.all(of: .notificationOutcomeV1, "valid") {
            let value = try JSONValue.parse(example.text)
            func text(_ name: String) -> String? { value[name]?.string }
            let kind = try #require(text("outcome").flatMap(OutcomeKind.init))
            let action = try #require(text("token_action").flatMap(TokenAction.init))
            let reason = text("reason").map { Reason(recorded: $0) }
            var actions = OutcomeRules.tokenActions(of: kind)
            if text("decided_by") == "apns", case .integer(let status)? = value["http_status"] {
                let isBroadcast = text("channel_id") != nil
                let verdict = Verdict.classify(
                    status: Int(status),
                    reason: reason,
                    kind: isBroadcast ? .broadcast : .device
                )
                #expect(verdict.disposition.outcome == kind, "\(example.name)")
                actions = [verdict.tokenAction]
                if verdict.tokenAction != .keep { actions.insert(.hold) }
            } else {
                let reasons = OutcomeRules.reasons(of: kind)
                #expect(reason.map(reasons.contains) == true, "\(example.name)")
            }
            #expect(actions.contains(action), "\(example.name)")
        }
    }

    @Test func `every example token status agrees with the reason tables`() throws {
        for example in try SchemaExample.all(of: .tokenStatusV1, "valid") {
            let value = try JSONValue.parse(example.text)
            let reason = try #require(value["reason"]?.string.map { Reason(recorded: $0) })
            let verdicts = ReasonTable.rows.filter { $0.reason?.rawValue == reason.text }
            let verdict = try #require(verdicts.first?.verdict, "\(example.name)")
            let kind = try #require(verdict.disposition.outcome)
            #expect(value["status"]?.string == kind.tokenStatus(reason), "\(example.name)")
            let action = value["token_action"]?.string
            #expect(
                [verdict.tokenAction, .hold].contains { $0.rawValue == action },
                "\(example.name)"
            )
        }
    }

    /// Editors and generated documentation show only these.
    @Test(arguments: EmbeddedSchema.all)
    func `every top-level property has a title, a description and a type`(
        embedded: EmbeddedSchema
    ) throws {
        let schema = try JSONValue.parse(Array(embedded.text.utf8))
        #expect(schema["title"]?.string?.isEmpty == false)
        #expect(schema["description"]?.string?.isEmpty == false)
        #expect(schema["$id"]?.string?.hasPrefix("urn:heliograph:") == true)
        let properties =
            embedded == .apsPayloadV1
            ? schema["$defs"]?["aps"]?["properties"] : schema["properties"]
        for property in try #require(properties?.object).members {
            let value = property.value
            #expect(value["title"]?.string?.isEmpty == false, "\(property.name)")
            #expect(value["description"]?.string?.isEmpty == false, "\(property.name)")
            let rules = ["type", "enum", "const", "$ref"].compactMap { value[$0] }
            #expect(!rules.isEmpty, "\(property.name)")
        }
    }

    @Test(arguments: EmbeddedSchema.all)
    func `every example in a description is valid`(embedded: EmbeddedSchema) throws {
        let schema = try JSONValue.parse(Array(embedded.text.utf8))
        for property in schema["properties"]?.object?.members ?? [] {
            for example in property.value["examples"]?.array ?? [] {
                var writer = JSONWriter()
                writer.beginObject()
                writer.name(property.name)
                writer.value(example)
                writer.endObject()
                let compiled = embedded.compiled()
                let found = try violations(compiled, writer.bytes)
                // Rules across several properties do not apply to one alone.
                let own = found.filter { $0.keywordLocation.hasPrefix("/properties/") }
                #expect(own == [], "\(property.name)")
            }
        }
    }
}
