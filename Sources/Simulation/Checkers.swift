import Delivery
package import Vocabulary

/// A broken promise, as seen from outside the service.
package struct Finding: Hashable, Sendable, CustomStringConvertible {
    package enum Promise: String, Hashable, Sendable {
        case everyEventHasAnOutcome
        case committedOnlyAfterOutcome
        case streamLimitKept
        case intakeBounded
        case drains
        case accountingHolds
        case noRepeatWithoutCause
    }

    package let promise: Promise
    package let detail: String
    package let at: Instant

    package var description: String {
        "\(promise.rawValue) at \(Double(at.nanoseconds) / 1e9) s: \(detail)"
    }
}

extension World {
    private mutating func found(_ promise: Finding.Promise, _ detail: String) {
        findings.append(Finding(promise: promise, detail: detail, at: now))
    }

    /// No offset is committed before every record below it has an acknowledged outcome.
    mutating func checkCommit(_ commit: PartitionCommit) {
        let log = kafka.log[commit.partition.index]
        let from = Int(kafka.committed[commit.partition.index] ?? 0)
        let to = Int(commit.offset.rawValue)
        guard from <= to, to <= log.count else { return }
        for position in from..<to where log[position].outcomes.isEmpty {
            if log[position].isTombstone { continue }
            found(.committedOnlyAfterOutcome, "partition \(commit.partition.index), \(position)")
        }
        checkMetadata(commit)
    }

    /// Nor does the metadata call a record settled that has no outcome.
    private mutating func checkMetadata(_ commit: PartitionCommit) {
        let log = kafka.log[commit.partition.index]
        let name = kafka.partitions[commit.partition]
        let settled: SettledOffsets
        do throws(CommitMetadata.Problem) {
            settled = try CommitMetadata(commit.metadata, base: commit.offset, of: name).settled
        } catch {
            found(.committedOnlyAfterOutcome, "metadata that nobody can read: \(error)")
            return
        }
        let positions = Int(commit.offset.rawValue)..<Int(settled.horizon.rawValue)
        for position in positions where settled.isSettled(Offset(Int64(position))) {
            guard position < log.count, log[position].outcomes.isEmpty, !log[position].isTombstone
            else { continue }
            found(
                .committedOnlyAfterOutcome,
                "partition \(commit.partition.index), \(position) by metadata"
            )
        }
    }

    mutating func checkStreamOpened(on connection: Member.Connection) {
        if !connection.isOpen || connection.isDraining {
            found(.streamLimitKept, "stream on a connection that takes none")
        }
        if connection.streams.count > connection.limit {
            found(.streamLimitKept, "\(connection.streams.count) over \(connection.limit)")
        }
    }

    mutating func checkBounds(_ id: MemberID) {
        guard let engine = members[id]?.engine else { return }
        if engine.inFlightEvents > plan.inFlightLimit {
            found(.intakeBounded, "\(engine.inFlightEvents) over \(plan.inFlightLimit)")
        }
        let counts = engine.counts
        let inHand =
            engine.inFlightEvents + counts.terminal + counts.tombstones + counts.released
            + counts.deferred
        if counts.consumed != inHand {
            found(.accountingHolds, "consumed \(counts.consumed), accounted \(inHand)")
        }
    }

    mutating func checkEnd() {
        guard findings.isEmpty else { return }
        for (index, log) in kafka.log.enumerated() {
            if (kafka.committed[index] ?? 0) != Int64(log.count) {
                let committed = kafka.committed[index] ?? 0
                found(.drains, "partition \(index): \(committed) of \(log.count) committed")
            }
            for (position, entry) in log.enumerated() where !entry.isTombstone {
                if entry.outcomes.isEmpty {
                    found(.everyEventHasAnOutcome, "partition \(index), \(position)")
                }
                if entry.outcomes.count > 1, isCalm {
                    found(.noRepeatWithoutCause, "partition \(index), \(position)")
                }
            }
        }
    }

    /// Without deaths and rebalances nothing may have two outcomes.
    private var isCalm: Bool {
        plan.members == 1 && plan.crashEvery == nil && plan.restartEvery == nil
            && plan.fenceEvery == nil && plan.publicationFails == 0
    }
}
