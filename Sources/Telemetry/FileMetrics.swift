/// What a process knows of its watched files.
public struct FileMetrics: Sendable {
    /// For whom files are.
    public enum Use: String, Hashable, Sendable {
        /// The visitors of the admin port.
        case admin
        /// Kafka's brokers.
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
    ///   - reloads: Changes of the files, by whether they could be used; credentials and schemas
    ///     have counters of their own.
    ///   - expiries: Of certificates, in seconds since the epoch; asked whenever the metrics are.
    ///   - unusable: What could not be used as it is now; asked whenever the metrics are.
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
