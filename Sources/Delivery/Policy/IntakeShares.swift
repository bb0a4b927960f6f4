/// How much of the limit in flight each source topic may take.
///
/// Each source is guaranteed a share of the limit by its weight. It may borrow what others do not
/// use, except half of each other source's share, which stays free for that source's first events.
/// A source at its limit is paused alone; the others continue.
public struct IntakeShares: Hashable, Sendable {
    private struct Amount: Hashable, Sendable {
        var events = 0
        var bytes = 0
    }

    private let bound: Amount
    private let promised: [Amount]
    private var held: [Amount]
    public private(set) var stopped: [Bool]

    /// Makes one source for each weight.
    public init(events: Int, bytes: Int, weights: [Int]) {
        let total = weights.reduce(0, +)
        bound = Amount(events: events, bytes: bytes)
        promised = weights.map { weight in
            Amount(
                events: max(1, events / total * weight + events % total * weight / total),
                bytes: max(1, bytes / total * weight)
            )
        }
        held = weights.map { _ in Amount() }
        stopped = weights.map { _ in false }
    }

    // MARK: Inputs

    public mutating func entered(source: Int, byteCount: Int) {
        held[source].events += 1
        held[source].bytes += byteCount
    }

    public mutating func left(source: Int, byteCount: Int) {
        held[source].events -= 1
        held[source].bytes -= byteCount
    }

    /// A record's recipients become events of their own.
    public mutating func opened(source: Int) { held[source].events -= 1 }

    /// All recipients of a record have left.
    public mutating func closed(source: Int, byteCount: Int) { held[source].bytes -= byteCount }

    /// Pauses sources at their limit, and resumes those that fell below half of it.
    ///
    /// A pause discards prefetched records, so it should not be short.
    ///
    /// - Returns: whether `stopped` changed.
    public mutating func timeAdvanced() -> Bool {
        guard held.count > 1 else { return false }
        var changed = false
        for source in held.indices {
            let limit = limit(of: source)
            let (events, bytes) = (held[source].events, held[source].bytes)
            if stopped[source] {
                guard events * 2 <= limit.events, bytes * 2 <= limit.bytes else { continue }
            } else {
                guard events >= limit.events || bytes >= limit.bytes else { continue }
            }
            stopped[source].toggle()
            changed = true
        }
        return changed
    }

    // MARK: Queries

    /// The source's own share, or more while others do not use theirs.
    private func limit(of source: Int) -> Amount {
        var limit = bound
        for other in held.indices where other != source {
            limit.events -= max(held[other].events, promised[other].events / 2)
            limit.bytes -= max(held[other].bytes, promised[other].bytes / 2)
        }
        limit.events = max(limit.events, promised[source].events)
        limit.bytes = max(limit.bytes, promised[source].bytes)
        return limit
    }
}
