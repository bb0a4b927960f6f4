import Vocabulary

/// One named metric with its samples, summed over the shards.
public struct MetricFamily: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable {
        case counter
        case gauge
        case histogram
        /// A gauge with the constant value 1, whose information is in its labels.
        case info
    }

    public struct Label: Hashable, Sendable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public struct Sample: Hashable, Sendable {
        /// The suffix of the family's name: empty, `_bucket`, `_sum` or `_count`.
        public var suffix: String
        public var labels: [Label]
        /// A decimal number.
        public var value: String

        public init(suffix: String = "", labels: [Label] = [], value: String) {
            self.suffix = suffix
            self.labels = labels
            self.value = value
        }
    }

    /// The name without its prefix.
    public var name: String
    public var help: String
    public var kind: Kind
    public var samples: [Sample]
    /// Empty for names that all exporters share, such as `process_cpu_seconds_total`.
    public var prefix = "heliograph_"

    public init(
        name: String,
        help: String,
        kind: Kind,
        samples: [Sample],
        prefix: String = "heliograph_"
    ) {
        self.name = name
        self.help = help
        self.kind = kind
        self.samples = samples
        self.prefix = prefix
    }

    public var fullName: String { prefix + name }
}

extension MetricFamily {
    static func counter(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        _ counter: (ShardMetrics) -> Counter
    ) -> MetricFamily {
        .counter(name, help, value: shards.reduce(UInt64(0)) { $0 &+ counter($1).value })
    }

    /// A counter of the whole process.
    static func counter(_ name: String, _ help: String, _ counter: Counter) -> MetricFamily {
        .counter(name, help, value: counter.value)
    }

    private static func counter(_ name: String, _ help: String, value: UInt64) -> MetricFamily {
        MetricFamily(
            name: name,
            help: help,
            kind: .counter,
            samples: [Sample(value: "\(value)")]
        )
    }

    static func counters<Key>(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        _ table: (ShardMetrics) -> CounterTable<Key>,
        labels: (Key) -> [Label]
    ) -> MetricFamily {
        let tables = shards.map(table)
        let samples = tables.isEmpty ? [] : samples(summing: tables, labels: labels)
        return MetricFamily(name: name, help: help, kind: .counter, samples: samples)
    }

    /// A family with one sample for each combination of row and label.
    static func counters<Key>(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        grid: (ShardMetrics) -> CounterGrid<Key>,
        labels: (_ row: Int, Key) -> [Label]
    ) -> MetricFamily {
        var family = MetricFamily(name: name, help: help, kind: .counter, samples: [])
        let grids = shards.map(grid)
        for row in grids.first?.rows.indices ?? 0..<0 {
            family.samples += samples(summing: grids.map { $0.rows[row] }) { labels(row, $0) }
        }
        return family
    }

    /// A family with one sample for each member of a list, such as the credentials.
    static func counters(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        labels: [[Label]],
        _ counter: (ShardMetrics, _ index: Int) -> Counter
    ) -> MetricFamily {
        let samples = labels.indices.map { index in
            let sum = shards.reduce(UInt64(0)) { $0 &+ counter($1, index).value }
            return Sample(labels: labels[index], value: "\(sum)")
        }
        return MetricFamily(name: name, help: help, kind: .counter, samples: samples)
    }

    /// A family for the whole process.
    static func counters<Key>(
        _ name: String,
        _ help: String,
        table: CounterTable<Key>,
        labels: (Key) -> [Label]
    ) -> MetricFamily {
        let samples = samples(summing: [table], labels: labels)
        return MetricFamily(name: name, help: help, kind: .counter, samples: samples)
    }

    private static func samples<Key>(
        summing tables: [CounterTable<Key>],
        labels: (Key) -> [Label]
    ) -> [Sample] {
        Key.allCases.map { key in
            let sum = tables.reduce(UInt64(0)) { $0 &+ $1[key].value }
            return Sample(labels: labels(key), value: "\(sum)")
        }
    }

    static func gauge(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        _ gauge: (ShardMetrics) -> Gauge
    ) -> MetricFamily {
        let sum = shards.reduce(0) { $0 &+ gauge($1).value }
        return .gauge(name, help, value: "\(sum)")
    }

    static func gauge(
        _ name: String,
        _ help: String,
        labels: [Label] = [],
        value: String?
    ) -> MetricFamily {
        let samples = value.map { [Sample(labels: labels, value: $0)] } ?? []
        return MetricFamily(name: name, help: help, kind: .gauge, samples: samples)
    }

    /// A family with one sample for each member of a list, such as the routes.
    static func gauges(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        labels: [[Label]],
        _ gauge: (ShardMetrics, _ index: Int) -> Int
    ) -> MetricFamily {
        let samples = labels.indices.map { index in
            let sum = shards.reduce(0) { $0 &+ gauge($1, index) }
            return Sample(labels: labels[index], value: "\(sum)")
        }
        return MetricFamily(name: name, help: help, kind: .gauge, samples: samples)
    }

    static func histogram(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        _ histogram: (ShardMetrics) -> Histogram
    ) -> MetricFamily {
        histograms(name, help, of: shards, [((), [])]) { shard, _ in histogram(shard) }
    }

    /// A family with one histogram for each row.
    static func histograms<Row>(
        _ name: String,
        _ help: String,
        of shards: [ShardMetrics],
        _ rows: [(row: Row, labels: [Label])],
        _ histogram: (ShardMetrics, Row) -> Histogram
    ) -> MetricFamily {
        MetricFamily(
            name: name,
            help: help,
            kind: .histogram,
            samples: rows.flatMap { row, labels in
                samples(of: shards.map { histogram($0, row) }, labels)
            }
        )
    }

    static func samples(of histograms: [Histogram], _ labels: [Label]) -> [Sample] {
        guard let first = histograms.first else { return [] }
        var samples: [Sample] = []
        let sum = histograms.dropFirst().reduce(first.reading) { $0 + $1.reading }
        var cumulative: UInt64 = 0
        let bounds = first.bounds.map { bound($0) } + ["+Inf"]
        for (bound, count) in zip(bounds, sum.counts) {
            cumulative &+= count
            samples.append(
                Sample(
                    suffix: "_bucket",
                    labels: labels + [Label("le", bound)],
                    value: "\(cumulative)"
                )
            )
        }
        let total = seconds(sum.totalMicroseconds, perSecond: 1_000_000)
        samples.append(Sample(suffix: "_sum", labels: labels, value: total))
        // The sum of the buckets instead of a separate counter, so that it always equals `+Inf`.
        samples.append(Sample(suffix: "_count", labels: labels, value: "\(cumulative)"))
        return samples
    }

    /// A bound in seconds with a decimal point, as OpenMetrics requires.
    ///
    /// Both formats use it, so that a series does not depend on the scraper.
    private static func bound(_ duration: Duration) -> String {
        let text = seconds(UInt64(duration.nanoseconds))
        return text.contains(".") ? text : text + ".0"
    }

    /// Converts nanoseconds or another unit to seconds, exactly and without trailing zeros.
    static func seconds(_ count: UInt64, perSecond: UInt64 = 1_000_000_000) -> String {
        let fraction = count % perSecond
        guard fraction > 0 else { return "\(count / perSecond)" }
        var digits = String("\(perSecond + fraction)".dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(count / perSecond).\(digits)"
    }
}
