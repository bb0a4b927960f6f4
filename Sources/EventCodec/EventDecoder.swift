public import JSON
import JSONSchema
public import Vocabulary

/// What to do with a payload that breaks what Apple documents (`schemas.payload`).
public enum PayloadPolicy: String, Hashable, Sendable, CaseIterable {
    case off
    /// The event is sent and carries the violations.
    case warn
    /// The event is invalid.
    case strict
}

/// Turns records into events; one per thread, reused for every record.
public struct EventDecoder: ~Copyable {
    private let notification: EventKind
    private let appleSchema: Schema
    private let payloadPolicy: PayloadPolicy
    /// The operator's own schemas; may be replaced between two records.
    public var payloadSchemas: PayloadSchemas
    /// What the Schema Registry said; nil: there is none, and what records name is not looked at.
    public var registeredSchemas: [SchemaReference: RegisteredSchema]?
    /// How the last record was wrapped.
    public internal(set) var framing = RecordFraming.plain
    /// The record's document, and what is known of it.
    var check: SchemaCheck
    /// The names of apps, which come again and again.
    var apps = RecurringTexts()

    /// Makes a decoder; the size limit decides what is `EventTooLarge`.
    public init(
        payloadPolicy: PayloadPolicy = .warn,
        payloadSchemas: PayloadSchemas = .none,
        registeredSchemas: [SchemaReference: RegisteredSchema]? = nil,
        limits: JSONLimits = JSONLimits()
    ) {
        let schemas = EmbeddedSchema.compiled(.notificationEventV1, .apsPayloadV1)
        notification = .notification(schemas.0)
        appleSchema = schemas.1
        self.payloadPolicy = payloadPolicy
        self.payloadSchemas = payloadSchemas
        self.registeredSchemas = registeredSchemas
        check = SchemaCheck(JSONDocument(limits: limits))
    }

    /// Decodes a record; whatever its bytes are, the answer is one of the cases.
    ///
    /// Writes into the record what its framing held besides the event.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - topic: The topic that it was read from.
    ///   - broadcast: Nil: the record is a notification.
    /// - Returns: What the record is.
    public mutating func decode(
        _ record: inout Record,
        from topic: KafkaTopic,
        as broadcast: BroadcastSchema? = nil
    ) -> DecodedRecord {
        framing = .plain
        record.decodedValue = nil
        record.traceContext = []
        guard let value = record.valueRange else { return .tombstone }
        do throws(FramingError) {
            let wrapped = try unwrap(&record, value)
            let kind = broadcast?.kind ?? notification
            guard wrapped.isShifted else { return decoded(wrapped, from: topic, as: kind) }
            return shifted(
                decoded(wrapped, from: topic, as: kind),
                by: wrapped.offset,
                wrapped.occurredAt
            )
        } catch {
            framing = error.kind
            return refused(error)
        }
    }

    // MARK: Checks

    // What is called for each event is `mutating`, though it changes nothing: to be borrowed, the
    // decoder would be copied, and what it knows of a document is more than a kilobyte.

    /// The schemas in turn: the event's, the operator's, the registry's, Apple's documentation.
    private mutating func decoded(
        _ wrapped: WrappedEvent,
        from topic: KafkaTopic,
        as kind: EventKind
    ) -> DecodedRecord {
        let fields = EventFields(wrapped.root, kind, &check)
        if let repeated = fields.repeated {
            return invalid(fields, .malformedEvent, [twice(repeated)])
        }
        guard kind.schema.admits(wrapped.root, &check), let event = event(fields),
            let payload = node(.payload, fields)
        else { return violating(wrapped.root, fields, kind.schema) }
        let own = ownViolations(payload, of: event, from: topic)
        guard own.isEmpty else { return invalid(fields, .schemaViolation, own) }
        guard !kind.isBroadcast, payloadPolicy != .off, !appleSchema.admits(wrapped.root, &check)
        else {
            return registered(event, fields, wrapped)
        }
        let violations = appleSchema.findings(of: wrapped.root, refusedIn: &check)
            .map { Violation($0) }
        if payloadPolicy == .strict { return invalid(fields, .schemaViolation, violations) }
        var warned = event
        warned.warnings = violations
        return registered(warned, fields, wrapped)
    }

