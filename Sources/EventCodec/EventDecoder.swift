public import JSON
import JSONSchema
public import Vocabulary

/// Turns records into events; one per thread, reused for every record.
public struct EventDecoder: ~Copyable {
    private let notification: EventKind
    private let recipients: RecipientReader
    private let appleSchema: Schema
    private let payloadPolicy: PayloadPolicy
    /// The operator's own schemas; may be replaced between records.
    public var payloadSchemas: PayloadSchemas
    /// The schemas from the Schema Registry; nil: there is none, and references to it are ignored.
    public var registeredSchemas: [SchemaReference: RegisteredSchema]?
    /// The framing of the last record.
    public private(set) var framing = RecordFraming.plain
    /// The record's document, and cached results of its validation.
    private var check: SchemaCheck
    /// The names of apps, which recur.
    private var apps = RecurringTexts()
    /// The last campaign, whose events share its bytes.
    private var campaign: CampaignName?

    /// Makes a decoder; records over the size limit become `EventTooLarge`.
    public init(
        payloadPolicy: PayloadPolicy = .warn,
        payloadSchemas: PayloadSchemas = .none,
        registeredSchemas: [SchemaReference: RegisteredSchema]? = nil,
        limits: JSONLimits = JSONLimits()
    ) {
        let schemas = EmbeddedSchema.compiled(.notificationEventV1, .apsPayloadV1)
        notification = .notification(schemas.0)
        recipients = RecipientReader(schemas.0)
        appleSchema = schemas.1
        self.payloadPolicy = payloadPolicy
        self.payloadSchemas = payloadSchemas
        self.registeredSchemas = registeredSchemas
        check = SchemaCheck(JSONDocument(limits: limits))
    }

    /// Decodes a record; any bytes result in one of the cases.
    ///
    /// Adds to the record what its framing contained besides the event.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - topic: The topic from which it was read.
    ///   - broadcast: The schema of broadcasts; nil: the record is a notification.
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

    // Methods that are called for each event are `mutating` even if they change nothing: borrowing
    // would copy the decoder, and the state of a document takes more than a kilobyte.

    /// Checks all schemas in turn: the event's, the operator's, the registry's, Apple's
    /// documentation.
    private mutating func decoded(
        _ wrapped: WrappedEvent,
        from topic: KafkaTopic,
        as kind: EventKind
    ) -> DecodedRecord {
        let fields = EventFields(wrapped.root, kind, &check)
        if let repeated = fields.repeated { return ambiguous(fields, repeated) }
        if let list = node(.recipients, fields) {
            return decodedFanOut(list, wrapped, fields, from: topic)
        }
        guard kind.schema.admits(wrapped.root, &check), let event = event(fields),
            let payload = node(.payload, fields)
        else { return violating(wrapped.root, fields, kind.schema) }
        if let metadata = node(.metadata, fields),
            let repeated = check.document.repeatedMember(in: metadata)
        {
            return ambiguous(fields, repeated)
        }
        let own = ownViolations(
            payload,
            payloadSchemas.schema(of: topic),
            payloadSchemas.schema(of: event.destination, event.pushType)
        )
        guard own.isEmpty else { return invalid(fields, .schemaViolation, own) }
        let doubts = doubts(about: payload, of: wrapped.root, kind)
        guard !doubts.isEmpty else { return registered(event, fields, wrapped) }
        if kind.isBroadcast || payloadPolicy == .strict {
            return invalid(fields, .schemaViolation, doubts)
        }
        var warned = event
        warned.warnings = doubts
        return registered(warned, fields, wrapped)
    }

