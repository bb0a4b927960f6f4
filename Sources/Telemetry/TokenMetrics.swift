/// A process's metrics about device tokens, written by the reader's thread.
public final class TokenMetrics: Sendable {
    public let statusRecordsRead = Counter()
    public let malformedStatusRecords = Counter()
    private let suppressedCount: @Sendable () -> Int

    /// - Parameter suppressedCount: Returns the current number of tokens on the list of dead
    ///   tokens.
    public init(suppressedCount: @escaping @Sendable () -> Int = { 0 }) {
        self.suppressedCount = suppressedCount
    }

    func families(_ shards: [ShardMetrics]) -> [MetricFamily] {
        [
            .gauge(
                "suppressed_tokens",
                "Device tokens that are suppressed because APNs answered 410.",
                value: "\(suppressedCount())"
            ),
            .counter(
                "token_status_read_total",
                "Records read from the token-status topic.",
                statusRecordsRead
            ),
            .counter(
                "token_status_malformed_total",
                "Records of the token-status topic that could not be parsed.",
                malformedStatusRecords
            ),
            .counter(
                "token_fuse_trips_total",
                "Number of times that a token fuse has blown.",
                of: shards,
                \.tokenFuseTrips
            ),
        ]
    }
}
