/// The metadata keys of log lines: a closed list, so that a search always finds its word.
///
/// There is no key for a device token, a provider token or a payload: they are never logged.
package enum LogKey: String, Hashable, Sendable, CaseIterable {
    /// The `apns-id` of a notification.
    case apnsID = "apns_id"
    /// `host:port` of a listener or a peer.
    case address
    case attempt
    case connection
    case count
    /// A credential's name in the configuration.
    case credential
    /// Milliseconds.
    case durationMilliseconds = "duration_ms"
    case environment
    case error
    /// HTTP/2's or librdkafka's number.
    case errorCode = "error_code"
    case group
    /// A key of the configuration.
    case key
    case kafkaTopic = "kafka_topic"
    case lastStreamID = "last_stream_id"
    case offset
    case outcome
    case partition
    case path
    case port
    case problem
    case reason
    case shard
    case shards
    case signal
    /// An HTTP status.
    case status
    case version
}
