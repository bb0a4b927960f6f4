package import Delivery
package import EventCodec
package import Vocabulary

/// Turns records into arrivals.
///
/// Decodes each according to its source's kind, and reads the history of retry records.
package struct ArrivalDecoder: ~Copyable {
    private let retryTopics: RetryTopics
    private let schemas: ShardSchemas
    private let reader: ArrivalReader
    private var decoder: EventDecoder
    /// Nil if no source has broadcasts.
    private let broadcastSchema: BroadcastSchema?
    /// The version of the operator's schemas that the decoder uses.
    private var schemasVersion = 0
    /// Unusable registered schemas, to be forgotten once the records waiting for them were decoded.
    private var uselessSchemas: [SchemaReference] = []
    /// The size in bytes of the usable registered schemas.
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

    /// Whether records wait for which the registry's last answers were unusable.
    var hasUseless: Bool { !uselessSchemas.isEmpty }

    /// Reads a record that has arrived.
    ///
    /// A record of a retry topic continues as its original event, with the history attached.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - role: The role of its partition.
    ///   - deadTokens: The process's list of dead tokens.
    ///   - now: This turn's moment.
    /// - Returns: The arrival for the engine, and the event's framing; nil framing: it is a
    ///   tombstone.
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

    /// Reads a recipient of a record in hand.
    func read(_ next: NextRecipient, _ deadTokens: SuppressedTokens) -> Arrival {
        reader.read(recipient: next.index, of: next.arrival) { deadTokens[$0] }
    }

    /// Reads a record whose schema has arrived.
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

    /// - Returns: nil for a record of a source topic, or one without a valid history.
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

    /// Adopts the operator's schemas if they were reloaded.
    ///
    /// Call it between two records.
    mutating func takePayloadSchemas() {
        guard let newer = schemas.payloadSchemas(&schemasVersion) else { return }
        decoder.payloadSchemas = newer
    }

    /// The registry returned a schema.
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

    /// Forgets unusable schemas, after all records waiting for them were decoded again.
    ///
    /// They may become usable later, so the next record fetches them again.
    package mutating func forgetUseless() {
        for schema in uselessSchemas {
            // It may have become usable in the meantime.
            schemaByteCount -= decoder.registeredSchemas?[schema]?.byteCount ?? 0
            decoder.registeredSchemas?[schema] = nil
        }
        uselessSchemas = []
    }
}

/// How long a turn decodes records from Kafka, and again as long those whose schema has arrived.
///
/// A record can take 20 ms to validate: without a limit, a full turn would delay answers, PINGs and
/// the watchdog.
package struct DecodeTimeLimit {
    package static let length = Duration.milliseconds(50)
    /// The clock is read after this many records, because reading it costs as much as parts of a
    /// validation.
    package static let stride = 8

    private let end: Instant
    private var decoded = 0
    /// Whether this turn must decode no further records.
    package private(set) var isOver = false

    package init(from now: Instant) { end = now + Self.length }

    /// A record was decoded.
    package mutating func recordDecoded(now: @autoclosure () -> Instant) {
        decoded &+= 1
        if decoded.isMultiple(of: Self.stride) { isOver = now() >= end }
    }
}
