/// The keys of log lines: a closed list, so that searches are reliable.
///
/// There is no key for a device token, a provider token or a payload, which are never logged.
/// Devices are identified by a keyed fingerprint.
public enum LogKey: String, Hashable, Sendable, CaseIterable {
    /// `host:port` of a listener or a peer.
    case address
    /// The `apns-id` of the request, a UUID.
    case apnsID = "apns_id"
    /// The value of `apns-topic`.
    case apnsTopic = "apns_topic"
    /// Streams opened for the event.
    case attempts
    /// An event's campaign, chosen by its producer.
    case campaign
    case connection
    case count
    /// A credential's name in the configuration.
    case credential
    /// Days until a certificate expires.
    case days
    /// The fingerprint of a device token; see `log.fingerprint_key_file`.
    case device
    case environment
    case error
    /// The event's ID, chosen by its producer.
    case eventID = "event_id"
    /// The order for a campaign.
    case order
    case outcome
    case partition
    case port
    case problem
    case reason
    /// The number of lines that were counted instead of written.
    case repeated
    /// The path of a schema in the Schema Registry.
    case schema
    case seconds
    case shard
    /// The number of shards in the process.
    case shards
    /// The event's position in Kafka: `topic-partition@offset`.
    case source
    /// The HTTP status of APNs' answer.
    case status
    /// The user name that a visitor of the admin port gave with the token.
    case user
    case version
}
