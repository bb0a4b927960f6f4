import Vocabulary

/// How often one device may be sent to: a bucket of tokens that fills with time.
package struct DeviceRate: Hashable, Sendable {
    /// Notifications in a row that a rested device takes.
    package var burst: Int
    /// Notifications each second after that.
    package var perSecond: Double

    package init(burst: Int, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

/// A bucket per device token, for as many as fit; then all start over.
struct DeviceBuckets {
    private struct Bucket {
        var level: Double
        var filledAt: Timestamp
    }

    private var buckets: [[UInt8]: Bucket] = [:]
    private static let maxCount = 1 << 20

    /// - Returns: false when the device has had enough.
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
