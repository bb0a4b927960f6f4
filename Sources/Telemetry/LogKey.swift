/// The keys of log lines: a closed list, so that a search always finds its word.
///
/// There is no key for a device token, a provider token or a payload: they are never logged. What
/// a device is called instead is a keyed fingerprint.
public enum LogKey: String, Hashable, Sendable, CaseIterable {
    /// `host:port` of a listener or a peer.
    case address
    /// Of the request to APNs, a UUID.
    case apnsID = "apns_id"
    /// The value of `apns-topic`.
    case apnsTopic = "apns_topic"
    /// Streams opened for the event.
    case attempts
    case connection
    case count
    /// A credential's name in the configuration.
    case credential
    /// Until a certificate expires.
    case days
    /// The fingerprint of a device token; see `log.fingerprint_key_file`.
    case device
    case environment
    case error
    /// The producer's own identifier.
    case eventID = "event_id"
    case outcome
    case partition
    case port
    case problem
    case reason
    /// Lines that were counted instead of written.
    case repeated
    /// A schema of the Schema Registry, as its path there.
    case schema
    case seconds
    case shard
    /// How many shards the process runs.
    case shards
    /// The event's place in Kafka: `topic-partition@offset`.
    case source
    /// HTTP status of APNs' answer.
    case status
    case version
}
