import Vocabulary

/// The rate limit of one device: a token bucket that refills over time.
package struct DeviceRate: Hashable, Sendable {
    /// How many notifications an idle device accepts in a row.
    package var burst: Int
    /// The refill rate: notifications per second.
    package var perSecond: Double

    package init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

/// A bucket for each device token; when there are too many, all are reset.
struct DeviceBuckets {
    private struct Bucket {
        var level: Double
        var filledAt: Timestamp
    }

    private var buckets: [[UInt8]: Bucket] = [:]
    private static let maxCount = 1 << 20

    /// - Returns: false if the device is over its limit.
    mutating func take(_ token: [UInt8], _ rate: DeviceRate, now: Timestamp) -> Bool {
        if buckets.count >= Self.maxCount { buckets.removeAll() }
        var bucket = buckets[token] ?? Bucket(level: Double(rate.burst), filledAt: now)
        let elapsed = Double(max(0, now.milliseconds - bucket.filledAt.milliseconds)) / 1000
        bucket.level = min(Double(rate.burst), bucket.level + elapsed * rate.perSecond)
        bucket.filledAt = now
        let hasRoom = bucket.level >= 1
        if hasRoom { bucket.level -= 1 }
        buckets[token] = bucket
        return hasRoom
    }
}
