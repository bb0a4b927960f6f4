import Delivery
import Vocabulary

extension World {
    /// Checks that only valid notifications are sent, one for a token that is listed twice.
    mutating func checkIsSendable(_ event: Int32) {
        let content = events[Int(event)].content
        guard content != .notification else { return }
        found(.outcomeIsTrue, "event \(event) was sent, which is \(content)")
    }

    /// Checks that nothing is sent before its schema is known.
    mutating func checkSchema(of event: SimulatedEvent, by member: Member) {
        guard let schema = event.schema, !member.knownSchemas.contains(schema) else { return }
        found(.sentOnceItsSchemaIsKnown, "event \(event.identity)")
    }

    /// Checks that an outcome names its recipient, and whether an earlier one has its token.
    mutating func checkRecipient(_ outcome: Outcome, _ event: Int32) {
        let facts = events[Int(event)]
        if outcome.subject.recipient != facts.recipient?.place {
            found(
                .recipientsAreNamed,
                "event \(event) is \(String(describing: facts.recipient?.place)), "
                    + "not \(String(describing: outcome.subject.recipient))"
            )
        }
        let isRepeated = outcome.reason == .local(.duplicateRecipient)
        if isRepeated != (facts.content == .repeated) {
            found(.outcomeIsTrue, "event \(event) is \(facts.content), not \(outcome.kind)")
        }
        guard facts.recipient != nil else { return }
        if isRepeated { coverage.note(.recipientRepeated) }
        if outcome.kind == .invalid { coverage.note(.recipientInvalid) }
    }

    /// Promise 2: a recipient that is settled is not read again.
    ///
    /// It is settled if its member has settled it, or if the group's metadata says so.
    mutating func checkIsUnsettled(_ place: RecordPlace, _ arrival: Arrival, by member: Member) {
        guard let index = member.cursorIndex(of: place.partition) else {
            return found(.ownedWhenSent, "\(place) of a partition that is somebody else's")
        }
        let cursor = member.cursors[index]
        // The same record may be in hand twice, if its log was read again.
        if let restartedAt = cursor.restartedAt, arrival.receivedAt.instant < restartedAt { return }
        guard let marks = cursor.recipients[place.offset],
            marks.fingerprint == arrival.record.fingerprint,
            marks.settled[Int(place.recipient)]
        else { return }
        found(.noRepeatWithoutCause, "\(place) was settled")
    }

    /// Checks that a retry record has exactly the recipients that are deferred, by their places in
    /// the event.
    mutating func checkRetryRecord(
        _ value: [UInt8],
        _ history: RetryHistory,
        _ deferral: Deferral,
        of arrival: Arrival
    ) {
        let all = deferral.recipients.isEmpty
        let written = Self.recipients(in: value)
        let wanted =
            all
            ? Self.recipients(in: arrival.record.value ?? [])
            : deferral.recipients.compactMap { recipient($0.index, of: arrival) }
        if written != wanted {
            found(.retryRecordsAreTrue, "with \(written) instead of \(wanted)")
        }
        let places = written.map { events[Int($0)].recipient?.place }
        guard !all, history.recipients.map(\.place) != places else { return }
        found(.retryRecordsAreTrue, "\(written) have other places")
    }

    /// Checks that a recipient's dead letter has this recipient only.
    mutating func checkDeadLetter(_ arrival: Arrival, _ event: Int32) {
        guard let recipient = arrival.recipient else { return }
        let written = Self.recipients(in: arrival.value(keeping: [recipient]) ?? [])
        guard written != [event] else { return }
        found(.retryRecordsAreTrue, "a dead letter with \(written) instead of \(event)")
    }

    /// Whether the member's transaction has the last recipients of a record.
    private func isSettled(
        _ offset: Int64,
        _ marks: MarkedRecipients,
        byTransactionOf member: Member,
        _ partition: PartitionID
    ) -> Bool {
        guard let place = member.transaction else { return false }
        var settled = marks.settled
        for pending in transactions[place].deliveries.values
        where pending.partition == partition && pending.offset == offset {
            for (index, _) in pending.recipients { settled[index] = true }
        }
        return !settled.contains(false)
    }

    /// Promise 1: a recipient that a commit calls settled has an outcome in Kafka.
    mutating func checkRecipientsAreEarned(
        _ commit: PartitionCommit,
        _ reader: CommitMetadataReader
    ) {
        let entries = kafka.partitions[commit.partition.index].entries
        for (offset, marks) in reader.recipients {
            let entry = entries[Int(offset)]
            guard let event = entry.event,
                record(event, at: offset, of: commit.partition).fingerprint == marks.fingerprint,
                entry.recipients.count == marks.settled.count
            else {
                return found(
                    .committedOnlyAfterOutcome,
                    "recipients of another record at \(offset)"
                )
            }
            for (index, isSettled) in marks.settled.enumerated()
            where isSettled && !entry.isResolved(recipient: index) {
                return found(
                    .committedOnlyAfterOutcome,
                    "\(commit) calls recipient \(index) of \(offset) settled"
                )
            }
        }
    }

    /// Promise 2: settled recipients are in the next commit, unless there is no room for them.
    ///
    /// Those of the first records are in it first.
    mutating func checkRecipientsAreComplete(
        _ commit: PartitionCommit,
        _ reader: CommitMetadataReader,
        _ cursor: Member.Cursor,
        by member: Member
    ) {
        // A record with a thousand recipients takes at most 179 characters.
        let hasRoom = plan.metadataLimit == 4096 && commit.metadata.utf8.count < 3900
        let last = reader.recipients.keys.max() ?? -1
        // Those that the member has not read yet are known from the metadata at its start.
        let before = member.recipientsBefore[commit.partition] ?? [:]
        let unread = before.filter { $0.key >= cursor.position }
        for (offset, marks) in cursor.recipients.merging(unread, uniquingKeysWith: { $1 })
        where offset >= commit.offset.rawValue && !reader.settled.contains(offset)
            && marks.settled.contains(true)
        {
            let written = reader.recipients[offset]
            let isWhole = zip(marks.settled, written?.settled ?? []).allSatisfy { !$0 || $1 }
            if let written, written.fingerprint == marks.fingerprint, isWhole { continue }
            // Then it counts as a settled record, which the next commit must have.
            if isSettled(offset, marks, byTransactionOf: member, commit.partition) { continue }
            coverage.note(.recipientsDropped)
            // If there is no room for an earlier one, there is none for a later one.
            guard hasRoom || written != nil || offset < last else { continue }
            return found(
                .everythingSettledIsCommitted,
                "\(commit) leaves recipients of \(offset) out"
            )
        }
    }
}
