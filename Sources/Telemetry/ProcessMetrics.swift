/// A process's metrics that are independent of shards; read at each scrape.
public struct ProcessMetrics: Sendable {
    /// Numbers from the operating system, with the names that all Prometheus clients use.
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
        /// The time since the slowest shard's loop last turned, in milliseconds.
        public var silenceMilliseconds: Int64 = 0
        /// Age of the oldest event without an acknowledged outcome, in milliseconds.
        public var oldestUnsettledMilliseconds: Int64 = 0
        /// The limits of all shards together.
        public var maxInFlightEvents = 0
        public var maxInFlightBytes = 0
        /// When the configuration was read, in seconds since the epoch.
        public var configurationLoadedAt: Int64 = 0
        /// Nil: the operating system does not provide it.
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
                "1 if /ready answers 200, else 0.",
                value: reading.isReady ? "1" : "0"
            ),
            .gauge(
                "warnings",
                "Number of warnings in /ready: problems with single parts, while the rest works.",
                value: "\(reading.warningCount)"
            ),
            Self.milliseconds(
                "shard_silence_seconds",
                "Time since the slowest shard last made progress; normally at most a second.",
                reading.silenceMilliseconds
            ),
            Self.milliseconds(
                "oldest_unsettled_seconds",
                "Time since the oldest event without an acknowledged outcome was read, except events"
                    + " that are not due or wait for their campaign; 0: none.",
                reading.oldestUnsettledMilliseconds
            ),
            .gauge(
                "inflight_limit_events",
                "Limit of events in flight: limits.in_flight_events.",
                value: "\(reading.maxInFlightEvents)"
            ),
            .gauge(
                "inflight_limit_bytes",
                "Limit of bytes of events in flight: limits.in_flight_bytes.",
                value: "\(reading.maxInFlightBytes)"
            ),
            .gauge(
                "config_last_load_timestamp_seconds",
                "Time at which the configuration was read.",
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
                help: "User and system CPU time.",
                kind: .counter,
                samples: [.init(value: MetricFamily.seconds(usage.cpuNanoseconds))]
            ),
            .gauge(
                "process_resident_memory_bytes",
                "Resident memory size.",
                value: "\(usage.residentBytes)"
            ),
            .gauge(
                "process_virtual_memory_bytes",
                "Virtual memory.",
                value: "\(usage.virtualBytes)"
            ),
            .gauge(
                "process_open_fds",
                "Number of open file descriptors.",
                value: "\(usage.openDescriptors)"
            ),
            .gauge(
                "process_max_fds",
                "Limit of open file descriptors.",
                value: "\(usage.maxDescriptors)"
            ),
            .gauge("process_threads", "Threads.", value: "\(usage.threads)"),
            milliseconds(
                "process_start_time_seconds",
                "Start time of the process since the Unix epoch.",
                usage.startedAt
            ),
        ]
        for index in families.indices { families[index].prefix = "" }
        return families
    }
}
