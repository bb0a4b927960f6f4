import Delivery
import Vocabulary

extension World {
    /// Promise 5: the events and bytes in flight stay within their limits, without held retry
    /// records.
    ///
    /// Promise 1: every consumed record has ended, is in flight, or was released; one with
    /// recipients counts for each of them.
    mutating func checkBounds(of member: Member, _ engine: borrowing DeliveryEngine) {
        let held = (engine.heldEvents, engine.heldBytes)
        let inHand = engine.inFlightEvents
        let events = inHand - held.0
        if events > plan.inFlightLimit {
            found(.intakeBounded, "\(events) events over \(plan.inFlightLimit)")
        }
        // A held record pauses its partition.
        let retryPartitions = member.cursors.count { cursor in
            kafka.partitions[cursor.partition.index].tier != nil
        }
        if held.0 > retryPartitions, !member.cursors.isEmpty {
            found(.intakeBounded, "\(held.0) held of \(retryPartitions) partitions")
        }
        // The limit may be exceeded by one record: its size is known only when it has arrived.
        let bytes = engine.inFlightBytes - held.1 - largestRecord
        if bytes > plan.inFlightBytes {
            found(.intakeBounded, "\(bytes) bytes over \(plan.inFlightBytes)")
        }
        // A failed commit is repeated soon, and a first commit comes soon; but the member itself
        // may hang for twenty seconds.
        if let since = member.uncommitted.values.min(), now - since > .seconds(31) {
            found(.everythingSettledIsCommitted, "a commit that failed, or a first one, is missing")
        }
        let counts = engine.counts
        let accounted =
            inHand + engine.waitingRecipients + counts.terminal + counts.tombstones
            + counts.released
            + counts.deferred
        if counts.consumed != accounted {
            found(.accountingHolds, "consumed \(counts.consumed), accounted \(accounted)")
        }
    }

    /// Events that wait for dead letters or retry records may use only a share of the limit.
    ///
    /// Beyond it, the partitions of the waiting events must be paused.
    mutating func checkTopicWaits(of member: Member, _ engine: borrowing DeliveryEngine) {
        let share = max(1, plan.inFlightLimit / 8)
        guard !plan.isTransactional, member.publishing.count >= share, engine.isIntakeOpen
        else { return }
        let waiting = member.publishing.values.filter {
            $0.awaited == .deadLetter || $0.awaited == .retry
        }
        guard waiting.count >= share else { return }
        coverage.note(.partitionWaitsForTopic)
        let goOn = Set(waiting.map(\.partition)).filter { partition in
            member.cursorIndex(of: partition) != nil && !engine.isPaused(partition)
        }
        guard let partition = goOn.min() else { return }
        found(
            .topicWaitsBounded,
            "\(waiting.count) wait, and partition \(partition.index) goes on"
        )
    }

    mutating func noteStatusWaits(of member: Member) {
        let waiting = member.publishing.values.count { $0.awaited == .tokenStatus }
        member.mostStatusWaits = max(member.mostStatusWaits, waiting)
    }

    /// A token status is dropped only if more of them wait than the limit allows.
    mutating func checkDropped(_ tag: PublicationTag, by member: Member) {
        guard !plan.isTransactional else { return }
        let waiting = member.mostStatusWaits
        let bytes = waiting * largestRecord * 2
        guard
            tag.publication != .tokenStatus
                || waiting <= max(1, plan.inFlightLimit / 8) && bytes <= plan.inFlightBytes / 8
        else { return }
        found(.droppedForACause, "\(tag.publication), while \(waiting) wait")
    }

    /// Promise 5: exactly those partitions are paused in Kafka that the member believes to be
    /// paused.
    ///
    /// A new assignment starts with none paused, whatever was paused before.
    mutating func checkPauses(of member: Member, _ engine: borrowing DeliveryEngine) {
        let cursors = member.cursors
        for index in cursors.indices {
            let (partition, isPaused) = (cursors[index].partition, cursors[index].isPaused)
            guard engine.isPaused(partition) != isPaused else { continue }
            found(
                .pausesAreTold,
                "partition \(partition.index) \(isPaused ? "stands" : "goes on")"
            )
        }
    }
}
