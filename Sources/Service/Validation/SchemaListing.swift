import EventSchema
import JSON
import Vocabulary

extension Configuration {
    /// What `heliograph check --schemas` prints: every schema that is loaded, and what for.
    ///
    /// Says nothing of what is wrong; `checkCredentials` and its kin do.
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
        switch schema {
        case .notificationEventV1: "every event"
        case .apsPayloadV1: "every event's payload (schemas.payload: \(schemas.payload.rawValue))"
        case .notificationOutcomeV1: "records of \(results.topic.name)"
        case .tokenStatusV1: results.tokenStatusTopic.map { "records of \($0.name)" } ?? "nothing"
        default: "nothing"
        }
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

/// One schema, as people want to see it.
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
        """
        \(name)
          title:    \(title ?? "-")
          $id:      \(id ?? "-")
          from:     \(place)
          used for: \(uses.isEmpty ? "nothing but references" : uses.joined(separator: ", "))
        """
    }
}
