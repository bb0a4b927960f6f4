import CFiles
public import JSONSchema

/// A shipped schema, embedded in the binary so that no file has to be deployed.
public struct EmbeddedSchema: Hashable, Sendable {
    /// The name of its file in `schemas/`, without `.schema.json`.
    public let name: String
    /// The file's text.
    public let text: String

    public static let notificationEventV1 = EmbeddedSchema("notification-event.v1")
    public static let broadcastEventV1 = EmbeddedSchema("broadcast-event.v1")
    public static let notificationOutcomeV1 = EmbeddedSchema("notification-outcome.v1")
    public static let tokenStatusV1 = EmbeddedSchema("token-status.v1")
    public static let campaignOrderV1 = EmbeddedSchema("campaign-order.v1")
    public static let campaignTallyV1 = EmbeddedSchema("campaign-tally.v1")
    public static let apsPayloadV1 = EmbeddedSchema("aps-payload.v1")

    /// Every shipped schema.
    public static let all: [EmbeddedSchema] = [
        .notificationEventV1, .broadcastEventV1, .notificationOutcomeV1, .tokenStatusV1,
        .campaignOrderV1, .campaignTallyV1, .apsPayloadV1,
    ]

    private init(_ name: String) {
        self.name = name
        // SAFETY: the text ends with a NUL, and is never freed.
        text = unsafe String(cString: hg_file_text("schemas/\(name).schema.json"))
    }

    /// The compiled schema; traps if the shipped text is invalid, which a test rules out.
    public func compiled() -> Schema {
        do {
            return try Schema(
                text: Array(text.utf8),
                options: SchemaOptions(assertsFormat: true)
            )
        } catch {
            preconditionFailure("the shipped schema \(name) is broken: \(error)")
        }
    }

    /// Compiles two schemas for the same values, to validate with one after the other.
    static func compiled(
        _ first: EmbeddedSchema,
        _ second: EmbeddedSchema
    ) -> (Schema, Schema) {
        do {
            let schemas = try Schema.compiled(
                together: [Array(first.text.utf8), Array(second.text.utf8)],
                options: SchemaOptions(assertsFormat: true)
            )
            return (schemas[0], schemas[1])
        } catch {
            preconditionFailure("a shipped schema is broken: \(error)")
        }
    }
}
