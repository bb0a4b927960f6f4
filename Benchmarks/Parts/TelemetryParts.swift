import Telemetry
import Vocabulary

/// What the metrics of one event cost.
enum TelemetryParts {
    /// All that a shard records of an event that is accepted at its first attempt.
    static func acceptedEvent() -> Part {
        let metrics = ShardMetrics(
            lists: MetricLists(credentials: ["example"], topics: ["notifications"])
        )
        return Part("Telemetry: record one accepted event", per: "event") { times in
            for index in 0..<times {
                let elapsed = Int64(20_000_000 + index & 0xFFFFF)
                metrics.countConsumed(.plain, topic: 0)
                metrics.attempts.add()
                metrics.countResponse(status: 200, route: 0, nanoseconds: elapsed)
                metrics.resultsProduced.add()
                metrics.count(.accepted, reason: nil, credential: 0)
                metrics.endToEnd.record(
                    milliseconds: elapsed / 1_000_000,
                    source: 0,
                    credential: 0,
                    .first
                )
            }
            return times
        }
    }
}
