/// Metrics about a process's watched files, except those of credentials and schemas.
public struct FileMetrics: Sendable {
    /// What files are used for.
    public enum Use: String, Hashable, Sendable {
        /// TLS and tokens of the admin port.
        case admin
        /// Connections to Kafka's brokers.
        case kafka
        /// APNs.
        case credentials
        /// The payloads of events.
        case schemas
    }

    private let reloads: [(use: Use, table: CounterTable<CallResult>)]
    private let expiries: @Sendable () -> [(use: Use, notAfter: Int64)]
    private let unusable: @Sendable () -> [(use: Use, count: Int)]

    /// - Parameters:
    ///   - reloads: Counts changes of files, by whether they could be adopted.
    ///   - expiries: When certificates expire, in seconds since the epoch; called on each reading.
    ///   - unusable: How many files the newest reload could not use; called on each reading.
    public init(
        reloads: [(use: Use, table: CounterTable<CallResult>)] = [],
        expiries: @escaping @Sendable () -> [(use: Use, notAfter: Int64)] = { [] },
        unusable: @escaping @Sendable () -> [(use: Use, count: Int)] = { [] }
    ) {
        self.reloads = reloads
        self.expiries = expiries
        self.unusable = unusable
    }

    var families: [MetricFamily] {
        [
            MetricFamily(
                name: "files_reloads_total",
                help:
                    "Reloads of changed files for Kafka and the admin port, by result.",
                kind: .counter,
                samples: reloads.flatMap { use, table in
                    table.values.map { result, count in
                        MetricFamily.Sample(
                            labels: [
                                .init("use", use.rawValue), .init("result", result.rawValue),
                            ],
                            value: "\(count)"
                        )
                    }
                }
            ),
            MetricFamily(
                name: "unusable_files",
                help: "Changed files, or sets of them, that cannot be used as they are now.",
                kind: .gauge,
                samples: unusable().map { use, count in
                    MetricFamily.Sample(labels: [.init("use", use.rawValue)], value: "\(count)")
                }
            ),
            MetricFamily(
                name: "tls_certificate_expiry_timestamp_seconds",
                help: "Expiry of the certificate presented to Kafka, or of the admin port's.",
                kind: .gauge,
                samples: expiries().map { expiry in
                    MetricFamily.Sample(
                        labels: [.init("use", expiry.use.rawValue)],
                        value: "\(expiry.notAfter)"
                    )
                }
            ),
        ]
    }
}
