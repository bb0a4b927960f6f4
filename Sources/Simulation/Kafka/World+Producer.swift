import Delivery
import Vocabulary

/// A record that a member gave to its producer for an event's outcome.
struct ProducedRecord {
    var event: Int32
    var partition: PartitionID
    var offset: Int64
    /// nil for a retry record.
    var kind: OutcomeKind?
    /// The campaign in an outcome.
    var campaign: CampaignName?
    /// Whether a request was sent for the event before its outcome.
    var isSent = false
    /// Only for a retry record.
    var retry: RetryRecord?
    /// Only for a token-status record.
    var tokenStatus: TokenStatus?
    var publication: Publication
}

/// The content of a retry record, and where it is written.
struct RetryRecord {
    let headers: [RecordHeader]
    let tier: Int
    let dueAt: Timestamp
    /// By the producer's clock.
    let writtenAt: Timestamp
    /// nil: the event's own.
    let value: [UInt8]?
}

/// The members' producers and the topics to which they write.
extension World {
    /// - Parameters:
    ///   - record: The record that the member produces.
    ///   - isFirst: Whether it is produced for the first time.
    ///   - member: The member.
    mutating func publish(_ record: OutgoingRecord, isFirst: Bool, by member: Member) {
        guard let event = event(of: record.arrival) else { return }
        if plan.isTransactional {
            enterTransaction(record.tag.delivery, by: member)
        } else if !isFirst {
            checkRepublication(of: record.tag.delivery, record.tag.publication, by: member)
        }
        produce(record, event, by: member)
    }

    /// Notes that a delivery has ended and which records report it.
    mutating func beginPublishing(
        _ delivery: DeliveryID,
        _ publications: Publications,
        _ facts: Delivery,
        _ event: Int32,
        by member: Member
    ) {
        let pending = Member.Pending(
            event: event,
            recipients: recipients(of: facts),
            fingerprint: facts.arrival.fanOut == nil ? 0 : facts.record.fingerprint,
            partition: facts.record.partition,
            offset: facts.record.offset.rawValue,
            arrivedAt: facts.receivedAt.instant,
            awaited: publications,
            unwritten: publications.union(neededRecords(facts))
        )
        if let outcome = facts.outcome {
            checkPublication(of: delivery, facts, outcome, event, by: member)
        } else if let deferral = facts.deferral {
            coverage.note(.eventPutOff)
            checkDeferral(deferral, of: delivery, facts, pending, by: member)
        } else {
            found(.everyEventHasAnOutcome, "published neither an outcome nor a deferral")
        }
        let isRefused = member.refusedDeferrals.remove(delivery) != nil
        if !isRefused, let assignedAt = member.assignedAt, facts.receivedAt.instant >= assignedAt {
            for event in pending.events { noteEnd(of: event, by: member) }
        }
        if publications.contains(.tokenStatus) {
            member.lastStatuses[events[Int(event)].device] = delivery
        }
        member.publishing[delivery] = pending
        if facts.outcome != nil { noteDeparture(of: pending, by: member) }
    }

    private func neededRecords(_ facts: Delivery) -> Publications {
        facts.outcome.map { Publications(neededFor: $0) } ?? .retry
    }

    func event(of record: Record) -> Int32? {
        let entries = kafka.partitions[record.partition.index].entries
        guard record.offset.rawValue < entries.count else { return nil }
        return entries[Int(record.offset.rawValue)].event
    }

