package import EventCodec
package import Vocabulary

/// Where a shard gets the schemas from outside.
package struct ShardSchemas: Sendable {
    /// Maximum number of registered schemas kept.
    ///
    /// Reaching it forgets all: nobody has that many schemas, so it is a producer's mistake, and
    /// must not fill the memory.
    package static let maxRegistered = 10_000
    /// Their maximum size together; reaching it also forgets all.
    ///
    /// The largest schemas of the registry are four times 32 MiB.
    package static let maxByteCount = 128 << 20

    /// The operator's schemas, unless the caller has them already: `seen` is the version that it
    /// has, and becomes the present one.
    let payloadSchemas: @Sendable (_ seen: inout Int) -> PayloadSchemas?
    /// Asks the Schema Registry, which answers by `ShardControl.deliver`; nil: there is none.
    let fetch: (@Sendable (SchemaReference, ShardControl) -> Void)?

    package init(
        payloadSchemas: @escaping @Sendable (_ seen: inout Int) -> PayloadSchemas?,
        fetch: (@Sendable (SchemaReference, ShardControl) -> Void)?
    ) {
        self.payloadSchemas = payloadSchemas
        self.fetch = fetch
    }
}
