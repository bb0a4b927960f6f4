package import Delivery
package import EventCodec
package import Vocabulary

/// Turns records into arrivals: decodes each according to its source's kind, and reads the history
/// of a retry record.
package struct ArrivalDecoder: ~Copyable {
    private let retryTopics: RetryTopics
    private let schemas: ShardSchemas
    private let reader: ArrivalReader
    private var decoder: EventDecoder
    /// Nil where no source has broadcasts.
    private let broadcastSchema: BroadcastSchema?
    /// Of the operator's schemas that the decoder has.
    private var schemasVersion = 0
    /// Of the registry's, to be forgotten once what waits for them has been notified.
    private var uselessSchemas: [SchemaReference] = []
    /// Of the registry's, what those of use take.
    private var schemaByteCount = 0

    package init(_ settings: ShardSettings, _ schemas: ShardSchemas) {
        retryTopics = settings.topics.retry
        self.schemas = schemas
        reader = ArrivalReader(settings.engine)
        decoder = EventDecoder(
            payloadPolicy: settings.payloadPolicy,
            registeredSchemas: schemas.fetch == nil ? nil : [:],
            limits: settings.eventLimits
        )
        broadcastSchema = settings.broadcastSources.isEmpty ? nil : BroadcastSchema()
    }

    /// Whether something waits for which the registry's last answers were unusable.
    var hasUseless: Bool { !uselessSchemas.isEmpty }

    /// Reads a record that has arrived.
    ///
    /// A record of a retry topic continues as the event it was, with its history next to it.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - role: What its partition's records are.
    ///   - deadTokens: The process's list.
    ///   - now: This turn's moment.
    /// - Returns: What the engine gets, and how the event was wrapped; nil: it is a tombstone.
    package mutating func read(
        _ record: consuming Record,
        as role: PartitionRole,
        _ deadTokens: SuppressedTokens,
        now: Moment
    ) -> (arrival: Arrival, framing: RecordFraming?) {
        let fingerprint = record.fingerprint
        let history = history(of: record, as: role, now: now.timestamp)
        if let history {
            record.headers = RetryHistory.stripped(record.headers)
            record.timestamp = history.timestamp
        }
        let decoded = decode(&record, as: role)
        let isTombstone = if case .tombstone = decoded { true } else { false }
        let arrival = reader.read(
            record,
            consume decoded,
            fingerprint: fingerprint,
            history: history,
            source: role.sourceIndex,
            now: now,
            deadSince: { deadTokens[$0] }
        )
        return (arrival, isTombstone ? nil : decoder.framing)
    }

    /// Reads a record whose schema has come.
    package mutating func read(
        again waiting: Arrival,
        as role: PartitionRole,
        _ deadTokens: SuppressedTokens
    ) -> Arrival {
        var record = waiting.record
        let decoded = decode(&record, as: role)
        return reader.read(again: waiting, decoded) { deadTokens[$0] }
    }

    private mutating func decode(_ record: inout Record, as role: PartitionRole) -> DecodedRecord {
        if role.isBroadcast, let broadcastSchema {
            return decoder.decode(&record, from: role.source, as: broadcastSchema)
        }
        return decoder.decode(&record, from: role.source)
    }

    /// - Returns: nil for a record that comes from a source, or says nothing sensible.
    private func history(
        of record: borrowing Record,
        as role: PartitionRole,
        now: Timestamp
    ) -> RetryHistory? {
        guard let purpose = role.purpose else { return nil }
        return RetryHistory(
            headers: record.headers,
            writtenAt: record.timestamp,
            of: purpose,
            in: retryTopics,
            now: now
        )
    }

    // MARK: - Schemas

    /// Takes the operator's schemas if they have been reloaded.
    ///
    /// Call it between two records.
    mutating func takePayloadSchemas() {
        guard let newer = schemas.payloadSchemas(&schemasVersion) else { return }
        decoder.payloadSchemas = newer
    }

    /// The registry said what a schema is.
    package mutating func fetched(_ reference: SchemaReference, _ schema: RegisteredSchema) {
        if (decoder.registeredSchemas?.count ?? 0) >= ShardSchemas.maxRegistered
            || schemaByteCount + schema.byteCount > ShardSchemas.maxByteCount
        {
            decoder.registeredSchemas = [:]
            schemaByteCount = 0
        }
        schemaByteCount += schema.byteCount
        schemaByteCount -= decoder.registeredSchemas?[reference]?.byteCount ?? 0
        decoder.registeredSchemas?[reference] = schema
        if case .usable = schema { return }
        uselessSchemas.append(reference)
    }

    /// All that waited was decoded again: what is unusable now may be later, so the next record
    /// asks again.
    package mutating func forgetUseless() {
        for schema in uselessSchemas {
            // Meanwhile it may have come to be of use.
            schemaByteCount -= decoder.registeredSchemas?[schema]?.byteCount ?? 0
            decoder.registeredSchemas?[schema] = nil
        }
        uselessSchemas = []
    }
}

/// How long records from Kafka are decoded in one turn, and as long again those whose schema has
/// come.
///
/// A record can take 20 ms to check: a turn that took as many as it may would keep answers, PINGs
/// and the watchdog waiting.
package struct DecodeTimeLimit {
    package static let length = Duration.milliseconds(50)
    /// The clock is read after this many records, because reading it costs as much as some steps of
    /// a check.
    package static let stride = 8

    private let end: Instant
    private var decoded = 0
    /// Whether the last record of this turn was decoded.
    package private(set) var isOver = false

    package init(from now: Instant) { end = now + Self.length }

    /// A record was decoded.
    package mutating func recordDecoded(now: @autoclosure () -> Instant) {
        decoded &+= 1
        if decoded.isMultiple(of: Self.stride) { isOver = now() >= end }
    }
}
