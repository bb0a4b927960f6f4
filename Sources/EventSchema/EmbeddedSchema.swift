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
}