    private mutating func produce(_ record: OutgoingRecord, _ event: Int32, by member: Member) {
        let (arrival, publication) = (record.arrival, record.tag.publication)
        let outcome = record.conclusion.outcome(of: arrival)
        if publication == .deadLetter { checkDeadLetter(arrival, event) }
        produced.append(
            ProducedRecord(
                event: event,
                partition: arrival.record.partition,
                offset: arrival.record.offset.rawValue,
                kind: outcome?.kind,
                campaign: outcome?.subject.campaign,
                isSent: (outcome?.attempts ?? 0) > 0,
                retry: record.conclusion.deferral.map { retryRecord(arrival, $0, by: member) },
                tokenStatus: publication == .tokenStatus
                    ? outcome.map {
                        tokenStatus(of: $0, event, answeredAt: record.conclusion.answeredAt)
                    } : nil,
                publication: publication
            )
        )
        let chances = plan.chances
        var fate = ProduceFate.acknowledged
        if isRefusing(publication) {
            fate = .topicRefuses
        } else if isTooLarge(publication, event) {
            fate = .tooLarge
        } else if strikes(chances.produceRefused, .produce, of: member) {
            fate = .refused
        } else if strikes(chances.acknowledgementLost, .produce, of: member) {
            fate = .acknowledgementLost
        } else if strikes(chances.doubledProduce, .produce, of: member) {
            fate = .doubled
        }
        let request = ProduceRequest(
            member: member.id,
            producer: member.producer,
            transaction: member.transaction,
            tag: record.tag,
            record: produced.count - 1,
            fate: fate
        )
        if let status = produced[request.record].tokenStatus {
            statusLines.produced(request, for: status.device)
        }
        let delay =
            isProduceSlow > 0
            ? dice[.produce, member].milliseconds(100...4000) : latency(.produce, of: member)
        after(delay, .produced(request))
    }

    private func isTooLarge(_ publication: Publication, _ event: Int32) -> Bool {
        switch publication {
        case .deadLetter: events[Int(event)].isOversized
        case .retry: events[Int(event)].isTooLargeToRetry
        case .outcome, .tokenStatus: false
        }
    }

    private mutating func retryRecord(
        _ arrival: Arrival,
        _ deferral: Deferral,
        by member: Member
    ) -> RetryRecord {
        let name = kafka.partitions[arrival.record.partition.index].name
        var history = arrival.history(with: deferral, readFrom: name)
        let dueAt = history.dueAt
        if strikes(plan.chances.forgedRetryHeader, .produce, of: member) {
            coverage.note(.retryHeaderForged)
            history.dueAt = Timestamp(milliseconds: dueAt.milliseconds + 86_400_000)
        }
        let tierName = kafka.retryTopics.delayNames[history.tier]
        let headers = history.headers(over: arrival.record.headers, tierName: tierName)
        var value: [UInt8]?
        if arrival.fanOut != nil {
            value = arrival.value(keeping: deferral.recipients.map(\.index))
            checkRetryRecord(value ?? [], history, deferral, of: arrival)
        }
        return RetryRecord(
            headers: headers,
            tier: history.tier,
            dueAt: dueAt,
            writtenAt: timestamp,
            value: value
        )
    }

    /// Appends the event to its retry topic.
    private mutating func putOff(_ event: Int32, _ retry: RetryRecord, ofSource source: Int) {
        let partition = dice[.retryPartition].element(
            kafka.partitions(ofSource: source, tier: retry.tier)
        )
        retryRecords.append(retry)
        kafka.partitions[partition].entries.append(
            .init(
                event: event,
                retry: Int32(retryRecords.count - 1),
                isResolved: false,
                recipientCount: retry.value.map { Self.recipients(in: $0).count } ?? 0
            )
        )
        wakeOwner(of: PartitionID(index: partition))
    }

    private func isRefusing(_ publication: Publication) -> Bool {
        refusingTopics.contains { $0.contains(publication) }
    }

    mutating func produceReached(_ due: ProduceRequest) {
        guard isKafkaDown == 0 else {
            // librdkafka keeps it until Kafka is available again.
            return after(dice[.report, due.member].seconds(1...5), .produced(due))
        }
        let status = produced[due.record].tokenStatus
        var request = due
        if let status { request = statusLines.arrived(due, for: status.device) }
        let answer =
            if let transaction = request.transaction {
                produceReached(request, inTransaction: transaction)
            } else {
                writtenAtOnce(request)
            }
        guard let member = member(request.member) else { return }
        // Most reports arrive at once; a tenth are delayed, but none with the key of others.
        guard dice[.report, request.member].comesUp(0.1), status == nil else {
            return reported(member, request.producer, request.tag, answer)
        }
        after(
            latency(.report, of: member),
            .deliveryReported(
                request.member,
                producer: request.producer,
                request.tag,
                answer
            )
        )
    }

