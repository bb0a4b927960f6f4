import APNsRules
package import Vocabulary

extension DeliveryEngine {
    /// A record arrived from Kafka.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - decoded: What it turned out to be.
    ///   - history: Its earlier rounds, when it comes out of a retry topic.
    ///   - now: This turn's moment.
    ///   - unregisteredSince: What the process's list of dead tokens has against a token.
    /// - Returns: false when it is not taken; see `GroupMembership.recordArrived`.
    @discardableResult
    package mutating func recordArrived(
        _ record: Record,
        decoded: DecodedRecord,
        history: RetryHistory? = nil,
        now: Moment,
        unregisteredSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Bool {
        let entry: OffsetLedger.Entry
        switch membership.recordArrived(record.partition, record.offset) {
        case .taken(let place): entry = place
        case .known:
            counts.skippedSettled += 1
            return false
        case .repeated, nil:
            counts.ignored += 1
            return false
        }
        counts.consumed += 1
        switch decoded {
        case .tombstone:
            counts.tombstones += 1
            membership.settle(record.partition, entry)
        case .invalid(let invalid):
            let id = insert(record, event: nil, history, entry: entry, now: now)
            conclude(id, with: .invalid(invalid), now: now)
        case .event(let event):
            let id = insert(record, event: event, history, entry: entry, now: now)
            guard !holdUntilDue(id, now: now) else { break }
            route(event, id, unregisteredSince, now: now)
        case .awaitingSchema(let event, let schema):
            let id = insert(record, event: event, history, entry: entry, now: now)
            deliveries.update(id) { $0.awaitedSchema = schema }
            guard !holdUntilDue(id, now: now) else { break }
            wait(id, for: schema, now: now)
        }
        return true
    }

    private mutating func insert(
        _ record: Record,
        event: Event?,
        _ history: RetryHistory?,
        entry: OffsetLedger.Entry,
        now: Moment
    ) -> DeliveryID {
        let arrival = Arrival(
            record: record,
            event: event,
            receivedAt: now,
            history: history,
            ledgerEntry: entry,
            source: source(of: record.partition)
        )
        gate.entered(byteCount: arrival.byteCount)
        shares.entered(source: arrival.source, byteCount: arrival.byteCount)
        return deliveries.insert(Delivery(arrival: arrival, phase: .waitingForStream))
    }

    mutating func route(
        _ event: Event,
        _ id: DeliveryID,
        _ unregisteredSince: (KeyedHash) -> Timestamp?,
        now: Moment
    ) {
        let choice = settings.routing.route(
            for: event.destination,
            pushType: event.pushType,
            environment: event.environment
        )
        guard let choice else {
            conclude(id, with: .undeliverable(.local(.noCredential), status: nil), now: now)
            return
        }
        let route = Route(credential: choice.credential, environment: choice.environment)
        let topic = APNsTopicRule.topic(of: event)
        deliveries.update(id) {
            $0.route = route
            $0.topic = topic
        }
        guard !event.isExpired(at: now.timestamp) else {
            conclude(id, with: .expired, now: now)
            return
        }
        let hashes = hashes(of: event, topic, route.environment)
        guard !endsUnsent(id, event, hashes, unregisteredSince: unregisteredSince, now: now)
        else { return }
        enterFlow(id, event, route, device: hashes.token, now: now)
    }
}

extension Event {
    /// Whether `expiration` has passed.
    ///
    /// 0 is no moment: it asks for one attempt without storage.
    func isExpired(at timestamp: Timestamp) -> Bool {
        guard let expiration, expiration != 0 else { return false }
        return expiration <= timestamp.seconds
    }
}