    /// The same for an event with `recipients`, each of which may be invalid on its own.
    private mutating func decodedFanOut(
        _ list: JSONNode,
        _ wrapped: WrappedEvent,
        _ fields: EventFields,
        from topic: KafkaTopic
    ) -> DecodedRecord {
        check.arrayApart = list.index
        guard notification.schema.admits(wrapped.root, &check),
            var common = common(fields, wrapped), let payload = node(.payload, fields)
        else { return violating(wrapped.root, fields, notification.schema) }
        if let metadata = node(.metadata, fields),
            let repeated = check.document.repeatedMember(in: metadata)
        {
            return ambiguous(fields, repeated)
        }
        let own = ownViolations(
            payload,
            payloadSchemas.schema(of: topic),
            payloadSchemas.schema(of: common.destination, common.pushType)
        )
        guard own.isEmpty else { return invalid(fields, .schemaViolation, own) }
        common.warnings = doubts(about: payload, of: wrapped.root, notification)
        if payloadPolicy == .strict, !common.warnings.isEmpty {
            return invalid(fields, .schemaViolation, common.warnings)
        }
        var awaited: SchemaReference?
        if let reference = wrapped.schema, let registeredSchemas {
            if let known = registeredSchemas[reference] {
                let document = wrapped.envelope ?? check.document
                if let problem = problem(with: known, reference, document) {
                    return invalid(fields, problem.reason, problem.violations)
                }
            } else {
                awaited = reference
            }
        }
        let entries = recipients.read(list, offset: wrapped.offset, &check)
        let fanOut = FanOut(common, entries, framing: framing, base64: wrapped.base64)
        return .fanOut(fanOut, awaiting: awaited)
    }

    /// Checks the schema that the record names, which describes the whole JSON text.
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

    /// Problems of a payload that the event's schema accepts.
    ///
    /// These are repeated names and violations of Apple's documentation; for broadcasts, the latter
    /// is part of the event's schema.
    @inline(__always)
    private mutating func doubts(
        about payload: JSONNode,
        of root: JSONNode,
        _ kind: EventKind
    ) -> [Violation] {
        if payloadPolicy == .off, !kind.isBroadcast { return [] }
        let repeated = check.document.repeatedMember(in: payload)
        let isAdmitted = kind.isBroadcast ? true : appleSchema.admits(root, &check)
        if isAdmitted, repeated == nil { return [] }
        var report = FindingReport()
        if let repeated { report.add(repeated: repeated, in: check.document) }
        if !isAdmitted { appleSchema.addFindings(of: root, refusedIn: &check, to: &report) }
        return report.finished().map { Violation($0) }
    }

    /// An event with a repeated name is invalid, because it is unclear which value is meant.
    private borrowing func ambiguous(_ fields: EventFields, _ repeated: JSONNode) -> DecodedRecord {
        var report = FindingReport()
        report.add(repeated: repeated, in: check.document)
        return invalid(fields, .malformedEvent, report.finished().map { Violation($0) })
    }

    /// Reports violations of the event's schema, or only the JSON converter's envelope if it is the
    /// cause.
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

    /// The reason for violations; a payload that is only too large has a reason of its own.
    private borrowing func reason(for violations: [Violation], _ root: JSONNode) -> LocalReason {
        let payload = check.document.pointer(to: root) + "/payload"
        let isOnlyTooLarge =
            !violations.isEmpty
            && violations.allSatisfy {
                $0.instanceLocation == payload && $0.keywordLocation.hasSuffix("/x-maxBytes")
            }
        return isOnlyTooLarge ? .payloadTooLarge : .schemaViolation
    }

    /// Checks the operator's schemas; both share the limit of one outcome's violations.
    private mutating func ownViolations(
        _ payload: JSONNode,
        _ ofTopic: NamedSchema?,
        _ ofApp: NamedSchema?
    ) -> [Violation] {
        if ofTopic == nil, ofApp == nil { return [] }
        var report = FindingReport()
        ofTopic?.addFindings(of: payload, in: check.document, to: &report)
        ofApp?.addFindings(of: payload, in: check.document, to: &report)
        return report.finished().map { Violation($0) }
    }

