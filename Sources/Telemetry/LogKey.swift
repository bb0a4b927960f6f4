/// The metadata keys of log lines: a closed list, so that a search always finds its word.
///
/// There is no key for a device token, a provider token or a payload: they are never logged.
package enum LogKey: String, Hashable, Sendable, CaseIterable {
    /// `host:port` of a listener or a peer.
    case address
    case connection
    case count
    /// A credential's name in the configuration.
    case credential
    /// Until a certificate expires.
    case days
    case environment
    case error
    case outcome
    case partition
    case port
    case problem
    case reason
    /// A schema of the Schema Registry, as its path there.
    case schema
    case seconds
    case shard
    /// How many shards the process runs.
    case shards
    case version
}
