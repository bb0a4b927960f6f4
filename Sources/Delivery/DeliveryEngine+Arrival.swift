import APNsRules
public import Vocabulary

extension DeliveryEngine {
    /// A record arrived from Kafka.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - decoded: What it turned out to be.
    ///   - fingerprint: Its fingerprint in Kafka; nil: the record is as it was read.
    ///   - history: Its earlier rounds, when it comes out of a retry topic.
    ///   - now: This turn's moment.
    ///   - unregisteredSince: What the process's list of dead tokens has against a token.
    /// - Returns: false when it is not taken; see `GroupMembership.recordArrived`.
    @discardableResult
    public mutating func recordArrived(
        _ record: consuming Record,
        decoded: consuming DecodedRecord,
        fingerprint: UInt32? = nil,
        history: RetryHistory? = nil,
        now: Moment,
        unregisteredSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Bool {
        let entry: OffsetLedger.Entry
        switch membership.recordArrived(
            record.partition,
            record.offset,
            fingerprint: fingerprint ?? record.fingerprint
        ) {
        case .taken(let place): entry = place
        case .known:
            counts.skippedSettled += 1
            return false
        case .repeated, nil:
            return false
        }
        counts.consumed += 1
        let rareFacts = RareFacts.kept(history)
        switch consume decoded {
        case .tombstone:
            counts.tombstones += 1
            membership.settle(record.partition, entry)
        case .invalid(let invalid):
            let (id, _) = insert(record, event: nil, rareFacts, entry: entry, now: now)
            conclude(id, as: invalid, now: now)
        case .unreadable(let invalid, let schema):
            let (id, _) = insert(
                record,
                event: nil,
                .kept(history, awaiting: schema),
                entry: entry,
                now: now
            )
            // What it is can be said without the registry; only why cannot.
            if schemaWaits.hasFailed(schema) {
                conclude(id, as: invalid, now: now)
            } else {
                wait(id, for: schema, now: now)
            }
        case .event(let event):
            let (id, arrival) = insert(record, event: event, rareFacts, entry: entry, now: now)
            guard !holdUntilDue(id, arrival, now: now) else { break }
            route(id, arrival, unregisteredSince, now: now)
        case .awaitingSchema(let event, let schema):
            let (id, arrival) = insert(
                record,
                event: event,
                .kept(history, awaiting: schema),
                entry: entry,
                now: now
            )
            guard !holdUntilDue(id, arrival, now: now) else { break }
            wait(id, for: schema, now: now)
        }
        return true
    }

    private mutating func insert(
        _ record: consuming Record,
        event: consuming Event?,
        _ rareFacts: RareFacts?,
        entry: OffsetLedger.Entry,
        now: Moment
    ) -> (DeliveryID, Arrival) {
        let source = source(of: record.partition)
        let arrival = Arrival(
            record: record,
            event: event,
            receivedAt: now,
            rareFacts: rareFacts,
            ledgerEntry: entry,
            source: source
        )
        gate.entered(byteCount: arrival.byteCount)
        shares.entered(source: source, byteCount: arrival.byteCount)
        let id = deliveries.insert(arrival)
        return (id, arrival)
    }

    mutating func route(
        _ id: DeliveryID,
        _ arrival: Arrival,
        _ unregisteredSince: (KeyedHash) -> Timestamp?,
        now: Moment
    ) {
        let choice = settings.routing.route(
            for: arrival.content.destination,
            pushType: arrival.content.pushType,
            environment: arrival.content.environment
        )
        guard let choice else {
            conclude(id, with: .undeliverable(.local(.noCredential), status: nil), now: now)
            return
        }
        let route = Route(credential: choice.credential, environment: choice.environment)
        deliveries.update(id) { $0.route = route }
        guard !arrival.content.isExpired(at: now.timestamp) else {
            conclude(id, with: .expired, now: now)
            return
        }
        guard !endsTooLate(id, arrival, now: now) else { return }
        let hashes = hashes(of: arrival, route.environment, unregisteredSince)
        deliveries.update(id) { $0.hashes = hashes }
        guard !endsUnsent(id, arrival, hashes, now: now) else { return }
        enterFlow(id, arrival, route, device: hashes.token, now: now)
    }
}

extension Event {
    /// Whether `expiration` has passed.
    ///
    /// 0 is no moment: it asks for one attempt without storage.
    @inline(__always)
    public func isExpired(at timestamp: Timestamp) -> Bool {
        guard let expiration, expiration != 0 else { return false }
        return expiration <= timestamp.seconds
    }
}
