import Delivery
import Vocabulary

/// Which recipients of a record are settled.
struct MarkedRecipients {
    /// The record's.
    let fingerprint: UInt32
    /// By their index in the record.
    var settled: [Bool]

    /// Whether some are, but not all.
    var isPartial: Bool { settled.contains(true) && settled.contains(false) }
}

/// Recipients: how a member reads them one by one, and what it knows of them.
extension World {
    /// Passes recipients to the engine, as many as it has room for, or as there is time for.
    mutating func takeRecipients(_ member: Member) {
        var rest: Int?
        while let next = member.engine.nextRecipient(now: now) {
            let left = rest ?? mostRecipients(of: member)
            guard left > 0 else { return coverage.note(.recipientsReadInParts) }
            rest = left - 1
            take(next, by: member)
        }
    }

    /// How many recipients the member has time for in this turn.
    private mutating func mostRecipients(of member: Member) -> Int {
        strikes(0.3, .recipients, of: member) ? dice[.recipients, member].number(1...20) : 300
    }

    private mutating func take(_ next: NextRecipient, by member: Member) {
        let place = RecordPlace(of: next.arrival.record, recipient: next.index)
        guard let event = recipient(next.index, of: next.arrival) else {
            return found(.everyEventHasAnOutcome, "\(place) is no recipient")
        }
        let arrival = reader.read(
            recipient: next.index,
            of: next.arrival,
            deadSince: deadSince(by: member)
        )
        member.engine.recipientArrived(next, arrival, now: moment)
        let isRefused = member.refusedRecipients.contains(Reading(arrival))
        if !isRefused { checkIsUnsettled(place, arrival, by: member) }
        noteArrival(of: event, arrival, isSendable: !isRefused && arrival.isEvent, by: member)
    }

    /// Notes that a member has taken a record with recipients.
    mutating func noteRecord(_ arrival: Arrival, cursor index: Int, of member: Member) {
        guard let fanOut = arrival.fanOut else { return }
        coverage.note(.fanOutArrived)
        let (partition, offset) = (arrival.record.partition, arrival.record.offset.rawValue)
        var marks = MarkedRecipients(
            fingerprint: arrival.record.fingerprint,
            settled: Array(repeating: false, count: fanOut.recipients.count)
        )
        if let before = member.recipientsBefore[partition]?[offset],
            before.fingerprint == marks.fingerprint,
            before.settled.count == marks.settled.count
        {
            coverage.note(.fanOutResumed)
            marks = before
        }
        member.cursors[index].recipients[offset] = marks
    }

    /// Notes a record that is partly settled when its member loses it.
    mutating func notePartlySettled(_ fact: Coverage.Fact, by member: Member) {
        guard plan.fanOuts.share > 0 else { return }
        let records = member.cursors.lazy.flatMap(\.recipients.values)
        if records.contains(where: \.isPartial) { coverage.note(fact) }
    }

    /// The recipients that a delivery reports; none if it is a whole record.
    func recipients(of facts: Delivery) -> [(index: Int, event: Int32)] {
        let own = facts.arrival.recipient.map { [$0] }
        let indices = own ?? facts.deferral?.recipients.map(\.index) ?? []
        return indices.compactMap { index in
            recipient(index, of: facts.arrival).map { (index, $0) }
        }
    }

    /// Kafka refused the retry record for good: its events end, recipients once read again.
    mutating func retryRefused(_ delivery: DeliveryID, _ pending: Member.Pending, by member: Member)
    {
        member.engine.deferralRefused(delivery, now: moment)
        member.publishing[delivery] = nil
        if let place = member.transaction { transactions[place].deliveries[delivery] = nil }
        if pending.recipients.isEmpty {
            coverage.note(.retryRefused)
            member.refusedDeferrals.insert(delivery)
        } else {
            coverage.note(.recipientsRefused)
            let readings = pending.places.map { pending.reading(of: $0.place) }
            member.refusedRecipients.formUnion(readings)
        }
    }
}

extension Member.Cursor {
    /// Notes recipients of a record as settled.
    mutating func settle(_ recipients: [Int], at offset: Int64, of fingerprint: UInt32) {
        guard var marks = self.recipients[offset], marks.fingerprint == fingerprint else { return }
        for index in recipients where marks.settled.indices.contains(index) {
            marks.settled[index] = true
        }
        self.recipients[offset] = marks.settled.contains(false) ? marks : nil
        if !marks.settled.contains(false) { settle(offset) }
    }
}
