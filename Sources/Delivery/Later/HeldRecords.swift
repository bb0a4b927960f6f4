import Vocabulary

/// Retry records that are not due yet, and the partitions paused for them.
///
/// Records of a tier become due in the order in which they were written, because all have the same
/// delay, unless they wait for a time or a campaign: these may be late by that delay. A partition
/// therefore stops at its first record that is not due: later ones wait in Kafka, and the shard
/// holds one record per partition.
///
/// A pause discards prefetched records, and a resume fetches them again. So a partition is paused
/// for at least a fraction of its tier's delay; records that become due meanwhile are sent slightly
/// late.
struct HeldRecords: Sendable {
    struct Held: Hashable, Sendable {
        let delivery: DeliveryID
        let partition: PartitionID
        let byteCount: Int
    }

    private struct Stop {
        var heldCount = 0
        var until: Instant
    }

    private var queue = TimedQueue<Held>()
    private var stops: [PartitionID: Stop] = [:]
    private var resumptions = TimedQueue<PartitionID>()
    private(set) var byteCount = 0

    /// The record that is due first.
    var next: Held? { queue.next }
    /// The number of held records.
    var count: Int { queue.count }

    /// The records that are due.
    func due(now: Instant) -> [DeliveryID] { queue.due(now: now).map(\.delivery) }

    var nextDeadline: Instant? {
        guard let due = queue.nextDue, let resumption = resumptions.nextDue
        else { return queue.nextDue ?? resumptions.nextDue }
        return min(due, resumption)
    }

    /// Whether the partition is paused.
    func stops(_ partition: PartitionID) -> Bool { stops[partition] != nil }

    /// The minimum time that a partition of a tier is paused.
    static func shortestStop(ofDelay delay: Duration) -> Duration {
        min(max(delay / 60, .milliseconds(100)), .seconds(5))
    }

    /// Holds a record; its partition stays paused until the record is taken, and until `stopUntil`.
    mutating func hold(_ held: Held, until due: Instant, stopUntil: Instant) {
        stops[held.partition, default: Stop(until: stopUntil)].heldCount += 1
        queue.insert(held, due: due)
        byteCount += held.byteCount
    }

    /// Removes and returns a record that is due.
    mutating func popDue(now: Instant) -> Held? {
        guard let held = queue.popDue(now: now) else { return nil }
        byteCount -= held.byteCount
        guard var stop = stops[held.partition] else { return held }
        stop.heldCount -= 1
        stops[held.partition] = stop
        if stop.heldCount == 0 { resumptions.insert(held.partition, due: stop.until) }
        return held
    }

    /// Resumes the partitions whose pause is over.
    ///
    /// - Returns: whether there are any.
    mutating func freePartitions(now: Instant) -> Bool {
        var isAnyFree = false
        while let partition = resumptions.popDue(now: now) {
            // The batch that paused it may have contained further records.
            guard stops[partition]?.heldCount == 0 else { continue }
            stops[partition] = nil
            isAnyFree = true
        }
        return isAnyFree
    }

    /// Forgets the partitions, after all records were taken.
    mutating func reset() {
        precondition(queue.nextDue == nil, "records are still held")
        self = HeldRecords()
    }
}