    /// - Returns: The answer to its producer.
    private mutating func writtenAtOnce(_ request: ProduceRequest) -> ProduceAnswer {
        switch request.fate {
        case .tooLarge: return .batchTooLarge
        case .topicRefuses: return .topicRefuses
        case .refused:
            coverage.note(.produceRefused)
            return .notTaken
        case .acknowledgementLost:
            coverage.note(.acknowledgementLost)
            written(request)
            return .notTaken
        case .doubled:
            coverage.note(.produceDoubled)
            written(request)
            written(request)
            return .taken
        case .acknowledged:
            written(request)
            return .taken
        }
    }

    mutating func deliveryReported(
        _ id: MemberID,
        producer: Int,
        _ tag: PublicationTag,
        _ answer: ProduceAnswer
    ) {
        guard let member = member(id) else { return }
        reported(member, producer, tag, answer)
    }

    private mutating func reported(
        _ member: Member,
        _ producer: Int,
        _ tag: PublicationTag,
        _ answer: ProduceAnswer
    ) {
        guard member.producer == producer else { return }
        defer { wake(member) }
        switch answer {
        case .notTaken:
            if tag.publication == .tokenStatus { noteStatusWaits(of: member) }
            member.engine.publicationFailed(tag, now: moment)
        case .topicRefuses:
            coverage.note(.topicRefused)
            if tag.publication == .tokenStatus { noteStatusWaits(of: member) }
            member.engine.publicationFailed(tag, .topic, now: moment)
        case .batchTooLarge: batchRefused(tag, by: member)
        case .taken:
            let record = member.engine.published(tag)
            noteAcknowledged(record, tag, by: member)
            acknowledged(tag, by: member)
        }
    }

    /// Sends the records of the refused batch one by one; gives up a record that was already alone.
    private mutating func batchRefused(_ tag: PublicationTag, by member: Member) {
        let isAlone =
            plan.isTransactional
            ? member.engine.lend { $0.transactions?.isAlone(tag.delivery) == true }
            : !member.singles.insert(tag).inserted
        guard isAlone else {
            coverage.note(.batchRefused)
            return member.engine.publicationFailed(tag, .batch, now: moment)
        }
        guard let pending = member.publishing[tag.delivery] else { return }
        guard isTooLarge(tag.publication, pending.event) else {
            return found(
                .droppedForACause,
                "\(tag.publication) of event \(pending.event) is not too large"
            )
        }
        coverage.note(.recordGivenUp)
        guard tag.publication != .retry else {
            return retryRefused(tag.delivery, pending, by: member)
        }
        _ = member.engine.publicationAbandoned(tag, now: moment)
        dropped(tag, by: member)
    }

    /// Completes the outcome without this record.
    private mutating func dropped(_ tag: PublicationTag, by member: Member) {
        guard var pending = member.publishing[tag.delivery] else { return }
        pending.unwritten.remove(tag.publication)
        member.publishing[tag.delivery] = pending
        // It may have entered the transaction in this turn, together with the dropped record.
        if let place = member.transaction, transactions[place].deliveries[tag.delivery] != nil {
            transactions[place].deliveries[tag.delivery] = pending
        }
        resolve(pending)
        acknowledged(tag, by: member)
    }

    /// Drops a token status that waits for its topic, or is outdated.
    mutating func carryOut(_ record: DroppedRecord, for member: Member) {
        if record.isOutdated {
            coverage.note(.tokenStatusOutdated)
            checkOutdated(record.tag, by: member)
        } else {
            checkDropped(record.tag, by: member)
            coverage.note(.tokenStatusDropped)
        }
        dropped(record.tag, by: member)
    }

    /// Notes that the member no longer waits for the record.
    private mutating func acknowledged(_ tag: PublicationTag, by member: Member) {
        member.singles.remove(tag)
        if !plan.isTransactional, var pending = member.publishing[tag.delivery] {
            pending.awaited.remove(tag.publication)
            member.publishing[tag.delivery] = pending.awaited.isEmpty ? nil : pending
            if pending.awaited.isEmpty {
                if tag.publication == .retry { noteDeparture(of: pending, by: member) }
                settled(pending, by: member)
            }
        }
    }

