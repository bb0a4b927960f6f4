import Synchronization

/// Counters for external schemas.
///
/// The thread that watches the directory writes the reload counters, and the thread that talks to
/// the registry writes the request counters.
public final class SchemaMetrics: Sendable {
    /// Changes of `schemas.directory`, by whether the new schemas could be adopted.
    public let reloads = CounterTable<CallResult>()
    /// When the current schemas were adopted, in seconds since the epoch; 0: there are none.
    public let loadedAt = Gauge()
    /// Requests to the Schema Registry, by result.
    public let registryFetches = CounterTable<CallResult>()
    /// The number of known schemas from the registry.
    public let registrySchemas = Gauge()

    public init() {}
}
