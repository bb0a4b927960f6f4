import Synchronization
import Vocabulary

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

/// One counter for each row and each label of a closed list.
///
/// Rows are places in a list of the configuration, see `MetricLists`: the caller knows the place,
/// so nothing is looked up.
public final class CounterGrid<Label: MetricLabel>: Sendable {
    let rows: [CounterTable<Label>]

    /// - Parameter rowCount: How many rows.
    public init(rowCount: Int) {
        rows = (0..<rowCount).map { _ in CounterTable() }
    }

    public subscript(row row: Int, label label: Label) -> Counter { rows[row][label] }
}

/// Durations counted in fixed buckets, written by one thread and read by any.
public final class Histogram: Sendable {
    /// Upper bounds of the buckets, inclusive, ascending; a last bucket without bound follows.
    public let bounds: [Duration]
    private let boundNanoseconds: [Int64]
    private let buckets: [Counter]
    private let totalMicroseconds = Counter()

    /// - Parameter bounds: Ascending.
    public init(bounds: [Duration]) {
        precondition(zip(bounds, bounds.dropFirst()).allSatisfy(<), "bounds do not ascend")
        self.bounds = bounds
        boundNanoseconds = bounds.map(\.nanoseconds)
        buckets = (0...bounds.count).map { _ in Counter() }
    }

    /// 30 days: who writes an event chooses its time, and the total has room for millions of such.
    private static let longest: Int64 = 30 * 86_400 * 1_000_000_000

    /// Counts one duration, 30 days at most; a negative one, which a clock set back can cause,
    /// counts as zero.
    ///
    /// Not a `Duration`, which is 128 bits of attoseconds: the way there and back costs more than
    /// all else here.
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

    /// What the buckets held at one moment.
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

    /// From one APNs round trip in the same region up to `apns.request_timeout`'s default.
    public static let requestBounds: [Duration] = [
        .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50),
        .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
        .milliseconds(2500), .seconds(5), .seconds(10), .seconds(30),
    ]

    /// From a direct hit up to `retry.give_up_after`'s default.
    public static let endToEndBounds: [Duration] = [
        .milliseconds(10), .milliseconds(25), .milliseconds(50), .milliseconds(100),
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(5), .seconds(30),
        .seconds(60), .seconds(300), .seconds(1800), .seconds(7200), .seconds(86_400),
    ]
}
