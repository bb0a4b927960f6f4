import JSON
import JSONSchema
public import Vocabulary

/// What a source of broadcasts is checked against; made once, where there is one.
public struct BroadcastSchema: Sendable {
    fileprivate let schema: Schema

    public init() {
        schema = EmbeddedSchema.broadcastEventV1.compiled()
    }
}

extension EventDecoder {
    /// Decodes a record of a source of broadcasts; as `decode`, with another schema.
    ///
    /// Apple's rules for the payload are part of the schema, whatever `schemas.payload` says.
    ///
    /// - Parameters:
    ///   - record: The record; what its framing held besides the event is written into it.
    ///   - topic: The topic that it was read from.
    ///   - schema: The schema of broadcasts.
    /// - Returns: What the record is.
    public mutating func decodeBroadcast(
        _ record: inout Record,
        from topic: KafkaTopic,
        _ schema: BroadcastSchema
    ) -> DecodedRecord {
        framing = .plain
        record.decodedValue = nil
        record.traceContext = []
        guard let value = record.valueRange else { return .tombstone }
        do throws(FramingError) {
            let wrapped = try unwrap(&record, value)
            let decoded = decoded(wrapped, from: topic, schema.schema)
            guard wrapped.isShifted else { return decoded }
            return shifted(decoded, by: wrapped.offset, wrapped.occurredAt)
        } catch {
            framing = error.kind
            return refused(error)
        }
    }

    private mutating func decoded(
        _ wrapped: WrappedEvent,
        from topic: KafkaTopic,
        _ schema: Schema
    ) -> DecodedRecord {
        let fields = BroadcastFields(wrapped.root, check.document)
        if let repeated = fields.repeated {
            return invalid(fields, .malformedEvent, [twice(repeated)])
        }
        guard schema.admits(wrapped.root, &check), let event = event(fields),
            let payload = fields[.payload]
        else {
            let violations = violations(of: wrapped.root, refusedBy: schema)
            return invalid(fields, reason(for: violations, wrapped.root), violations)
        }
        let own = ownViolations(payload, of: event, from: topic)
        guard own.isEmpty else { return invalid(fields, .schemaViolation, own) }
        guard let reference = wrapped.schema, let registeredSchemas else { return .event(event) }
        guard let known = registeredSchemas[reference] else {
            return .awaitingSchema(event, reference)
        }
        let document = wrapped.envelope ?? check.document
        guard let problem = problem(with: known, reference, document) else { return .event(event) }
        return invalid(fields, problem.reason, problem.violations)
    }

    // MARK: Fields

    /// The broadcast, if every field that it needs is there; the schema has seen to that.
    private borrowing func event(_ fields: BroadcastFields) -> Event? {
        guard let id = fields[.id].flatMap({ id($0) }),
            let channel = text(fields[.channelID]).flatMap(ChannelID.init),
            let bundleID = text(fields[.bundleID]), let payload = fields[.payload],
            let expiration = fields[.expiration].flatMap({ check.document.integer($0) })
        else { return nil }
        return Event(
            id: id,
            channel: channel,
            bundleID: bundleID,
            payload: payload.range,
            expiration: expiration,
            environment: text(fields[.environment]).flatMap(APNsEnvironment.init),
            priority: fields[.priority].flatMap { check.document.integer($0) }
                .flatMap { Priority(rawValue: Int($0)) },
            requestID: text(fields[.requestID]).flatMap { APNsID($0) },
            occurredAt: occurredAt(fields),
            metadata: fields[.metadata]?.range
        )
    }

    /// An invalid broadcast with every field that is valid by itself.
    private borrowing func invalid(
        _ fields: BroadcastFields,
        _ reason: LocalReason,
        _ violations: [Violation]
    ) -> DecodedRecord {
        var event = InvalidEvent(reason: reason, violations: violations)
        event.id = fields[.id].flatMap { readableID($0) }
        event.channel = text(fields[.channelID]).flatMap(ChannelID.init)
        event.pushType = .liveactivity
        event.environment = text(fields[.environment]).flatMap(APNsEnvironment.init)
        event.apnsID = text(fields[.requestID]).flatMap { APNsID($0) }
        event.occurredAt = occurredAt(fields)
        event.metadata = fields[.metadata].flatMap { isMetadata($0) ? $0.range : nil }
        if event.apnsID == nil, let id = event.id, let channel = event.channel {
            event.apnsID = APNsID(eventID: id, channel: channel)
        }
        return .invalid(event)
    }

    private borrowing func text(_ node: JSONNode?) -> String? {
        node.flatMap { check.document.string($0) }
    }

    private borrowing func occurredAt(_ fields: BroadcastFields) -> Timestamp? {
        fields[.occurredAt].flatMap { Timestamp(rfc3339: check.document.content(of: $0)) }
    }
}

/// Where a broadcast's fields stand in its document.
private struct BroadcastFields {
    enum Field: String, CaseIterable {
        case id
        case channelID = "channel_id"
        case bundleID = "bundle_id"
        case payload
        case expiration
        case environment
        case priority
        case requestID = "apns_request_id"
        case occurredAt = "occurred_at"
        case metadata
    }

    private static let fields = Field.allCases
    private static let table = NameTable(fields.map(\.rawValue))

    private var nodes: [Field: JSONNode] = [:]
    /// The second value of a name that stands twice: such an event is ambiguous, and so is none.
    private(set) var repeated: JSONNode?

    /// A repeated name leaves its field nil: neither value is more right than the other.
    init(_ root: JSONNode, _ document: JSONDocument) {
        guard root.kind == .object else { return }
        var seen: Set<Field> = []
        var cursor = document.children(of: root)
        while let (name, value) = document.nextMember(&cursor) {
            guard let position = Self.table.position(of: name, in: document) else { continue }
            let field = Self.fields[position]
            if seen.insert(field).inserted {
                nodes[field] = value
            } else {
                nodes[field] = nil
                repeated = repeated ?? value
            }
        }
    }

    subscript(field: Field) -> JSONNode? { nodes[field] }
}