    /// Why the text violates the schema that the record names; nil: it does not.
    private borrowing func problem(
        with known: RegisteredSchema,
        _ reference: SchemaReference,
        _ document: JSONDocument
    ) -> (reason: LocalReason, violations: [Violation])? {
        switch known {
        case .unknown:
            let message = "the Schema Registry does not know this schema"
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

    /// A violation with the start of a cause, which may be as long as the schema itself.
    private static func violation(of schema: SchemaReference, _ cause: String) -> Violation {
        let start = String(cause.unicodeScalars.prefix(maxCauseScalarCount))
        return Violation(
            instanceLocation: "",
            keywordLocation: "\(schema)#",
            message: start.utf8.count == cause.utf8.count ? cause : "\(start)..."
        )
    }

    /// At most 4 bytes each; together with the schema's name, they fit into an outcome's 4096.
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

    /// Adjusts ranges, which count from the start of the record's bytes and not of the JSON text.
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
        // A fan-out is made with the record's ranges.
        case .fanOut, .unreadable, .tombstone: return decoded
        }
    }
}

/// Finding the event in a record's bytes.
extension EventDecoder {
    /// Parses a record's value and finds the event in it.
    private mutating func unwrap(
        _ record: inout Record,
        _ value: Range<Int>
    ) throws(FramingError) -> WrappedEvent {
        let found = try Framing.detect(headers: record.headers, value: record.valueAndKey[value])
        framing = found.kind
        let prefix = found.prefixByteCount
        do throws(FramingError) {
            if prefix == 0 {
                let whole = record.valueAndKey[value]
                try parse(record.valueAndKey, upTo: value.upperBound, of: whole)
            } else {
                let text = Array(record.valueAndKey[prefix..<value.upperBound])
                try parse(text, upTo: text.count, of: record.valueAndKey[value])
            }
        } catch {
            throw found.schema.map { explained(error, by: $0) } ?? error
        }
        var wrapped = WrappedEvent(root: check.document.root, offset: prefix, schema: found.schema)
        if let attributes = found.attributes {
            adopt(attributes, &wrapped, &record)
        } else if found.form == .cloudEvent || isCloudEvent(check.document.root) {
            framing = .cloudEventsStructured
            try unwrapCloudEvent(&wrapped, &record)
        }
        return wrapped
    }

    private mutating func unwrapCloudEvent(
        _ wrapped: inout WrappedEvent,
        _ record: inout Record
    ) throws(FramingError) {
        let cloudEvent = try StructuredCloudEvent(check.document.root, check.document)
        adopt(cloudEvent.attributes, &wrapped, &record)
        switch cloudEvent.content {
        case .json(let data): wrapped.root = data
        case .bytes(let bytes, let base64):
            wrapped.base64 = base64.shifted(by: wrapped.offset)
            if wrapped.schema != nil, registeredSchemas != nil { wrapped.envelope = check.document }
            let text = Array(bytes.dropFirst(TextEncoding.markByteCount(bytes[...])))
            try parse(text, upTo: text.count, of: bytes[...])
            record.decodedValue = text
            wrapped.root = check.document.root
            wrapped.offset = 0
        }
    }

    /// Adopts the attributes that the record's own headers do not already contain.
    private func adopt(
        _ attributes: CloudEventAttributes,
        _ wrapped: inout WrappedEvent,
        _ record: inout Record
    ) {
        wrapped.occurredAt = attributes.occurredAt
        record.traceContext = attributes.traceContext
    }

    /// Whether this is a CloudEvent: no event has this member.
    private mutating func isCloudEvent(_ root: JSONNode) -> Bool {
        check.document.member(of: root, named: Self.specVersion) != nil
    }

    private static let specVersion = JSONName("specversion")

    /// Adds the schema to the error of a text that is not JSON, because it may explain the error.
    private func explained(
        _ error: FramingError,
        by schema: SchemaReference
    ) -> FramingError {
        var event = error.event
        guard event.reason == .malformedEvent, event.violations[0].keywordLocation.isEmpty
        else { return error }
        if registeredSchemas == nil {
            event.violations[0].message +=
                "; schema \(schema.name) may be Avro or Protobuf, Heliograph reads JSON"
        }
        return FramingError(error.kind, event, schema: schema)
    }

