/// Expiry of the certificates that the process presents, except those of credentials.
public struct CertificateMetrics: Sendable {
    /// For whom a certificate is.
    public enum Use: String, Hashable, Sendable {
        /// The visitors of the admin port.
        case admin
        /// Kafka's brokers.
        case kafka
    }

    private let expiries: @Sendable () -> [(use: Use, notAfter: Int64)]

    /// - Parameter expiries: In seconds since the epoch; asked whenever the metrics are.
    public init(expiries: @escaping @Sendable () -> [(use: Use, notAfter: Int64)] = { [] }) {
        self.expiries = expiries
    }

    var families: [MetricFamily] {
        [
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
            )
        ]
    }
}
