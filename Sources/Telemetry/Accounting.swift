import Synchronization

/// Where the events of a shard are: the first promise, in numbers.
///
/// What is counted is consumptions, not events. A consumption of a record ends in one of three
/// ways: with an outcome (or as a tombstone) it is `terminal`, with the acknowledgement of a retry
/// record `deferred`, and one that was handed back is taken off `consumed`. An event that comes
/// out of a retry topic is consumed once more, and that consumption ends for itself. So `deferred`
/// only grows, `consumed == terminal + inFlight + deferred` holds at every moment and in every
/// process, and what rests in Kafka is what all processes deferred less what they got back
/// (`events_deferred_total`, `events_returned_total`).
public struct Accounting: Hashable, Sendable {
    public var consumed: Int64
    public var terminal: Int64
    public var inFlight: Int64
    /// Ended by a retry record that Kafka acknowledged.
    public var deferred: Int64

    public init(consumed: Int64, terminal: Int64, inFlight: Int64, deferred: Int64) {
        self.consumed = consumed
        self.terminal = terminal
        self.inFlight = inFlight
        self.deferred = deferred
    }

    /// Zero, unless an event was lost or counted twice.
    public var unaccounted: Int64 {
        consumed &- terminal &- inFlight &- deferred
    }
}

/// The four numbers of `Accounting`, read consistently.
///
/// A sequence lock: the version is odd while the one writer writes, so a reader that sees two
/// equal even versions around its reads has read one state. The writer never waits.
public final class AccountingCell: Sendable {
    private let version = Atomic<UInt64>(0)
    private let consumed = Atomic<Int64>(0)
    private let terminal = Atomic<Int64>(0)
    private let inFlight = Atomic<Int64>(0)
    private let deferred = Atomic<Int64>(0)

    public init() {}

    /// Called by the shard's thread only.
    public func set(_ accounting: Accounting) {
        let next = version.load(ordering: .relaxed) &+ 1
        version.store(next, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        consumed.store(accounting.consumed, ordering: .relaxed)
        terminal.store(accounting.terminal, ordering: .relaxed)
        inFlight.store(accounting.inFlight, ordering: .relaxed)
        deferred.store(accounting.deferred, ordering: .relaxed)
        version.store(next &+ 1, ordering: .releasing)
    }

    /// The last state written.
    ///
    /// - Returns: nil when the writer was inside `set` at every one of a bounded number of tries,
    ///   which takes a writer that was descheduled there.
    public func read() -> Accounting? {
        for _ in 0..<Self.maxTries {
            let before = version.load(ordering: .acquiring)
            let accounting = Accounting(
                consumed: consumed.load(ordering: .relaxed),
                terminal: terminal.load(ordering: .relaxed),
                inFlight: inFlight.load(ordering: .relaxed),
                deferred: deferred.load(ordering: .relaxed)
            )
            atomicMemoryFence(ordering: .acquiring)
            let after = version.load(ordering: .relaxed)
            if before == after, before.isMultiple(of: 2) { return accounting }
        }
        return nil
    }

    private static let maxTries = 1000
}
