package import Telemetry

/// The metrics of the last minutes, so that a newly opened page can show the past.
///
/// Pure: takes families and times, and returns columns of numbers. It keeps `readings` of the
/// totals, and computes rates and percentiles from their differences on request.
package struct StatusHistory: Hashable, Sendable {
    /// The time between two readings, in seconds.
    package static let interval: Int64 = 5
    /// The number of points shown: 15 minutes.
    package static let pointCount = 180
    /// The number of intervals, one minute, for percentiles: those of a single interval would jump.
    static let percentileSpan = 12

    /// Oldest first; those beyond `pointCount` are only used for differences.
    private(set) var readings: [StatusReading] = []

    package init() {}

    /// Adds a reading; call it every `interval`; other times do no harm.
    ///
    /// - Parameters:
    ///   - families: The current values of all families; a missing family means unknown, not zero.
    ///   - uptimeMilliseconds: The process's uptime; must not decrease.
    package mutating func record(_ families: [MetricFamily], uptimeMilliseconds: Int64) {
        if let last = readings.last, uptimeMilliseconds <= last.uptimeMilliseconds { return }
        readings.append(StatusReading(families, uptimeMilliseconds: uptimeMilliseconds))
        let surplus = readings.count - (Self.pointCount + Self.percentileSpan)
        if surplus > 0 { readings.removeFirst(surplus) }
    }

    /// Each shown reading, with the previous one and the one at the start of the percentile span.
    private var points: [Point] {
        let first = max(1, readings.count - Self.pointCount)
        guard first < readings.count else { return [] }
        return (first..<readings.count).map { index in
            Point(
                now: readings[index],
                before: readings[index - 1],
                start: readings[max(0, index - Self.percentileSpan)]
            )
        }
    }

    private struct Point {
        let now: StatusReading
        let before: StatusReading
        let start: StatusReading

        /// The rate per second since the previous reading.
        func rate(_ total: (StatusReading) -> Double?) -> Double? {
            guard let now = total(self.now), let before = total(before) else { return nil }
            let milliseconds = self.now.uptimeMilliseconds - self.before.uptimeMilliseconds
            return max(0, now - before) * 1000 / Double(milliseconds)
        }

        func quantile(
            _ share: Double,
            _ buckets: (StatusReading) -> LatencyBuckets?
        ) -> Double? {
            guard let now = buckets(now) else { return nil }
            return now.since(buckets(start)).quantile(share)
        }
    }
}

extension StatusHistory {
    /// A line in a chart.
    struct Column: Hashable, Sendable {
        var name: String
        /// Oldest first; nil if there is no number.
        var values: [Double?]
    }

    /// The time of each point, in seconds since the process started.
    var seconds: [Double] {
        points.map { Double($0.now.uptimeMilliseconds) / 1000 }
    }

    /// Outcomes per second, with one column for each kind.
    var outcomeRates: [Column] {
        let points = points
        let kinds = readings.last?.outcomes.map(\.name) ?? []
        return kinds.map { kind in
            Column(name: kind, values: points.map { $0.rate { $0.outcome(kind) } })
        }
    }

    /// Events, attempts and others per second, named like their family without `_total`.
    var rates: [Column] {
        let points = points
        return StatusReading.totalNames.map { name in
            Column(name: name.short, values: points.map { $0.rate { $0.totals[name.family] } })
        }
    }

    /// The values of gauges.
    var levels: [Column] {
        let points = points
        return StatusReading.levelNames.map { name in
            Column(name: name.short, values: points.map { $0.now.levels[name.family] })
        }
    }

    /// p50 and p99 in seconds, each over the minute before the point.
    func percentiles(_ latency: StatusReading.Latency) -> [Column] {
        let points = points
        return [("p50", 0.5), ("p99", 0.99)].map { name, share in
            Column(name: name, values: points.map { $0.quantile(share) { $0.latency(latency) } })
        }
    }

    /// The reasons since the process started, the most frequent recent ones first.
    package var reasons: [StatusReasonCount] {
        guard let last = readings.last else { return [] }
        let shown = readings[max(0, readings.count - 1 - Self.pointCount)...]
        let counts = last.reasons.map { tally in
            let first = shown.first?.tally(of: tally.key)
            return StatusReasonCount(
                reason: tally.key.reason,
                decidedBy: tally.key.decidedBy,
                outcomes: .init(from: first?.outcomes, to: tally.outcomes),
                refusals: .init(from: first?.refusals, to: tally.refusals),
                lastSeenSeconds: lastRise(of: tally.key, in: shown)
            )
        }
        return counts.sorted { $0.precedes($1) }
    }

    private func lastRise(
        of key: StatusReading.ReasonKey,
        in readings: ArraySlice<StatusReading>
    ) -> Int64? {
        for (now, before) in zip(readings.reversed(), readings.dropLast().reversed())
        where now.tally(of: key) != before.tally(of: key) {
            return now.uptimeMilliseconds / 1000
        }
        return nil
    }
}

/// How many times a reason occurred.
package struct StatusReasonCount: Hashable, Sendable {
    package struct Count: Hashable, Sendable {
        /// Within the minutes that are shown.
        package var recent: UInt64
        /// Since the process started.
        package var total: UInt64

        package init(recent: UInt64, total: UInt64) {
            self.recent = recent
            self.total = total
        }

        init(from first: Double?, to last: Double) {
            self.init(recent: UInt64(max(0, last - (first ?? 0))), total: UInt64(max(0, last)))
        }
    }

    /// The reason's name in the metrics.
    package var reason: String
    /// `apns` or `heliograph`.
    package var decidedBy: String
    /// Events that ended with this reason.
    package var outcomes: Count
    /// APNs answers with this reason, including those after which the event was retried.
    package var refusals: Count
    /// The last time, in seconds since the process started; nil: before the minutes that are shown.
    package var lastSeenSeconds: Int64?

    package init(
        reason: String,
        decidedBy: String,
        outcomes: Count,
        refusals: Count,
        lastSeenSeconds: Int64?
    ) {
        self.reason = reason
        self.decidedBy = decidedBy
        self.outcomes = outcomes
        self.refusals = refusals
        self.lastSeenSeconds = lastSeenSeconds
    }

    fileprivate func precedes(_ other: StatusReasonCount) -> Bool {
        let recent = max(outcomes.recent, refusals.recent)
        let otherRecent = max(other.outcomes.recent, other.refusals.recent)
        if recent != otherRecent { return recent > otherRecent }
        if outcomes.total != other.outcomes.total { return outcomes.total > other.outcomes.total }
        return (reason, decidedBy) < (other.reason, other.decidedBy)
    }
}
