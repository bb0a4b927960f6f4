import Configuration
import EventCodec
import JSON
import Log
import Vocabulary

extension Configuration {
    /// The text of `heliograph check --schemas`: every loaded schema and its use.
    ///
    /// It does not report problems; `checkCredentials` and similar functions do.
    package var schemaListing: String {
        let shipped = EmbeddedSchema.all.map { schema in
            SchemaDescription(
                name: schema.name,
                place: "shipped",
                text: Array(schema.text.utf8),
                uses: [shippedUse(of: schema)]
            )
        }
        return (shipped + ownSchemas()).map(\.text).joined(separator: "\n") + "\n"
    }

    private func shippedUse(of schema: EmbeddedSchema) -> String {
        let use: String? =
            switch schema {
            case .notificationEventV1: topics(of: .notification).map { "events from \($0)" }
            case .apsPayloadV1:
                topics(of: .notification).map {
                    "payloads from \($0) (schemas.payload: \(schemas.payload.rawValue))"
                }
            case .broadcastEventV1: topics(of: .broadcast).map { "broadcasts from \($0)" }
            case .notificationOutcomeV1: "records of \(results.topic.name)"
            case .tokenStatusV1: results.tokenStatusTopic.map { "records of \($0.name)" }
            case .campaignOrderV1: campaigns.topic.map { "records of \($0.name)" }
            case .campaignTallyV1: campaigns.tallyTopic.map { "records of \($0.name)" }
            default: nil
            }
        return use ?? "nothing"
    }

    /// The topics of the sources of one kind, in a list; nil if there are none.
    private func topics(of kind: SourceKind) -> String? {
        let names = sources.filter { $0.kind == kind }.map(\.topic.name)
        return names.isEmpty ? nil : names.joined(separator: ", ")
    }

    private func ownSchemas() -> [SchemaDescription] {
        guard let directory = schemas.directory,
            let files = try? SchemaFiles.read(directory)
        else { return [] }
        return files.texts.sorted { $0.key < $1.key }.map { file, text in
            let name = SchemaBindings.name(ofFile: file)
            return SchemaDescription(
                name: name,
                place: "\(directory)/\(file)",
                text: text,
                uses: uses(of: name)
            )
        }
    }

    private func uses(of name: String) -> [String] {
        let topics = sources.filter { $0.payloadSchema == name }
            .map { "payloads from \($0.topic.name)" }
        let apps = schemas.payloadSchemas.filter { $0.schema == name }
            .flatMap(\.bundleIDs).map { "payloads for \($0.description)" }
        return topics + apps
    }
}

/// One schema, described for people.
private struct SchemaDescription {
    let name: String
    let id: String?
    let title: String?
    let place: String
    let uses: [String]

    init(name: String, place: String, text: [UInt8], uses: [String]) {
        let root = try? JSONValue.parse(text, limits: JSONLimits(maxByteCount: 4 << 20))
        self.name = name
        self.place = place
        self.uses = uses
        id = root?["$id"]?.string
        title = root?["title"]?.string
    }

    var text: String {
        [
            name,
            "  title:    \(title ?? "-")",
            "  $id:      \(id ?? "-")",
            "  from:     \(place)",
            "  used for: \(uses.isEmpty ? "nothing but references" : uses.joined(separator: ", "))",
        ].map(\.printable).joined(separator: "\n")
    }
}
