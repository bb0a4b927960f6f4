public import Vocabulary

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

    /// A certificate that Heliograph presents, and when it is valid.
    public struct Certificate: Hashable, Sendable {
        let use: Use
        let notBefore: Timestamp
        let notAfter: Timestamp

        public init(_ use: Use, from notBefore: Timestamp, until notAfter: Timestamp) {
            (self.use, self.notBefore, self.notAfter) = (use, notBefore, notAfter)
        }
    }

    private let reloads: [(use: Use, table: CounterTable<CallResult>)]
    private let certificates: @Sendable () -> [Certificate]
    private let unusable: @Sendable () -> [(use: Use, count: Int)]

    /// - Parameters:
    ///   - reloads: Counts changes of files, by whether they could be adopted.
    ///   - certificates: The certificates in use; called on each reading.
    ///   - unusable: How many files the newest reload could not use; called on each reading.
    public init(
        reloads: [(use: Use, table: CounterTable<CallResult>)] = [],
        certificates: @escaping @Sendable () -> [Certificate] = { [] },
        unusable: @escaping @Sendable () -> [(use: Use, count: Int)] = { [] }
    ) {
        self.reloads = reloads
        self.certificates = certificates
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
                samples: samples { $0.notAfter.seconds }
            ),
            MetricFamily(
                name: "tls_certificate_lifetime_seconds",
                help: "How long the same certificate is valid, from its first second to its last.",
                kind: .gauge,
                samples: samples { $0.notAfter.seconds - $0.notBefore.seconds }
            ),
        ]
    }

    /// A sample for each certificate.
    private func samples(_ value: (Certificate) -> Int64) -> [MetricFamily.Sample] {
        certificates().map {
            MetricFamily.Sample(labels: [.init("use", $0.use.rawValue)], value: "\(value($0))")
        }
    }
}
