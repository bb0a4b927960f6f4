package import EventCodec
import Shard
package import Vocabulary

/// Which schemas of the registry are being looked up, for whom, and what it has said.
///
/// It gets what happened and says what to do; another part asks the registry.
package struct SchemaLookups<Asker: Sendable>: Sendable {
    package enum Answer: Sendable {
        /// Nil: not now.
        case now(RegisteredSchema?)
        /// It is being looked up; `ended` gives the asker back.
        case later
    }

    package enum Step: Sendable {
        case fetch(SchemaReference)
        /// Too many look-ups lately came to nothing: these askers get no answer for now.
        case refuse(SchemaReference, [Asker])
    }

    private var cache: RegistryCache
    private var limit = LookupLimit()
    /// Of each schema that is looked up, from the first request to the answer.
    private var askers: [SchemaReference: [Asker]] = [:]
    /// The last one is next.
    private var waiting: [SchemaReference] = []
    private var arriving: [SchemaReference] = []

    package init(maxByteCount: Int = RegistryCache.maxByteCount) {
        cache = RegistryCache(maxByteCount: maxByteCount)
    }

    /// Schemas that are ready for use.
    package var usableCount: Int { cache.usableCount }

    /// Somebody needs a schema.
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

    /// What is to be done next; nil: nothing.
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

    /// The registry said what a schema is, or something that is unusable for this one alone.
    ///
    /// - Returns: those who asked for it.
    package mutating func ended(
        _ schema: SchemaReference,
        _ result: RegisteredSchema?,
        now: Instant
    ) -> [Asker] {
        if let result { cache.insert(result, for: schema, now: now) }
        if case .usable? = result {} else { limit.count(now: now) }
        return askers.removeValue(forKey: schema) ?? []
    }

    /// The registry gives nobody a schema.
    ///
    /// - Returns: all whose schema is still to be fetched: each would wait for a time-out of its own.
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
    /// Whether a registry may have such a schema: its numbers are positive, and have 32 bits.
    var isPossible: Bool {
        switch self {
        case .id(let number): number <= UInt32(Int32.max)
        case .guid: true
        }
    }
}

/// How many look-ups may come to nothing: 200 at once, and then 20 a second.
///
/// A record may have any number, and each new one is a request to the registry.
private struct LookupLimit: Sendable {
    private static let interval = Duration.milliseconds(50)
    private static let burst = 200

    /// All that were counted are made up for by then.
    private var settled = Instant(nanoseconds: .min)

    func hasRoom(now: Instant) -> Bool {
        max(settled, now) + Self.interval <= now + Self.interval * Self.burst
    }

    mutating func count(now: Instant) { settled = max(settled, now) + Self.interval }
}

/// The registry's answers.
///
/// A schema never changes under its identifier, so it is kept as long as there is room. What the
/// registry lacks, or has in an unusable form, is requested again after a while.
package struct RegistryCache: Sendable {
    private struct Useless: Sendable {
        var schema: RegisteredSchema
        var until: Instant
    }

    private var usable: [SchemaReference: RegisteredSchema] = [:]
    private var useless: [SchemaReference: Useless] = [:]
    private var byteCount = 0
    private let maxByteCount: Int

    /// Of either kind; reaching it forgets all of that kind.
    private static var maxCount: Int { ShardSchemas.maxRegistered }
    /// Of all usable schemas; reaching it forgets them.
    package static var maxByteCount: Int { ShardSchemas.maxByteCount }
    /// A replica of the registry may learn of a schema later than a producer.
    private static let unknownLifetime = Duration.seconds(15)
    /// Its text stays, and to find that out again is work.
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
