package import EventCodec
import Shard
package import Vocabulary

/// Tracks which registered schemas are being fetched, for whom, and the registry's answers.
///
/// It receives events and decides what to do; another part talks to the registry.
package struct SchemaLookups<Asker: Sendable>: Sendable {
    package enum Answer: Sendable {
        /// Nil: not available now.
        case now(RegisteredSchema?)
        /// It is being fetched; `ended` returns the asker.
        case later
    }

    package enum Step: Sendable {
        case fetch(SchemaReference)
        /// Too many recent fetches failed: these askers get no answer for now.
        case refuse(SchemaReference, [Asker])
    }

    private var cache: RegistryCache
    private var limit = LookupLimit()
    /// The askers of each schema, from the first request to the answer.
    private var askers: [SchemaReference: [Asker]] = [:]
    /// In reverse order: the last one is next.
    private var waiting: [SchemaReference] = []
    private var arriving: [SchemaReference] = []

    package init(maxByteCount: Int = RegistryCache.maxByteCount) {
        cache = RegistryCache(maxByteCount: maxByteCount)
    }

    /// The number of schemas that are ready to use.
    package var usableCount: Int { cache.usableCount }

    /// An asker needs a schema.
    package mutating func ask(
        _ schema: SchemaReference,
        _ asker: Asker,
        now: Instant
    ) -> Answer {
        guard schema.isPossible else { return .now(.unknown) }
        if let known = cache.schema(schema, now: now) { return .now(known) }
        if askers[schema] == nil { arriving.append(schema) }
        askers[schema, default: []].append(asker)
        return .later
    }

    /// The next step; nil: none.
    package mutating func next(now: Instant) -> Step? {
        if waiting.isEmpty {
            waiting = arriving.reversed()
            arriving = []
        }
        guard let schema = waiting.popLast() else { return nil }
        guard limit.hasRoom(now: now) else {
            return .refuse(schema, askers.removeValue(forKey: schema) ?? [])
        }
        return .fetch(schema)
    }

    /// The registry returned a schema, or an error for this schema only.
    ///
    /// - Returns: the askers.
    package mutating func ended(
        _ schema: SchemaReference,
        _ result: RegisteredSchema?,
        now: Instant
    ) -> [Asker] {
        if let result { cache.insert(result, for: schema, now: now) }
        if case .usable? = result {} else { limit.count(now: now) }
        return askers.removeValue(forKey: schema) ?? []
    }

    /// The registry does not return any schemas.
    ///
    /// - Returns: all schemas still to be fetched, with their askers: each would wait for its own
    ///   timeout.
    package mutating func registryFailed(
        _ schema: SchemaReference
    ) -> [(schema: SchemaReference, askers: [Asker])] {
        let schemas = [schema] + waiting.reversed() + arriving
        waiting = []
        arriving = []
        return schemas.map { ($0, askers.removeValue(forKey: $0) ?? []) }
    }
}

extension SchemaReference {
    /// Whether a registry may have such a schema: its IDs are positive 32-bit integers.
    var isPossible: Bool {
        switch self {
        case .id(let number): number <= UInt32(Int32.max)
        case .guid: true
        }
    }
}

/// Limits fetches without a usable result: 200 at once, and 20 a second in the long run.
///
/// A record may contain any ID, and each new one causes a request to the registry.
private struct LookupLimit: Sendable {
    private static let interval = Duration.milliseconds(50)
    private static let burst = 200

    /// When all counted fetches will have been compensated.
    private var settled = Instant(nanoseconds: .min)

    func hasRoom(now: Instant) -> Bool {
        max(settled, now) + Self.interval <= now + Self.interval * Self.burst
    }

    mutating func count(now: Instant) { settled = max(settled, now) + Self.interval }
}

/// A cache of the registry's answers.
///
/// A schema never changes under its ID, so it is kept as long as there is room. Missing or unusable
/// schemas are fetched again after a while.
package struct RegistryCache: Sendable {
    private struct Useless: Sendable {
        var schema: RegisteredSchema
        var until: Instant
    }

    private var usable: [SchemaReference: RegisteredSchema] = [:]
    private var useless: [SchemaReference: Useless] = [:]
    private var byteCount = 0
    private let maxByteCount: Int

    /// The limit for either kind; reaching it drops all entries of that kind.
    private static var maxCount: Int { ShardSchemas.maxRegistered }
    /// The limit for usable schemas in bytes; reaching it drops them all.
    package static var maxByteCount: Int { ShardSchemas.maxByteCount }
    /// A replica of the registry may get a schema later than the producer.
    private static let unknownLifetime = Duration.seconds(15)
    /// Its text does not change, and checking it again is expensive.
    private static let unusableLifetime = Duration.seconds(600)

    package init(maxByteCount: Int = Self.maxByteCount) {
        self.maxByteCount = maxByteCount
    }

    package var usableCount: Int { usable.count }

    package func schema(_ reference: SchemaReference, now: Instant) -> RegisteredSchema? {
        if let schema = usable[reference] { return schema }
        guard let entry = useless[reference], now < entry.until else { return nil }
        return entry.schema
    }

    package mutating func insert(
        _ schema: RegisteredSchema,
        for reference: SchemaReference,
        now: Instant
    ) {
        switch schema {
        case .usable:
            if usable.count >= Self.maxCount || byteCount + schema.byteCount > maxByteCount {
                usable.removeAll()
                byteCount = 0
            }
            byteCount += schema.byteCount - (usable[reference]?.byteCount ?? 0)
            usable[reference] = schema
        case .unknown: insert(Useless(schema: schema, until: now + Self.unknownLifetime), reference)
        case .unusable:
            insert(Useless(schema: schema, until: now + Self.unusableLifetime), reference)
        }
    }

    private mutating func insert(_ entry: Useless, _ reference: SchemaReference) {
        if useless.count >= Self.maxCount { useless.removeAll() }
        useless[reference] = entry
    }
}