    /// The result for a record whose event cannot be read; an unusable schema takes precedence.
    private borrowing func refused(_ error: FramingError) -> DecodedRecord {
        guard let schema = error.schema, let registeredSchemas else { return .invalid(error.event) }
        switch registeredSchemas[schema] {
        case nil: return .unreadable(error.event, schema)
        case .unusable(let cause)?:
            var event = error.event
            event.reason = .unusableSchema
            event.violations = [Self.violation(of: schema, cause)]
            return .invalid(event)
        case .unknown?, .usable?: return .invalid(error.event)
        }
    }

    /// Parses the first bytes; `whole` is the text that contains them.
    private mutating func parse(
        _ bytes: [UInt8],
        upTo end: Int,
        of whole: ArraySlice<UInt8>
    ) throws(FramingError) {
        do throws(JSONError) {
            try check.parse(bytes, upTo: end)
        } catch {
            let text = TextEncoding(whole) == nil ? bytes[..<end] : whole
            let violation = TextEncoding.violation(text, error)
            throw FramingError(
                framing == .plain ? .unreadable : framing,
                InvalidEvent(
                    reason: error.kind == .tooLarge ? .eventTooLarge : .malformedEvent,
                    violations: [violation]
                )
            )
        }
    }
}

/// Making events of their fields.
extension EventDecoder {
    private static let pushTypes = PushType.allCases
    private static let pushTypeNames = NameTable(pushTypes.map(\.rawValue))

    /// The event with these fields, which its schema accepted.
    ///
    /// Nil only if a required field is missing, which the schema rules out.
    private mutating func event(_ fields: EventFields) -> Event? {
        fields.isBroadcast ? broadcast(fields) : notification(fields)
    }

    private mutating func notification(_ fields: EventFields) -> Event? {
        let (bundleID, topic) = (node(.bundleID, fields), node(.topic, fields))
        guard let id = node(.id, fields).flatMap({ id($0) }),
            let token = node(.deviceToken, fields).flatMap({ checkedToken($0) }),
            let destination = Self.destination(
                bundleID,
                topic,
                { apps.text(of: $0, in: check.document) }
            ),
            let pushType = pushType(fields), let payload = node(.payload, fields)
        else { return nil }
        return Event(
            id: id,
            deviceToken: token,
            destination: destination,
            pushType: pushType,
            payload: payload.range,
            environment: environment(fields),
            priority: priority(fields),
            expiration: node(.expiration, fields).flatMap { check.document.integer($0) },
            collapseID: node(.collapseID, fields).flatMap { check.document.string($0) }.flatMap(
                CollapseID.init
            ),
            apnsID: apnsID(fields),
            tokenRegisteredAt: node(.tokenRegisteredAt, fields).flatMap {
                check.document.integer($0)
            }
            .map { Timestamp(milliseconds: $0) },
            occurredAt: node(.occurredAt, fields).flatMap { check.milliseconds(ofDateTime: $0) }
                .map { Timestamp(milliseconds: $0) },
            campaign: node(.campaign, fields).flatMap { checkedCampaign($0) },
            notBefore: notBefore(fields),
            metadata: node(.metadata, fields)?.range
        )
    }

