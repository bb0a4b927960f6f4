/// What a process says of itself, beside its shards: asked for whenever the metrics are.
public struct ProcessMetrics: Sendable {
    /// What the operating system knows; the names are those of every Prometheus client.
    public struct Usage: Hashable, Sendable {
        public var cpuNanoseconds: UInt64
        public var residentBytes: Int64
        public var virtualBytes: Int64
        public var openDescriptors: Int
        public var maxDescriptors: Int64
        public var threads: Int
        /// In milliseconds since the epoch.
        public var startedAt: Int64

        public init(
            cpuNanoseconds: UInt64,
            residentBytes: Int64,
            virtualBytes: Int64,
            openDescriptors: Int,
            maxDescriptors: Int64,
            threads: Int,
            startedAt: Int64
        ) {
            self.cpuNanoseconds = cpuNanoseconds
            self.residentBytes = residentBytes
            self.virtualBytes = virtualBytes
            self.openDescriptors = openDescriptors
            self.maxDescriptors = maxDescriptors
            self.threads = threads
            self.startedAt = startedAt
        }
    }

    public struct Reading: Hashable, Sendable {
        public var isReady = false
        public var warningCount = 0
        /// Since the slowest shard's loop last turned, in milliseconds.
        public var silenceMilliseconds: Int64 = 0
        /// Age of the oldest event without an acknowledged outcome, in milliseconds.
        public var oldestUnsettledMilliseconds: Int64 = 0
        /// The bounds of all shards together.
        public var maxInFlightEvents = 0
        public var maxInFlightBytes = 0
        /// When the configuration was read, in seconds since the epoch.
        public var configurationLoadedAt: Int64 = 0
        /// Nil: the system does not say.
        public var usage: Usage?

        public init() {}
    }

    private let reading: @Sendable () -> Reading

    public init(reading: @escaping @Sendable () -> Reading = { Reading() }) {
        self.reading = reading
    }

    var families: [MetricFamily] {
        let reading = reading()
        return [
            .gauge(
                "ready",
                "1 while /ready says that the service does its work, else 0.",
                value: reading.isReady ? "1" : "0"
            ),
            .gauge(
                "warnings",
                "How many warnings /ready lists: credentials, endpoints, schemas in trouble.",
                value: "\(reading.warningCount)"
            ),
            Self.milliseconds(
                "shard_silence_seconds",
                "Since the slowest shard's loop last turned; it turns at least every second.",
                reading.silenceMilliseconds
            ),
            Self.milliseconds(
                "oldest_unsettled_seconds",
                "Since the oldest event without acknowledged outcome was read; 0: there is none.",
                reading.oldestUnsettledMilliseconds
            ),
            .gauge(
                "inflight_limit_events",
                "How many events may be in flight: limits.in_flight_events.",
                value: "\(reading.maxInFlightEvents)"
            ),
            .gauge(
                "inflight_limit_bytes",
                "How many bytes of events may be in flight: limits.in_flight_bytes.",
                value: "\(reading.maxInFlightBytes)"
            ),
            .gauge(
                "config_last_load_timestamp_seconds",
                "When the configuration was read.",
                value: "\(reading.configurationLoadedAt)"
            ),
        ] + (reading.usage.map(Self.families) ?? [])
    }

    private static func milliseconds(_ name: String, _ help: String, _ value: Int64)
        -> MetricFamily
    {
        .gauge(name, help, value: MetricFamily.seconds(UInt64(max(0, value)) * 1_000_000))
    }

    private static func families(_ usage: Usage) -> [MetricFamily] {
        var families: [MetricFamily] = [
            MetricFamily(
                name: "process_cpu_seconds_total",
                help: "Processor time of user and system spent.",
                kind: .counter,
                samples: [.init(value: MetricFamily.seconds(usage.cpuNanoseconds))]
            ),
            .gauge(
                "process_resident_memory_bytes",
                "Resident memory.",
                value: "\(usage.residentBytes)"
            ),
            .gauge(
                "process_virtual_memory_bytes",
                "Virtual memory.",
                value: "\(usage.virtualBytes)"
            ),
            .gauge("process_open_fds", "Open descriptors.", value: "\(usage.openDescriptors)"),
            .gauge(
                "process_max_fds",
                "How many descriptors may be open.",
                value: "\(usage.maxDescriptors)"
            ),
            .gauge("process_threads", "Threads.", value: "\(usage.threads)"),
            milliseconds(
                "process_start_time_seconds",
                "When the process started, since the epoch.",
                usage.startedAt
            ),
        ]
        for index in families.indices { families[index].prefix = "" }
        return families
    }
}
