/// A shipped schema, compiled into the binary so that it needs no file beside it.
public struct EmbeddedSchema: Hashable, Sendable {
    /// The stem of its file in `schemas/`.
    public let name: String
    /// The file's text, without the last line end.
    public let text: String

    /// Every shipped schema.
    public static let all: [EmbeddedSchema] = [
        .notificationEventV1, .broadcastEventV1, .notificationOutcomeV1, .tokenStatusV1,
        .apsPayloadV1,
    ]

    /// The schema, ready to validate; traps if the shipped text is broken, which a test rules out.
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

    /// Two schemas for the same values, ready to validate one after the other.
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