    /// What the notifications of an accepted event with `recipients` share.
    ///
    /// Ranges and the default of `occurred_at` are already those of the record.
    private mutating func common(_ fields: EventFields, _ wrapped: WrappedEvent) -> FanOut.Common? {
        let (bundleID, topic) = (node(.bundleID, fields), node(.topic, fields))
        guard let id = node(.id, fields).flatMap({ id($0) }),
            let destination = Self.destination(
                bundleID,
                topic,
                { apps.text(of: $0, in: check.document) }
            ),
            let pushType = pushType(fields), let payload = node(.payload, fields)
        else { return nil }
        return FanOut.Common(
            id: id,
            destination: destination,
            pushType: pushType,
            payload: payload.range.shifted(by: wrapped.offset),
            environment: environment(fields),
            priority: priority(fields),
            expiration: node(.expiration, fields).flatMap { check.document.integer($0) },
            collapseID: node(.collapseID, fields).flatMap { check.document.string($0) }.flatMap(
                CollapseID.init
            ),
            tokenRegisteredAt: node(.tokenRegisteredAt, fields).flatMap {
                check.document.integer($0)
            }
            .map { Timestamp(milliseconds: $0) },
            occurredAt: node(.occurredAt, fields).flatMap { check.milliseconds(ofDateTime: $0) }
                .map { Timestamp(milliseconds: $0) } ?? wrapped.occurredAt,
            campaign: node(.campaign, fields).flatMap { checkedCampaign($0) },
            notBefore: notBefore(fields),
            metadata: node(.metadata, fields)?.range.shifted(by: wrapped.offset)
        )
    }

    private mutating func broadcast(_ fields: EventFields) -> Event? {
        guard let id = node(.id, fields).flatMap({ id($0) }), let channel = channel(fields),
            let bundleID = node(.bundleID, fields).flatMap({ check.document.string($0) }),
            let payload = node(.payload, fields),
            let expiration = node(.expiration, fields).flatMap({ check.document.integer($0) })
        else { return nil }
        return Event(
            id: id,
            channel: channel,
            bundleID: bundleID,
            payload: payload.range,
            expiration: expiration,
            environment: environment(fields),
            priority: priority(fields),
            requestID: apnsID(fields),
            occurredAt: occurredAt(fields),
            campaign: node(.campaign, fields).flatMap { checkedCampaign($0) },
            metadata: node(.metadata, fields)?.range
        )
    }

    /// An invalid event with every field that is valid on its own.
    private borrowing func readable(
        _ fields: EventFields,
        _ reason: LocalReason
    ) -> InvalidEvent {
        var event = InvalidEvent(reason: reason, violations: [])
        event.id = node(.id, fields).flatMap { readableID($0) }
        if fields.isBroadcast {
            event.channel = channel(fields)
            event.pushType = .liveactivity
        } else {
            event.deviceToken = deviceToken(fields)
            event.destination = Self.destination(node(.bundleID, fields), node(.topic, fields)) {
                text($0, upTo: Self.longestDestination)
            }
            event.pushType = pushType(fields)
        }
        event.environment = environment(fields)
        event.apnsID = apnsID(fields)
        event.occurredAt = occurredAt(fields)
        event.campaign = node(.campaign, fields).flatMap { readableCampaign($0) }
        event.metadata = node(.metadata, fields).flatMap { isMetadata($0) ? $0.range : nil }
        guard event.apnsID == nil, let id = event.id else { return event }
        if let token = event.deviceToken {
            event.apnsID = APNsID(eventID: id, deviceToken: token)
        } else if let channel = event.channel {
            event.apnsID = APNsID(eventID: id, channel: channel)
        }
        return event
    }

    // Inlined for the methods that each event needs: borrowing a decoder while it changes would
    // copy it.

    /// A field's value.
    @inline(__always)
    private borrowing func node(_ field: EventFields.Field, _ fields: EventFields) -> JSONNode? {
        fields[field].map { check.document.node(at: $0) }
    }

    /// The ID of an accepted event.
    private borrowing func id(_ node: JSONNode) -> EventID? {
        guard node.isString else { return nil }
        return check.document.withContent(of: node) { EventID(utf8: $0) }
    }

    /// The ID of an invalid event; nil unless the ID itself is valid.
    private borrowing func readableID(_ node: JSONNode) -> EventID? {
        (1...128).contains(check.document.scalarCount(of: node)) ? id(node) : nil
    }

