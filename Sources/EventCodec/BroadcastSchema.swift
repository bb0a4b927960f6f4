/// What a source of broadcasts is checked against; made once, where there is one.
///
/// Apple's rules for the payload are part of the schema, whatever `schemas.payload` says.
public struct BroadcastSchema: Sendable {
    let kind: EventKind

    public init() {
        kind = .broadcast(EmbeddedSchema.broadcastEventV1.compiled())
    }
}
