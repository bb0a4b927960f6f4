import Synchronization

/// A number that only grows, written by one thread and read by any.
///
/// There is one writer, so a plain load and a plain store are enough: no locked instruction, no
/// cache line that two shards fight over. A second writer would lose counts.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    public init() {}

    public func add(_ amount: UInt64 = 1) {
        count.store(count.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    /// Takes a total over that somebody else counts.
    public func raise(to total: UInt64) {
        count.store(total, ordering: .relaxed)
    }

    public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A number that rises and falls, written by one thread and read by any.
public final class Gauge: Sendable {
    private let level = Atomic<Int>(0)

    public init() {}

    public func set(_ value: Int) {
        level.store(value, ordering: .relaxed)
    }

    public func add(_ amount: Int) {
        level.store(level.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    public var value: Int { level.load(ordering: .relaxed) }
}

/// One counter for each label of a closed list.
public final class CounterTable<Label: MetricLabel>: Sendable {
    private let counters: [Counter]

    public init() {
        counters = Label.allCases.map { _ in Counter() }
    }

    /// Nothing is looked up: a label knows its place.
    public subscript(label: Label) -> Counter { counters[label.position] }

    /// Every label with its count, in the order of the list.
    public var values: [(label: Label, count: UInt64)] {
        zip(Label.allCases, counters).map { ($0, $1.value) }
    }
}
