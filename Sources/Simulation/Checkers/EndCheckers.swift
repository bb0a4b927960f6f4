import Delivery
import Vocabulary

extension World {
    /// Checks the end of the run, after the faults have stopped.
    ///
    /// All records must be settled and committed, and every event must have an outcome.
    mutating func checkEnd() {
        for (index, partition) in kafka.partitions.enumerated() {
            let committed = partition.stored?.offset ?? 0
            if committed < partition.lastRecord {
                let owner = members.first { $0.cursors.contains { $0.partition.index == index } }
                let cursor = owner?.cursors.first { $0.partition.index == index }
                found(
                    .drains,
                    "\(partition.name): \(committed) of \(partition.lastRecord) committed, "
                        + "read to \(cursor?.position ?? -1), settled to \(cursor?.frontier ?? -1)"
                        + "\(cursor?.isPaused == true ? ", paused" : ""), "
                        + "in hand \(owner?.engine.inFlightEvents ?? 0)"
                )
                return
            }
        }
        for (number, event) in events.enumerated()
        where event.isOwed && event.outcomes == 0 && !event.isSkipped {
            found(.everyEventHasAnOutcome, "event \(number) has none")
            return
        }
        checkOriginals()
        checkTallyAtEnd()
        checkReplay()
    }

    /// Checks that the same inputs lead another engine to the same decisions.
    private mutating func checkReplay() {
        guard !inputLog.isEmpty else { return }
        do throws(ReplayError) {
            var replay = try Replay(inputLog)
            while !replay.isAtEnd {
                guard let difference = try replay.next() else { continue }
                return found(.replays, "\(difference)")
            }
            coverage.note(.runReplayed)
        } catch {
            found(.replays, "\(error)")
        }
    }
}
