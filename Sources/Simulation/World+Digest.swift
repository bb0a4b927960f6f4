import Delivery
import Vocabulary

/// What each member decides, mixed into the run's digest.
///
/// A delivery is named by the place of its record in Kafka: its identifier is the engine's own.
extension World {
    mutating func mix(_ decision: TurnDecision, of member: Member) {
        for refresh in decision.tokenRefreshes {
            let words = [UInt64(refresh.credential), refresh.sentAt.word]
            mix(words, into: .tokenRefreshes, of: member)
        }
        for cancel in decision.cancels {
            let words = record(of: cancel.delivery, by: member) + [cancel.connection.word]
            mix(words, into: .cancels, of: member)
        }
        for request in decision.sends {
            let words = place(of: request.arrival) + [request.connection.word]
            mix(words, into: .sends, of: member)
        }
        for step in decision.connections { mix(step, of: member) }
        for word in decision.tokenWords {
            let token = word.token.rawValue
            let words = word.deadSince.map { [0, token, $0.word] as [UInt64] } ?? [1, token]
            mix(words, into: .tokenWords, of: member)
        }
        for schema in decision.schemaFetches { mix([schema.name.word], into: .schemas, of: member) }
        for step in decision.transactions { mix(step, of: member) }
        for record in decision.publications {
            mix(words(of: record, by: member), into: .publications, of: member)
        }
        for step in decision.group { mix(step, of: member) }
        if let end = decision.stop {
            mix([7, end == .inDoubt ? 0 : 1], into: .transactions, of: member)
        }
    }

    private mutating func mix(_ step: ConnectionStep, of member: Member) {
        switch step {
        case .connect(let connection, let route):
            mix([0, connection.word, UInt64(route.index)], into: .connections, of: member)
        case .ping(let connection): mix([1, connection.word], into: .connections, of: member)
        case .drain(let connection): mix([2, connection.word], into: .connections, of: member)
        case .drainStalled(let connection):
            mix([3, connection.word], into: .connections, of: member)
        case .close(let connection, _): mix([4, connection.word], into: .connections, of: member)
        }
    }

    private mutating func mix(_ step: GroupStep, of member: Member) {
        switch step {
        case .fetchStoredOffsets(let partitions):
            mix([0] + partitions.map(\.word), into: .assignments, of: member)
        case .assign(let starts):
            let words = starts.flatMap { [$0.partition.word, UInt64(bitPattern: position($0))] }
            mix([1] + words, into: .assignments, of: member)
        case .unassign: mix([2], into: .assignments, of: member)
        case .leave: mix([3], into: .assignments, of: member)
        case .commit(let commits): mix(commits, of: member)
        case .pause(let partitions):
            mix([0] + partitions.map(\.word), into: .pauses, of: member)
        case .resume(let partitions):
            mix([1] + partitions.map(\.word), into: .pauses, of: member)
        }
    }

    private mutating func mix(_ step: TransactionStep, of member: Member) {
        switch step {
        case .open: mix([0], into: .transactions, of: member)
        case .begin: mix([1], into: .transactions, of: member)
        case .commit(let commits):
            mix([2], into: .transactions, of: member)
            mix(commits, of: member)
        case .abort: mix([3], into: .transactions, of: member)
        case .repeatCall: mix([4], into: .transactions, of: member)
        case .replaceProducer: mix([5], into: .transactions, of: member)
        }
    }

    private mutating func mix(_ commits: [PartitionCommit], of member: Member) {
        for commit in commits {
            let offset = UInt64(bitPattern: commit.offset.rawValue)
            mix([commit.partition.word, offset], into: .commits, of: member)
            for byte in commit.metadata.utf8 { digest.mix(UInt64(byte), into: .commits) }
        }
    }

    private mutating func mix(_ words: [UInt64], into kind: Digest.Kind, of member: Member) {
        digest.mix(now.word, into: kind)
        digest.mix(UInt64(UInt32(member.id.number)), into: kind)
        for word in words { digest.mix(word, into: kind) }
    }

    private func record(of delivery: DeliveryID, by member: Member) -> [UInt64] {
        member.delivery(delivery).map { place(of: $0.arrival) } ?? []
    }

    private func place(of arrival: Arrival) -> [UInt64] {
        [arrival.record.partition.word, UInt64(bitPattern: arrival.record.offset.rawValue)]
    }

    /// What a record says that is produced, and whether it is produced again.
    private func words(of record: OutgoingRecord, by member: Member) -> [UInt64] {
        var words = [UInt64(record.tag.publication.rawValue)] + place(of: record.arrival)
        if let outcome = record.conclusion.outcome(of: record.arrival) {
            words += [
                outcome.kind.rawValue.word, (outcome.reason?.text ?? "").word,
                outcome.tokenAction.rawValue.word, UInt64(outcome.httpStatus ?? 0),
                UInt64(outcome.attempts), outcome.unregisteredAt?.word ?? 0,
                outcome.isTokenReadmitted ? 1 : 0, outcome.completedAt.word,
            ]
        } else if let deferral = record.conclusion.deferral {
            words += [UInt64(deferral.tier), deferral.dueAt.word]
        }
        let isAgain = plan.isTransactional || member.publishing[record.tag.delivery] != nil
        return isAgain ? words + [1] : words
    }
}

extension ConnectionID {
    fileprivate var word: UInt64 { UInt64(rawValue) }
}

extension PartitionID {
    fileprivate var word: UInt64 { UInt64(index) }
}

extension Timestamp {
    fileprivate var word: UInt64 { UInt64(bitPattern: milliseconds) }
}

extension Instant {
    var word: UInt64 { UInt64(bitPattern: nanoseconds) }
}

extension String {
    /// FNV-1a; Swift's own hash differs from process to process.
    fileprivate var word: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