    /// The token of an accepted event, whose digits are already checked.
    private borrowing func checkedToken(_ node: JSONNode) -> DeviceToken? {
        guard node.isString else { return nil }
        return check.document.withContent(of: node) { DeviceToken(checked: $0) }
    }

    /// The limit in the event's schema; the outcome contains the name, and must fit into its topic.
    private static let longestDestination = 255

    /// Nil also if there are recipients: which of them is meant is unclear.
    private borrowing func deviceToken(_ fields: EventFields) -> DeviceToken? {
        guard fields[.recipients] == nil else { return nil }
        return node(.deviceToken, fields)
            .flatMap { text($0, upTo: DeviceToken.maxDigitCount) }
            .flatMap(DeviceToken.init)
    }

    /// Nil if the text has more bytes.
    private borrowing func text(_ node: JSONNode, upTo byteCount: Int) -> String? {
        node.byteCount <= byteCount + 2 ? check.document.string(node) : nil
    }

    /// Nil also if both names are present: neither is more correct than the other.
    private static func destination(
        _ bundleID: JSONNode?,
        _ topic: JSONNode?,
        _ text: (JSONNode) -> String?
    ) -> Event.Destination? {
        switch (bundleID, topic) {
        case (let bundleID?, nil): text(bundleID).map(Event.Destination.bundleID)
        case (nil, let topic?): text(topic).map { .topic(APNsTopic($0)) }
        case (nil, nil), (_?, _?): nil
        }
    }

    private borrowing func channel(_ fields: EventFields) -> ChannelID? {
        node(.channelID, fields).flatMap { check.document.string($0) }.flatMap(ChannelID.init)
    }

    @inline(__always)
    private borrowing func apnsID(_ fields: EventFields) -> APNsID? {
        node(.apnsID, fields).flatMap { APNsID(utf8: check.document.content(of: $0).span) }
    }

    @inline(__always)
    private borrowing func priority(_ fields: EventFields) -> Priority? {
        node(.priority, fields).flatMap { check.document.integer($0) }
            .flatMap { Priority(rawValue: Int($0)) }
    }

    /// Looks up the name by its hash, which is faster than comparing strings with every case.
    @inline(__always)
    private borrowing func pushType(_ fields: EventFields) -> PushType? {
        node(.pushType, fields).flatMap { Self.pushTypeNames.position(of: $0, in: check.document) }
            .map { Self.pushTypes[$0] }
    }

    @inline(__always)
    private borrowing func environment(_ fields: EventFields) -> APNsEnvironment? {
        node(.environment, fields).flatMap { check.document.string($0) }.flatMap(
            APNsEnvironment.init
        )
    }

    private borrowing func occurredAt(_ fields: EventFields) -> Timestamp? {
        node(.occurredAt, fields).flatMap { Timestamp(rfc3339: check.document.content(of: $0)) }
    }

    /// The campaign of an accepted event, whose characters are already checked.
    private mutating func checkedCampaign(_ node: JSONNode) -> CampaignName? {
        guard node.isString else { return nil }
        let last = campaign
        let name = check.document.withContent(of: node) { content in
            if let last, last.isEqual(content) { return last }
            return CampaignName(checked: content)
        }
        campaign = name
        return name
    }

    /// The campaign of an invalid event; nil unless the name itself is valid.
    private borrowing func readableCampaign(_ node: JSONNode) -> CampaignName? {
        guard node.isString,
            check.document.scalarCount(of: node) <= CampaignName.maxCharacterCount
        else { return nil }
        return check.document.string(node).flatMap { CampaignName($0) }
    }

    @inline(__always)
    private borrowing func notBefore(_ fields: EventFields) -> Timestamp? {
        node(.notBefore, fields).flatMap { check.document.integer($0) }
            .map { Timestamp(milliseconds: $0 * 1000) }
    }

    private borrowing func isMetadata(_ node: JSONNode) -> Bool {
        guard node.isObject, node.count <= 16 else { return false }
        var cursor = check.document.children(of: node)
        while let (_, value) = check.document.nextMember(&cursor) {
            if !value.isString { return false }
        }
        return check.document.repeatedMember(in: node) == nil
    }
}

