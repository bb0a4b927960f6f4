import Synchronization
import Vocabulary

/// A growing number that one thread writes and any thread reads.
///
/// With a single writer, a plain load and store suffice: no locked instruction, and no cache line
/// that moves between shards. A second writer would lose counts.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    public init() {}

    public func add(_ amount: UInt64 = 1) {
        count.store(count.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    /// Sets the counter to a total that is counted elsewhere.
    public func raise(to total: UInt64) {
        count.store(total, ordering: .relaxed)
    }

    public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// A number that rises and falls; one thread writes it, and any thread reads it.
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

/// One counter for each label in a closed list.
public final class CounterTable<Label: MetricLabel>: Sendable {
    private let counters: [Counter]

    public init() {
        counters = Label.allCases.map { _ in Counter() }
    }

    /// Needs no look-up, because a label knows its position.
    public subscript(label: Label) -> Counter { counters[label.position] }

    /// Every label with its count, in list order.
    public var values: [(label: Label, count: UInt64)] {
        zip(Label.allCases, counters).map { ($0, $1.value) }
    }
}

/// One counter for each combination of a row and a label in a closed list.
///
/// A row is a position in a configured list (see `MetricLists`); the caller knows the position, so
/// no look-up is needed.
public final class CounterGrid<Label: MetricLabel>: Sendable {
    let rows: [CounterTable<Label>]

    /// - Parameter rowCount: The number of rows.
    public init(rowCount: Int) {
        rows = (0..<rowCount).map { _ in CounterTable() }
    }

    public subscript(row row: Int, label label: Label) -> Counter { rows[row][label] }
}

/// Durations counted in fixed buckets; one thread writes them, and any thread reads them.
public final class Histogram: Sendable {
    /// The inclusive upper bounds of the buckets, ascending; an unbounded bucket follows.
    public let bounds: [Duration]
    private let boundNanoseconds: [Int64]
    private let buckets: [Counter]
    private let totalMicroseconds = Counter()

    /// - Parameter bounds: In ascending order.
    public init(bounds: [Duration]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds do not ascend")
        self.bounds = bounds
        boundNanoseconds = bounds.map(\.nanoseconds)
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    /// 30 days: producers choose an event's time, and the total has room for millions of these.
    private static let longest: Int64 = 30 * 86_400 * 1_000_000_000

    /// Counts a duration, which is clamped to 0 through 30 days.
    ///
    /// A clock that was set back can cause a negative one.
    ///
    /// Not a `Duration`, whose 128 bits of attoseconds would cost more to convert than everything
    /// else here.
    public func record(nanoseconds: Int64) {
        let nanoseconds = min(max(0, nanoseconds), Self.longest)
        let index = boundNanoseconds.firstIndex { nanoseconds <= $0 } ?? boundNanoseconds.count
        buckets[index].add()
        totalMicroseconds.add(UInt64(nanoseconds / 1000))
    }

    /// The same.
    public func record(milliseconds: Int64) {
        let (product, overflow) = max(0, milliseconds).multipliedReportingOverflow(by: 1_000_000)
        record(nanoseconds: overflow ? .max : product)
    }

    public var reading: Reading {
        Reading(counts: buckets.map(\.value), totalMicroseconds: totalMicroseconds.value)
    }

    /// The contents of the buckets at one time.
    public struct Reading: Hashable, Sendable {
        /// Per bucket, not cumulative; one more than there are bounds.
        public var counts: [UInt64]
        public var totalMicroseconds: UInt64

        public static func + (left: Reading, right: Reading) -> Reading {
            Reading(
                counts: zip(left.counts, right.counts).map { $0 &+ $1 },
                totalMicroseconds: left.totalMicroseconds &+ right.totalMicroseconds
            )
        }
    }

    /// From an APNs round trip within a region to the default of `apns.request_timeout`.
    public static let requestBounds: [Duration] = [
        .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50),
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
        .milliseconds(2500), .seconds(5), .seconds(10), .seconds(30),
    ]

    /// From an immediate success to the default of `retry.give_up_after`.
    public static let endToEndBounds: [Duration] = [
        .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100),
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(5), .seconds(30),
        .seconds(60), .seconds(300), .seconds(1800), .seconds(7200), .seconds(86_400),
    ]
}