    /// Against the schema that the record names, which describes the whole of the JSON text.
    @inline(__always)
    private mutating func registered(
        _ event: consuming Event,
        _ fields: EventFields,
        _ wrapped: WrappedEvent
    ) -> DecodedRecord {
        guard let reference = wrapped.schema, let registeredSchemas else { return .event(event) }
        guard let known = registeredSchemas[reference] else {
            return .awaitingSchema(event, reference)
        }
        let document = wrapped.envelope ?? check.document
        guard let problem = problem(with: known, reference, document) else { return .event(event) }
        return invalid(fields, problem.reason, problem.violations)
    }

    private borrowing func twice(_ repeated: JSONNode) -> Violation {
        Violation(
            instanceLocation: check.document.pointer(to: repeated),
            keywordLocation: "",
            message: "the name stands twice in the event"
        )
    }

    /// What the event's schema has just refused; a frame that is not taken off is the one fault.
    private mutating func violating(
        _ root: JSONNode,
        _ fields: EventFields,
        _ schema: Schema
    ) -> DecodedRecord {
        let violations =
            JSONConverter.violation(root, check.document).map { [$0] }
            ?? schema.findings(of: root, refusedIn: &check).map { Violation($0) }
        return invalid(fields, reason(for: violations, root), violations)
    }

    /// A payload that is nothing but too large has a reason of its own.
    private borrowing func reason(for violations: [Violation], _ root: JSONNode) -> LocalReason {
        let payload = check.document.pointer(to: root) + "/payload"
        let isOnlyTooLarge =
            !violations.isEmpty
            && violations.allSatisfy {
                $0.instanceLocation == payload && $0.keywordLocation.hasSuffix("/x-maxBytes")
            }
        return isOnlyTooLarge ? .payloadTooLarge : .schemaViolation
    }

    /// Two schemas share the bound of one outcome.
    private mutating func ownViolations(
        _ payload: JSONNode,
        of event: Event,
        from topic: KafkaTopic
    ) -> [Violation] {
        let ofTopic = payloadSchemas.schema(of: topic)
        let ofApp = payloadSchemas.schema(of: event)
        if ofTopic == nil, ofApp == nil { return [] }
        var report = FindingReport()
        ofTopic?.addFindings(of: payload, in: check.document, to: &report)
        ofApp?.addFindings(of: payload, in: check.document, to: &report)
        return report.finished().map { Violation($0) }
    }

    /// What the schema that the record names has against its text; nil: nothing.
    private borrowing func problem(
        with known: RegisteredSchema,
        _ reference: SchemaReference,
        _ document: JSONDocument
    ) -> (reason: LocalReason, violations: [Violation])? {
        switch known {
        case .unknown:
            let message = "the Schema Registry knows no such schema"
            return (.unknownSchema, [Self.violation(of: reference, message)])
        case .unusable(let cause):
            return (.unusableSchema, [Self.violation(of: reference, cause)])
        case .usable(let schema):
            var report = FindingReport()
            NamedSchema(name: reference.description, schema: schema)
                .addFindings(of: document.root, in: document, to: &report)
            let violations = report.finished().map { Violation($0) }
            guard !violations.isEmpty else { return nil }
            return (.schemaViolation, violations)
        }
    }

    /// Of a cause that is as long as the schema itself, the beginning.
    static func violation(of schema: SchemaReference, _ cause: String) -> Violation {
        let start = String(cause.unicodeScalars.prefix(maxCauseScalarCount))
        return Violation(
            instanceLocation: "",
            keywordLocation: "\(schema)#",
            message: start.utf8.count == cause.utf8.count ? cause : "\(start)..."
        )
    }

    /// Of 4 bytes at most each: with the schema's name that fits into an outcome's 4096.
    private static let maxCauseScalarCount = 900

    // MARK: Answers

    private borrowing func invalid(
        _ fields: EventFields,
        _ reason: LocalReason,
        _ violations: [Violation]
    ) -> DecodedRecord {
        var event = readable(fields, reason)
        event.violations = violations
        return .invalid(event)
    }

    /// Ranges count from the beginning of the record's bytes, not from that of the JSON text.
    private borrowing func shifted(
        _ decoded: consuming DecodedRecord,
        by offset: Int,
        _ occurredAt: Timestamp?
    ) -> DecodedRecord {
        switch decoded {
        case .event(let event): return .event(event.shifted(by: offset, occurredAt))
        case .awaitingSchema(let event, let reference):
            return .awaitingSchema(event.shifted(by: offset, occurredAt), reference)
        case .invalid(var event):
            event.metadata = event.metadata.map { $0.shifted(by: offset) }
            event.occurredAt = event.occurredAt ?? occurredAt
            return .invalid(event)
        case .unreadable, .tombstone: return decoded
        }
    }
}