/// The location of a record's event.
private struct WrappedEvent {
    /// The event within the decoder's document.
    var root: JSONNode
    /// What to add to positions in the document to get positions in the record's `eventBytes`.
    var offset = 0
    var schema: SchemaReference?
    /// The document that `schema` describes, if it is not the decoder's.
    ///
    /// That is the CloudEvent whose `data_base64` contained the event.
    var envelope: JSONDocument?
    /// The default of the event's own `occurred_at`.
    var occurredAt: Timestamp?
    /// The JSON string in the record's value whose content is the event in Base64.
    var base64: Range<Int>?

    /// Whether the decoded event must be adjusted to its framing.
    var isShifted: Bool { offset != 0 || occurredAt != nil }
}

/// The positions of an event's fields in its document, found in one pass over the top level.
private struct EventFields {
    /// The fields of all kinds of events.
    enum Field: Int, CaseIterable {
        case id
        case deviceToken
        case recipients
        case channelID
        case bundleID
        case topic
        case pushType
        case payload
        case environment
        case priority
        case expiration
        case collapseID
        case apnsID
        case tokenRegisteredAt
        case occurredAt
        case campaign
        case notBefore
        case metadata
    }

    /// Whether the event is a broadcast.
    let isBroadcast: Bool
    /// The position of each field's value on the tape; 0 (the document itself) means that it is
    /// missing.
    private var places: InlineArray<18, UInt32>
    /// The second value of a repeated name, which makes the event ambiguous and thus invalid; nil:
    /// none.
    private(set) var repeated: JSONNode?

    /// Finds the fields, together with the names that the kind's schema looks for.
    init(_ root: JSONNode, _ kind: EventKind, _ check: inout SchemaCheck) {
        isBroadcast = kind.isBroadcast
        guard let present = kind.schema.members(of: root, &check) else {
            places = InlineArray(repeating: 0)
            find(in: root, kind, check.document)
            return
        }
        places = InlineArray { index in
            let symbol = kind.symbols[index]
            guard !present.isDisjoint(with: symbol) else { return 0 }
            return UInt32(check.member(symbol.rawValue.trailingZeroBitCount).index)
        }
    }

    /// A repeated name leaves its field nil: neither value is more correct than the other.
    private mutating func find(in root: JSONNode, _ kind: EventKind, _ document: JSONDocument) {
        guard root.isObject else { return }
        var seen: UInt32 = 0
        var cursor = document.children(of: root)
        while let (name, value) = document.nextMember(&cursor) {
            guard let position = kind.names.position(of: name, in: document) else { continue }
            let index = kind.fields[position].rawValue
            let bit = UInt32(1) << UInt32(index)
            if seen & bit == 0 {
                places[index] = UInt32(value.index)
            } else {
                places[index] = 0
                repeated = repeated ?? value
            }
            seen |= bit
        }
    }

    /// The position of the field's value on the document's tape; nil: it is missing.
    @inline(__always)
    subscript(field: Field) -> Int? {
        let place = Int(places[field.rawValue])
        return place == 0 ? nil : place
    }
}

/// A kind of event: its schema, and the names of its fields.
///
/// A class, so that a decoder shares it at the cost of one reference count.
private final class EventKind: Sendable {
    let schema: Schema
    /// Whether its events are broadcasts.
    let isBroadcast: Bool
    /// Its fields and their names, in the same order.
    let fields: [EventFields.Field]
    let names: NameTable
    /// The schema's symbol for each field's name; empty if the kind does not have the field.
    let symbols: InlineArray<18, SymbolSet>

