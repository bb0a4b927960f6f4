import Vocabulary

/// Retry records that arrived before they are due, and the partitions that are paused for them.
///
/// The records of a tier come due in the order in which they were written, for all wait equally
/// long. So a partition stops at its first record that is not due: what is behind it waits in
/// Kafka, and the shard holds one record for each partition.
///
/// A pause throws away what was fetched ahead, and a resume fetches it again. So a partition is
/// paused for a part of its tier's delay at least: what comes due meanwhile is a little late, and
/// goes out at once.
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

    /// The one that comes due first.
    var next: Held? { queue.next }
    /// Records held.
    var count: Int { queue.count }

    /// Those that are due.
    func due(now: Instant) -> [DeliveryID] { queue.due(now: now).map(\.delivery) }

    var nextDeadline: Instant? {
        guard let due = queue.nextDue, let resumption = resumptions.nextDue
        else { return queue.nextDue ?? resumptions.nextDue }
        return min(due, resumption)
    }

    /// Whether the partition is paused.
    func stops(_ partition: PartitionID) -> Bool { stops[partition] != nil }

    /// How long a partition of a tier is paused at least.
    static func shortestStop(ofDelay delay: Duration) -> Duration {
        min(max(delay / 60, .milliseconds(100)), .seconds(5))
    }

    /// The partition of the record is paused until the record was taken, and until `stopUntil`.
    mutating func hold(_ held: Held, until due: Instant, stopUntil: Instant) {
        stops[held.partition, default: Stop(until: stopUntil)].heldCount += 1
        queue.insert(held, due: due)
        byteCount += held.byteCount
    }

    /// Takes a record that is due.
    mutating func popDue(now: Instant) -> Held? {
        guard let held = queue.popDue(now: now) else { return nil }
        byteCount -= held.byteCount
        guard var stop = stops[held.partition] else { return held }
        stop.heldCount -= 1
        stops[held.partition] = stop
        if stop.heldCount == 0 { resumptions.insert(held.partition, due: stop.until) }
        return held
    }

    /// Frees the partitions that have been paused for long enough.
    ///
    /// - Returns: true if there are any.
    mutating func freePartitions(now: Instant) -> Bool {
        var isAnyFree = false
        while let partition = resumptions.popDue(now: now) {
            // More may have come for it in the batch that stopped it.
            guard stops[partition]?.heldCount == 0 else { continue }
            stops[partition] = nil
            isAnyFree = true
        }
        return isAnyFree
    }

    /// Forgets the partitions, when everything was taken.
    mutating func reset() {
        precondition(queue.nextDue == nil, "records are still held")
        self = HeldRecords()
    }
}
