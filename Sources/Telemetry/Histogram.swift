import Vocabulary

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