    /// The kind of events for devices.
    static func notification(_ schema: Schema) -> EventKind {
        EventKind(
            schema,
            [
                (.id, "id"), (.deviceToken, "device_token"), (.recipients, "recipients"),
                (.bundleID, "bundle_id"), (.topic, "topic"), (.pushType, "push_type"),
                (.payload, "payload"),
                (.environment, "environment"), (.priority, "priority"),
                (.expiration, "expiration"), (.collapseID, "collapse_id"), (.apnsID, "apns_id"),
                (.tokenRegisteredAt, "token_registered_at"), (.occurredAt, "occurred_at"),
                (.campaign, "campaign"), (.notBefore, "not_before"), (.metadata, "metadata"),
            ]
        )
    }

    /// The kind of events for a channel.
    static func broadcast(_ schema: Schema) -> EventKind {
        EventKind(
            schema,
            [
                (.id, "id"), (.channelID, "channel_id"), (.bundleID, "bundle_id"),
                (.payload, "payload"), (.expiration, "expiration"),
                (.environment, "environment"), (.priority, "priority"),
                (.apnsID, "apns_request_id"), (.occurredAt, "occurred_at"),
                (.campaign, "campaign"), (.metadata, "metadata"),
            ]
        )
    }

    /// Traps if the schema does not name every field.
    private init(_ schema: Schema, _ table: [(field: EventFields.Field, name: String)]) {
        self.schema = schema
        isBroadcast = table.contains { $0.field == .channelID }
        fields = table.map(\.field)
        names = NameTable(table.map(\.name))
        var symbols = InlineArray<18, SymbolSet>(repeating: [])
        for (field, name) in table {
            guard let symbol = schema.symbol(of: name) else {
                preconditionFailure("the event's schema does not name \(name)")
            }
            symbols[field.rawValue] = SymbolSet(symbol)
        }
        self.symbols = symbols
    }
}

/// The schema of broadcasts; compiled once, if any source has broadcasts.
///
/// It includes Apple's rules for the payload, regardless of `schemas.payload`.
public struct BroadcastSchema: Sendable {
    fileprivate let kind: EventKind

    public init() {
        kind = .broadcast(EmbeddedSchema.broadcastEventV1.compiled())
    }
}

/// What to do with a payload that violates Apple's documentation (`schemas.payload`).
public enum PayloadPolicy: String, Hashable, Sendable, CaseIterable {
    case off
    /// The event is sent; its outcome contains the violations.
    case warn
    /// The event is invalid.
    case strict
}

/// A table of names, looked up by the hash that the parser computes anyway.
struct NameTable: Sendable {
    private var names = JSONNameList()
    /// Positions in `names`, or -1 if free; linear probing, at most a quarter full.
    private let slots: [Int32]

    init(_ texts: [String]) {
        for text in texts { _ = names.append(text) }
        var size = 4
        while size < texts.count * 4 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for index in texts.indices {
            var slot = Int(names.hash(index)) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(index)
        }
        self.slots = slots
    }

    /// The position of a member's name; nil: it is not in the table.
    func position(of name: JSONNode, in document: JSONDocument) -> Int? {
        var slot = Int(name.hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let position = Int(slots[slot])
            if document.isEqual(name, to: position, in: names) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}

/// Caches recurring strings, so that each is allocated once and then shared.
private struct RecurringTexts {
    /// The last text for each value of the hash's low bits.
    private var texts = [String](repeating: "", count: 16)

    /// A string's text; nil for any other value.
    mutating func text(of string: JSONNode, in document: JSONDocument) -> String? {
        let place = Int(string.hash) & (texts.count - 1)
        let known = texts[place]
        guard let text = document.string(string, reusing: known) else { return nil }
        if text != known { texts[place] = text }
        return text
    }
}

extension Event {
    fileprivate func shifted(by offset: Int, _ occurredAt: Timestamp?) -> Event {
        var event = self
        event.payload = payload.shifted(by: offset)
        event.metadata = metadata.map { $0.shifted(by: offset) }
        event.occurredAt = self.occurredAt ?? occurredAt
        return event
    }
}

extension Range<Int> {
    func shifted(by offset: Int) -> Range<Int> {
        lowerBound + offset..<upperBound + offset
    }
}
