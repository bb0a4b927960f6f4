package import Delivery
import EventCodec
package import KafkaIO
package import Vocabulary

/// Encodes the records of a concluded delivery.
///
/// These are the outcome, the token status, the dead letter, and the retry record.
package struct OutcomeRecords: ~Copyable {
    /// A record in the form that the producer takes.
    package struct Encoded: ~Copyable {
        package let topic: KafkaTopic
        package let key: [UInt8]?
        package let value: [UInt8]?
        package let headers: HeaderList?
    }

    private let topics: OutcomeTopics
    private var encoder = OutcomeEncoder()
    private var value: [UInt8] = []
    /// Deliveries whose outcomes were too large; they are published without metadata.
    private var shortened: Set<DeliveryID> = []

    package init(topics: OutcomeTopics) {
        self.topics = topics
    }

    /// Encodes a record.
    ///
    /// - Parameters:
    ///   - record: The record as decided by the engine.
    ///   - source: The partition from which the event was last read.
    /// - Returns: nil if the record's topic is not configured.
    package mutating func encode(
        _ record: OutgoingRecord,
        source: TopicPartition
    ) -> Encoded? {
        switch record.conclusion {
        case .deferred(let deferral): retryRecord(of: record.arrival, deferral, source)
        case .ended(let ending): outcomeRecord(record.tag, of: record.arrival, ending, source)
        }
    }

    /// Encodes a record of the tally topic.
    ///
    /// - Returns: nil if there is no such topic.
    func encode(_ record: TallyRecord, source: TopicPartition, now: Moment) -> Encoded? {
        guard let topic = topics.campaignTally, let campaign = record.campaign else { return nil }
        let tally = CampaignTallyRecord(
            campaign,
            source,
            owner: record.owner,
            record.counts,
            updatedAt: now.timestamp
        )
        return Encoded(topic: topic, key: tally.key, value: tally.value, headers: nil)
    }

    /// The outcome is too large: from now on it is written without parts copied from the record.
    package mutating func shorten(_ id: DeliveryID) { shortened.insert(id) }

    /// All records of the delivery are written, or will never be.
    package mutating func concluded(_ id: DeliveryID) {
        if !shortened.isEmpty { shortened.remove(id) }
    }

    /// The event with the recipients that are retried, otherwise unchanged, and with the history
    /// for the next round.
    private func retryRecord(
        of arrival: Arrival,
        _ deferral: Deferral,
        _ source: TopicPartition
    ) -> Encoded {
        let history = arrival.history(with: deferral, readFrom: source)
        let record = arrival.record
        return Encoded(
            topic: topics.retry.topic(forEventOf: source.topic, tier: history.tier),
            key: record.key(for: arrival.event?.deviceToken),
            value: arrival.value(keeping: deferral.recipients.map(\.index)),
            headers: HeaderList(
                history.headers(
                    over: record.headers,
                    tierName: topics.retry.delayNames[history.tier]
                )
            )
        )
    }

    /// One of the outcome's records; `source` is the partition from which the event was last read.
    private mutating func outcomeRecord(
        _ tag: PublicationTag,
        of arrival: Arrival,
        _ ending: Ending,
        _ source: TopicPartition
    ) -> Encoded? {
        let outcome = arrival.outcome(ending)
        // Only the outcome: a dead letter is the unchanged event, or is not written.
        if !shortened.isEmpty, tag.publication == .outcome, shortened.contains(tag.delivery) {
            return shortOutcome(outcome, of: arrival, ending, source)
        }
        guard !arrival.isRetry, arrival.record.headers.isEmpty else {
            return originalRecord(tag.publication, outcome, of: arrival, ending, source)
        }
        return encoded(
            tag.publication,
            outcome,
            of: arrival,
            arrival.record,
            source,
            times(arrival, ending)
        )
    }

    /// For the record from which the event was first read, whatever rounds followed.
    private mutating func originalRecord(
        _ publication: Publication,
        _ outcome: Outcome,
        of arrival: Arrival,
        _ ending: Ending,
        _ source: TopicPartition
    ) -> Encoded? {
        let origin = arrival.origin(readFrom: source)
        var record = arrival.record
        record.offset = origin.offset
        record.headers = RetryHistory.stripped(record.headers)
        return encoded(
            publication,
            outcome,
            of: arrival,
            record,
            origin.partition,
            times(arrival, ending)
        )
    }

    /// Leaves out the parts that the outcome copies from the record, which can be as large as the
    /// record.
    private mutating func shortOutcome(
        _ outcome: Outcome,
        of arrival: Arrival,
        _ ending: Ending,
        _ source: TopicPartition
    ) -> Encoded? {
        let origin = arrival.origin(readFrom: source)
        var outcome = outcome
        outcome.subject.metadata = nil
        var record = arrival.record
        record.offset = origin.offset
        record.key = nil
        record.headers = []
        record.traceContext = []
        return encoded(
            .outcome,
            outcome,
            of: arrival,
            record,
            origin.partition,
            times(arrival, ending)
        )
    }

    private mutating func encoded(
        _ publication: Publication,
        _ outcome: Outcome,
        of arrival: Arrival,
        _ record: Record,
        _ source: TopicPartition,
        _ times: DeliveryTimes?
    ) -> Encoded? {
        value.removeAll(keepingCapacity: true)
        switch publication {
        case .outcome:
            encoder.encode(outcome, record: record, source: source, into: &value)
            return Encoded(
                topic: topics.results,
                key: encoder.key(outcome, record: record),
                value: value,
                headers: headers(of: outcome, record, times)
            )
        case .tokenStatus:
            guard let topic = topics.tokenStatus, let status = encoder.tokenStatus(outcome)
            else { return nil }
            return Encoded(topic: topic, key: status.key, value: status.value, headers: nil)
        case .deadLetter:
            guard let topic = topics.deadLetters else { return nil }
            return Encoded(
                topic: topic,
                key: record.key(for: outcome.subject.deviceToken),
                value: arrival.value(keeping: arrival.recipient.map { [$0] } ?? []),
                headers: HeaderList(
                    topics.deadLetterHeaders.headers(outcome, record: record, source: source)
                )
            )
        case .retry: return nil
        }
    }

    private func headers(
        of outcome: Outcome,
        _ record: Record,
        _ times: DeliveryTimes?
    ) -> HeaderList {
        let headers = HeaderList(capacity: 8)
        OutcomeEncoder.forEachHeader(of: outcome, record: record) { headers.add($0, $1) }
        if let times {
            for header in times.headers { headers.add(header) }
        }
        return headers
    }

    /// The times for an outcome's headers; nil: they are not configured.
    ///
    /// They start at the last arrival: an event from a retry topic has arrived again.
    private func times(_ arrival: Arrival, _ ending: Ending) -> DeliveryTimes? {
        guard topics.hasTimingHeaders else { return nil }
        return DeliveryTimes(
            receivedAt: arrival.receivedAt,
            sentAt: ending.sentAt,
            answeredAt: ending.answeredAt
        )
    }
}
