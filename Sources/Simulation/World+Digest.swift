import Delivery
import Vocabulary

/// What each member decides, mixed into the run's digest.
///
/// A delivery is named by the place of its record in Kafka: its identifier is the engine's own.
extension World {
    mutating func mix(_ action: Action, of member: Member) {
        switch action {
        case .connect(let connection, let route):
            mix([0, connection.word, UInt64(route.index)], into: .connections, of: member)
        case .ping(let connection):
            mix([1, connection.word], into: .connections, of: member)
        case .drain(let connection):
            mix([2, connection.word], into: .connections, of: member)
        case .drainStalled(let connection):
            mix([3, connection.word], into: .connections, of: member)
        case .close(let connection, _):
            mix([4, connection.word], into: .connections, of: member)
        case .send(let delivery, let connection):
            mix(record(of: delivery, by: member) + [connection.word], into: .sends, of: member)
        case .cancel(let delivery, let connection):
            mix(record(of: delivery, by: member) + [connection.word], into: .cancels, of: member)
        case .refreshProviderToken(let credential, let sentAt):
            mix([UInt64(credential), sentAt.word], into: .tokenRefreshes, of: member)
        case .fetchSchema(let schema):
            mix([schema.name.word], into: .schemas, of: member)
        case .suppressToken(let token, let since):
            mix([0, token.rawValue, since.word], into: .tokenWords, of: member)
        case .readmitToken(let token):
            mix([1, token.rawValue], into: .tokenWords, of: member)
        case .publish(let delivery, let publications):
            guard let facts = member.delivery(delivery) else { return }
            for publication in Publication.allCases where publications.contains(publication) {
                mix(words(of: publication, facts), into: .publications, of: member)
            }
        case .publishAgain(let delivery, let publication):
            guard let facts = member.delivery(delivery) else { return }
            mix(words(of: publication, facts) + [1], into: .publications, of: member)
        case .transact(let step):
            mix(step, of: member)
        case .stop(let end):
            mix([7, end == .inDoubt ? 0 : 1], into: .transactions, of: member)
        case .fetchStoredOffsets(let partitions):
            mix([0] + partitions.map(\.word), into: .assignments, of: member)
        case .assign(let starts):
            let words = starts.flatMap { [$0.partition.word, UInt64(bitPattern: position($0))] }
            mix([1] + words, into: .assignments, of: member)
        case .unassign:
            mix([2], into: .assignments, of: member)
        case .leaveGroup:
            mix([3], into: .assignments, of: member)
        case .commit(let commits):
            mix(commits, of: member)
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
        guard let record = member.delivery(delivery)?.record else { return [] }
        return [record.partition.word, UInt64(bitPattern: record.offset.rawValue)]
    }

    /// What the record of a delivery says.
    private func words(of publication: Publication, _ facts: Delivery) -> [UInt64] {
        var words = [
            UInt64(publication.rawValue), facts.record.partition.word,
            UInt64(bitPattern: facts.record.offset.rawValue),
        ]
        if let outcome = facts.outcome {
            words += [
                outcome.kind.rawValue.word, (outcome.reason?.text ?? "").word,
                outcome.tokenAction.rawValue.word, UInt64(outcome.httpStatus ?? 0),
                UInt64(outcome.attempts), outcome.unregisteredAt?.word ?? 0,
                outcome.isTokenReadmitted ? 1 : 0, outcome.completedAt.word,
            ]
        } else if let deferral = facts.deferral {
            words += [UInt64(deferral.tier), deferral.dueAt.word]
        }
        return words
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
