import Vocabulary

/// What became of an event of the canary, as a metric label.
public enum CanaryResult: String, MetricLabel {
    case accepted
    /// Kafka did not take the event, or the results topic cannot be read.
    case kafka
    /// No outcome came in time.
    case noOutcome = "no_outcome"
    /// It came, and was another one than `accepted`.
    case notAccepted = "not_accepted"

    public var position: Int {
        switch self {
        case .accepted: 0
        case .kafka: 1
        case .noOutcome: 2
        case .notAccepted: 3
        }
    }
}

/// What `heliograph canary` has seen; it writes one after the other.
public final class CanaryMetrics: Sendable {
    private let results = CounterTable<CanaryResult>()
    private let latency = Histogram(bounds: Histogram.endToEndBounds)

    public init() {}

    /// - Parameter duration: From when the event was produced until its outcome was read.
    public func accepted(after duration: Duration) {
        results[.accepted].add()
        latency.record(nanoseconds: duration.nanoseconds)
    }

    public func failed(_ result: CanaryResult) {
        results[result].add()
    }

    public var families: [MetricFamily] {
        [
            .counters(
                "canary_events_total",
                "Events of the canary, by result.",
                table: results
            ) { [.init("result", $0.rawValue)] },
            MetricFamily(
                name: "canary_latency_seconds",
                help: "From producing an event of the canary to reading that it was accepted.",
                kind: .histogram,
                samples: MetricFamily.samples(of: [latency], [])
            ),
        ]
    }
}
