import Synchronization

/// The state of a shard's events in numbers, which proves that none is lost.
///
/// It counts consumptions, not events. A record's consumption ends in one of three ways. With an
/// outcome, or as a tombstone, it becomes `terminal`; with the acknowledgement of a retry record it
/// becomes `deferred`; and if it is released, it is subtracted from `consumed`. An event from a
/// retry topic is consumed again, and that consumption ends separately. So `deferred` only grows,
/// and `consumed == terminal + inFlight + deferred` always holds, in every process. The number of
/// events waiting in Kafka is what all processes have deferred, less what they have got back
/// (`events_deferred_total`, `events_returned_total`).
public struct Accounting: Hashable, Sendable {
    public var consumed: Int64
    public var terminal: Int64
    public var inFlight: Int64
    /// Ended with a retry record that Kafka acknowledged.
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
/// A sequence lock: the version is odd while the only writer writes. A reader that sees the same
/// even version before and after its reads has read a consistent state. The writer never waits.
public final class AccountingCell: Sendable {
    private let version = Atomic<UInt64>(0)
    private let consumed = Atomic<Int64>(0)
    private let terminal = Atomic<Int64>(0)
    private let inFlight = Atomic<Int64>(0)
    private let deferred = Atomic<Int64>(0)

    public init() {}

    /// Call it only on the shard's thread.
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

    /// The last state that was written.
    ///
    /// - Returns: nil if the writer was within `set` during every one of a limited number of
    ///   attempts, which requires that it was descheduled there.
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
