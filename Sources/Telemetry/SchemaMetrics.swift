import Synchronization

/// Counters for schemas from outside.
///
/// The reload counters are written by the thread that watches the directory, the request counters
/// by the one that asks the registry.
public final class SchemaMetrics: Sendable {
    /// Changes of `schemas.directory`, by whether the new schemas could be taken.
    public let reloads = CounterTable<CallResult>()
    /// When the schemas in use were taken, in seconds since the epoch; 0: there are none.
    public let loadedAt = Gauge()
    /// Requests to the Schema Registry, by result.
    public let registryFetches = CounterTable<CallResult>()
    /// Schemas of the registry that are known.
    public let registrySchemas = Gauge()

    public init() {}
}
