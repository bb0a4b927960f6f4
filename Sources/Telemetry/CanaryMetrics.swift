import Vocabulary

/// The result of a canary event, as a metric label.
public enum CanaryResult: String, MetricLabel {
    case accepted
    /// Kafka did not accept the event, or the results topic could not be read.
    case kafka
    /// No outcome before the deadline.
    case noOutcome = "no_outcome"
    /// An outcome other than `accepted`.
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

/// The metrics of `heliograph canary`; only one thread at a time writes them.
public final class CanaryMetrics: Sendable {
    private let results = CounterTable<CanaryResult>()
    private let latency = Histogram(bounds: Histogram.endToEndBounds)

    public init() {}

    /// - Parameter duration: From producing the event to reading its outcome.
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
