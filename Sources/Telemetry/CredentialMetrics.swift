/// A process's metrics about credentials that are independent of shards.
public struct CredentialMetrics: Sendable {
    /// The current state of one credential.
    public struct Reading: Hashable, Sendable {
        /// Its name in the configuration.
        public var credential: String
        /// When its files were adopted, in seconds since the epoch.
        public var loadedAt: Int64
        /// When its certificate expires, in seconds since the epoch; nil: it has no certificate.
        public var certificateExpiry: Int64?
        /// The age of its provider token in seconds; nil: none was signed yet.
        public var tokenAge: Int64?

        public init(
            credential: String,
            loadedAt: Int64,
            certificateExpiry: Int64?,
            tokenAge: Int64?
        ) {
            self.credential = credential
            self.loadedAt = loadedAt
            self.certificateExpiry = certificateExpiry
            self.tokenAge = tokenAge
        }
    }

    private let reloads: CounterTable<CallResult>
    private let readings: @Sendable () -> [Reading]

    /// - Parameters:
    ///   - reloads: Counts changes of the credentials' files, by whether they could be adopted.
    ///   - readings: Called whenever the metrics are read.
    public init(
        reloads: CounterTable<CallResult> = CounterTable(),
        readings: @escaping @Sendable () -> [Reading] = { [] }
    ) {
        self.reloads = reloads
        self.readings = readings
    }

    var families: [MetricFamily] {
        let readings = readings()
        return [
            .counters(
                "credentials_reloads_total",
                "Reloads of changed credential files, by result.",
                table: reloads
            ) { [.init("result", $0.rawValue)] },
            Self.gauge(
                "credentials_last_load_timestamp_seconds",
                "Time at which the key or certificate in use was loaded.",
                readings,
                \.loadedAt
            ),
            Self.gauge(
                "certificate_expiry_timestamp_seconds",
                "Expiry of the credential's certificate. Alert 30 days before.",
                readings,
                \.certificateExpiry
            ),
            Self.gauge(
                "provider_token_age_seconds",
                "Age of the provider token in use, by its iat; replaced at 45 minutes;"
                    + " absent while nothing is sent.",
                readings,
                \.tokenAge
            ),
        ]
    }

    private static func gauge(
        _ name: String,
        _ help: String,
        _ readings: [Reading],
        _ value: (Reading) -> Int64?
    ) -> MetricFamily {
        let samples = readings.compactMap { reading in
            value(reading).map { number in
                MetricFamily.Sample(
                    labels: [.init("credential", reading.credential)],
                    value: "\(number)"
                )
            }
        }
        return MetricFamily(name: name, help: help, kind: .gauge, samples: samples)
    }
}
