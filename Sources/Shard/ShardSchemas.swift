package import EventCodec
package import Vocabulary

/// Where a shard gets external schemas.
package struct ShardSchemas: Sendable {
    /// Maximum number of registered schemas kept.
    ///
    /// Reaching it forgets all of them: nobody has that many schemas, so a producer is misbehaving,
    /// which must not fill the memory.
    package static let maxRegistered = 10_000
    /// Maximum total size in bytes; reaching it also forgets all of them.
    ///
    /// Room for four of the registry's largest schemas, 32 MiB each.
    package static let maxByteCount = 128 << 20

    /// The operator's schemas, unless the caller already has them.
    ///
    /// `seen` is the caller's version, and becomes the current one.
    let payloadSchemas: @Sendable (_ seen: inout Int) -> PayloadSchemas?
    /// Fetches a schema, answered by `ShardControl.deliver`; nil: there is no Schema Registry.
    let fetch: (@Sendable (SchemaReference, ShardControl) -> Void)?

    package init(
        payloadSchemas: @escaping @Sendable (_ seen: inout Int) -> PayloadSchemas?,
        fetch: (@Sendable (SchemaReference, ShardControl) -> Void)?
    ) {
        self.payloadSchemas = payloadSchemas
        self.fetch = fetch
    }
}
