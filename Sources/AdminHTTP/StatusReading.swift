import Telemetry

/// The values of the metrics on the status page at one time.
struct StatusReading: Hashable, Sendable {
    struct Tally: Hashable, Sendable {
        var name: String
        var count: Double
    }

    struct ReasonKey: Hashable, Sendable {
        var reason: String
        var decidedBy: String
    }

    struct ReasonTally: Hashable, Sendable {
        var key: ReasonKey
        /// Events that ended with this reason.
        var outcomes = 0.0
        /// APNs answers with this reason, including those after which the event was retried.
        var refusals = 0.0
    }

    /// The latencies that are shown.
    enum Latency: String, Hashable, Sendable, CaseIterable {
        case apns = "apns_request_duration_seconds"
        case endToEnd = "end_to_end_seconds"
    }

    /// A family, and its name on the page.
    struct Name: Hashable, Sendable {
        var family: String
        var short: String
    }

    static let totalNames = [
        Name(family: "events_consumed_total", short: "consumed"),
        Name(family: "recipients_total", short: "recipients"),
        Name(family: "apns_attempts_total", short: "attempts"),
        Name(family: "retries_total", short: "retries"),
        Name(family: "events_deferred_total", short: "deferred"),
    ]

    static let levelNames = [
        Name(family: "inflight_events", short: "in_flight"),
        Name(family: "kafka_consumer_lag_records", short: "lag"),
        Name(family: "apns_streams", short: "streams"),
    ]

    /// The time since the process started.
    let uptimeMilliseconds: Int64
    /// By kind, in the family's order.
    private(set) var outcomes: [Tally] = []
    private(set) var reasons: [ReasonTally] = []
    /// By family, summed over its labels.
    private(set) var totals: [String: Double] = [:]
    private(set) var levels: [String: Double] = [:]
    private var latencies: [Latency: LatencyBuckets] = [:]

    init(_ families: [MetricFamily], uptimeMilliseconds: Int64) {
        self.uptimeMilliseconds = uptimeMilliseconds
        let wantedTotals = Set(Self.totalNames.map(\.family))
        let wantedLevels = Set(Self.levelNames.map(\.family))
        for family in families {
            switch family.name {
            case "events_terminal_total":
                outcomes = Self.tallies(family, label: "outcome")
            case "outcome_reasons_total":
                addReasons(family, \.outcomes)
            case "apns_refusals_total":
                addReasons(family, \.refusals)
            case let name where wantedTotals.contains(name):
                totals[name] = Self.sum(family)
            case let name where wantedLevels.contains(name):
                levels[name] = Self.sum(family) { !Self.isOfRetryTopic($0) }
            default:
                guard let latency = Latency(rawValue: family.name) else { continue }
                latencies[latency] = LatencyBuckets(family)
            }
        }
    }

    func outcome(_ kind: String) -> Double? {
        outcomes.first { $0.name == kind }?.count
    }

    func tally(of reason: ReasonKey) -> ReasonTally {
        reasons.first { $0.key == reason } ?? ReasonTally(key: reason)
    }

    func latency(_ latency: Latency) -> LatencyBuckets? { latencies[latency] }

    /// Nil for a family without such samples: unknown is not zero.
    private static func sum(
        _ family: MetricFamily,
        of isWanted: (MetricFamily.Sample) -> Bool = { _ in true }
    ) -> Double? {
        let values = family.samples.filter(isWanted).compactMap { Double($0.value) }
        return values.isEmpty ? nil : values.reduce(0, +)
    }

    /// Whether the sample belongs to a retry topic, `<source>.retry.<delay>`.
    ///
    /// Events wait there on purpose, so the alert rules do not count them as lag either.
    private static func isOfRetryTopic(_ sample: MetricFamily.Sample) -> Bool {
        guard let topic = sample["topic"] else { return false }
        let words = topic.split(separator: ".", omittingEmptySubsequences: false)
        return words.count > 2 && words[words.count - 2] == "retry"
    }

    /// One tally for each value of the label, summed over other labels.
    private static func tallies(_ family: MetricFamily, label: String) -> [Tally] {
        var tallies: [Tally] = []
        for sample in family.samples {
            guard let name = sample[label], let count = Double(sample.value) else { continue }
            if let index = tallies.firstIndex(where: { $0.name == name }) {
                tallies[index].count += count
            } else {
                tallies.append(Tally(name: name, count: count))
            }
        }
        return tallies
    }

    private mutating func addReasons(
        _ family: MetricFamily,
        _ count: WritableKeyPath<ReasonTally, Double>
    ) {
        for sample in family.samples {
            guard let reason = sample["reason"], let value = Double(sample.value), value > 0
            else { continue }
            let key = ReasonKey(reason: reason, decidedBy: sample["decided_by"] ?? "apns")
            if let index = reasons.firstIndex(where: { $0.key == key }) {
                reasons[index][keyPath: count] += value
            } else {
                var tally = ReasonTally(key: key)
                tally[keyPath: count] = value
                reasons.append(tally)
            }
        }
    }
}

/// A histogram's buckets, summed over all labels except `le`.
struct LatencyBuckets: Hashable, Sendable {
    /// Upper bounds in seconds, ascending; the last one is infinite.
    private(set) var bounds: [Double] = []
    /// Cumulative counts: how many values were at most the bound.
    private(set) var counts: [Double] = []

    init(_ family: MetricFamily) {
        var counts: [Double: Double] = [:]
        for sample in family.samples where sample.suffix == "_bucket" {
            guard let text = sample["le"], let count = Double(sample.value) else { continue }
            guard let bound = text == "+Inf" ? .infinity : Double(text) else { continue }
            counts[bound, default: 0] += count
        }
        bounds = counts.keys.sorted()
        self.counts = bounds.map { counts[$0] ?? 0 }
    }

    /// The counts since an earlier reading of the same histogram; nil: since the beginning.
    func since(_ earlier: LatencyBuckets?) -> LatencyBuckets {
        guard let earlier, earlier.bounds == bounds else { return self }
        var difference = self
        difference.counts = zip(counts, earlier.counts).map { max(0, $0 - $1) }
        return difference
    }

    /// The quantile, linearly interpolated within its bucket; nil if there are no counts.
    ///
    /// Works like Prometheus' `histogram_quantile`.
    func quantile(_ share: Double) -> Double? {
        guard let total = counts.last, total > 0 else { return nil }
        let rank = share * total
        guard let index = counts.firstIndex(where: { $0 >= rank }) else { return nil }
        let lower = index == 0 ? 0 : bounds[index - 1]
        // Values beyond the last bound are unknown.
        guard bounds[index].isFinite else { return lower }
        let below = index == 0 ? 0 : counts[index - 1]
        let inside = counts[index] - below
        return inside > 0
            ? lower + (bounds[index] - lower) * (rank - below) / inside : bounds[index]
    }
}

extension MetricFamily.Sample {
    subscript(label: String) -> String? {
        labels.first { $0.name == label }?.value
    }
}