    /// Whether a record arrived since its partition was assigned, or was read again as a new one.
    func isOfThisAssignment(
        _ arrivedAt: Instant,
        _ partition: PartitionID,
        _ member: Member
    ) -> Bool {
        guard let assignedAt = member.assignedAt, let index = member.cursorIndex(of: partition)
        else { return false }
        return arrivedAt >= member.cursors[index].restartedAt ?? assignedAt
    }

    /// Notes that the record is done, as far as the member can know.
    mutating func settled(_ pending: Member.Pending, by member: Member) {
        guard isOfThisAssignment(pending.arrivedAt, pending.partition, member),
            let index = member.cursorIndex(of: pending.partition)
        else { return }
        guard !pending.recipients.isEmpty else {
            return member.cursors[index].settle(pending.offset)
        }
        member.cursors[index].settle(
            pending.recipients.map(\.index),
            at: pending.offset,
            of: pending.fingerprint
        )
    }

    /// A fatal error: the producer is replaced, and all its unacknowledged records are lost.
    mutating func producerFailed() {
        again(plan.intervals.producerFailure, .producerFailed)
        guard areFaultsOn, !members.isEmpty else { return }
        let member = dice[.members].element(members)
        guard !plan.isTransactional else {
            member.engine.transactionalProducerFailed(.unusable, now: moment)
            return wake(member)
        }
        coverage.note(.producerReplaced)
        member.producer += 1
        talliesLost(by: member)
        member.engine.producerReplaced()
        wake(member)
    }

    /// Stores the record in Kafka, where all members can read it.
    private mutating func written(_ request: ProduceRequest) {
        let record = produced[request.record]
        appear(record, from: request)
        guard let member = member(request.member),
            var pending = member.publishing[request.tag.delivery]
        else { return }
        pending.unwritten.remove(record.publication)
        member.publishing[request.tag.delivery] = pending
        resolve(pending)
    }

    /// Marks the event as resolved once all records of its outcome are in Kafka.
    ///
    /// In a transaction, its commit does that.
    private mutating func resolve(_ pending: Member.Pending) {
        guard !plan.isTransactional, pending.unwritten.isEmpty else { return }
        markResolved(pending)
    }

    /// Marks what the delivery reports as resolved.
    ///
    /// The log of a record with recipients may have been cut while some of them waited.
    mutating func markResolved(_ pending: Member.Pending) {
        let (partition, offset) = (pending.partition.index, Int(pending.offset))
        let entries = kafka.partitions[partition].entries
        guard entries.indices.contains(offset), entries[offset].event == head(of: pending.event)
        else { return }
        kafka.partitions[partition].entries[offset].resolve(pending.recipients.map(\.index))
    }

    mutating func appear(_ record: ProducedRecord, from request: ProduceRequest) {
        if let retry = record.retry {
            let source = kafka.partitions[record.partition.index].source
            putOff(record.event, retry, ofSource: source)
        }
        if let status = record.tokenStatus {
            checkStatusOrder(status, from: request)
            tokenStatusWritten(status)
        }
        if record.publication == .outcome, let kind = record.kind {
            let event = Int(record.event)
            if events[event].outcomes > 0 { coverage.note(.outcomeRepeated) }
            events[event].outcomes += 1
            events[event].kind = kind
            noteWritten(record)
            if kind != .duplicate { events[event].endedByItself = true }
            coverage.note(Coverage.Fact(kind))
        }
    }
}

extension Conclusion {
    /// When APNs last answered a request for the event; nil: it has not, or the event goes on.
    fileprivate var answeredAt: Instant? {
        if case .ended(let ending) = self { ending.answeredAt } else { nil }
    }
}

extension Coverage.Fact {
    init(_ kind: OutcomeKind) {
        self =
            switch kind {
            case .accepted: .outcomeAccepted
            case .unregistered: .outcomeUnregistered
            case .rejected: .outcomeRejected
            case .invalid: .outcomeInvalid
            case .expired: .outcomeExpired
            case .suppressed: .outcomeSuppressed
            case .duplicate: .outcomeDuplicate
            case .undeliverable: .outcomeUndeliverable
            case .cancelled: .outcomeCancelled
            }
    }
}
