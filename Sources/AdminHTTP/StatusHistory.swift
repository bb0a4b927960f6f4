package import Telemetry

/// What the metrics were over the last minutes, so that a fresh page can draw the past.
///
/// Pure: families and time go in, columns of numbers come out. It keeps `readings` of the totals
/// and works rates and percentiles out of their differences when it is asked.
package struct StatusHistory: Hashable, Sendable {
    /// Between two readings, in seconds.
    package static let interval: Int64 = 5
    /// Points that are shown: 15 minutes of them.
    package static let pointCount = 180
    /// Percentiles are those of so many intervals together, a minute: of one they would jump.
    static let percentileSpan = 12

    /// Oldest first; those beyond `pointCount` are only there to be subtracted.
    private(set) var readings: [StatusReading] = []

    package init() {}

    /// Takes the metrics down; to be called every `interval`, and harmless when called otherwise.
    ///
    /// - Parameters:
    ///   - families: All of them, read now; a family that is missing is not a number, not zero.
    ///   - uptimeMilliseconds: Of the process. Never falls.
    package mutating func record(_ families: [MetricFamily], uptimeMilliseconds: Int64) {
        if let last = readings.last, uptimeMilliseconds <= last.uptimeMilliseconds { return }
        readings.append(StatusReading(families, uptimeMilliseconds: uptimeMilliseconds))
        let surplus = readings.count - (Self.pointCount + Self.percentileSpan)
        if surplus > 0 { readings.removeFirst(surplus) }
    }

    /// Each shown reading with the one before it and the one from which percentiles are counted.
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

        /// Per second, since the reading before.
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
    /// One line of a drawing.
    struct Column: Hashable, Sendable {
        var name: String
        /// Oldest first, nil where there is no number.
        var values: [Double?]
    }

    /// When each point was read, in seconds since the process began.
    var seconds: [Double] {
        points.map { Double($0.now.uptimeMilliseconds) / 1000 }
    }

    /// Outcomes per second; one column for each kind.
    var outcomeRates: [Column] {
        let points = points
        let kinds = readings.last?.outcomes.map(\.name) ?? []
        return kinds.map { kind in
            Column(name: kind, values: points.map { $0.rate { $0.outcome(kind) } })
        }
    }

    /// Events, attempts and the like per second, by the name of the family without `_total`.
    var rates: [Column] {
        let points = points
        return StatusReading.totalNames.map { name in
            Column(name: name.short, values: points.map { $0.rate { $0.totals[name.family] } })
        }
    }

    /// Numbers that rise and fall, as they stood.
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

    /// The reasons given since the process began, the most frequent of recent ones first.
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

/// How often a reason was given.
package struct StatusReasonCount: Hashable, Sendable {
    package struct Count: Hashable, Sendable {
        /// In the minutes that are shown.
        package var recent: UInt64
        /// Since the process began.
        package var total: UInt64

        package init(recent: UInt64, total: UInt64) {
            self.recent = recent
            self.total = total
        }

        init(from first: Double?, to last: Double) {
            self.init(recent: UInt64(max(0, last - (first ?? 0))), total: UInt64(max(0, last)))
        }
    }

    /// As the metrics name it.
    package var reason: String
    /// `apns` or `heliograph`.
    package var decidedBy: String
    /// Events that ended with it.
    package var outcomes: Count
    /// Answers of APNs that gave it, also those after which the event was tried again.
    package var refusals: Count
    /// Seconds from the start of the process to the last time; nil: longer ago than is shown.
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
