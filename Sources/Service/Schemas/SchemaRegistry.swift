import Configuration
import EventCodec
import Foundation
import JSONSchema
import Log
import RegistryIO
import Shard
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Fetches the schemas that records name, once each for all shards, on a thread of its own.
final class SchemaRegistry: Sendable {
    private struct Request: Sendable {
        var schema: SchemaReference
        var shard: ShardControl
    }

    private struct State: Sendable {
        /// At most one for each schema that something in a shard's hands waits for.
        var requests: [Request] = []
        var trouble: String?
        var failedAt = Instant(nanoseconds: .min)
    }

    private let compilation: SchemaCompilation
    private let metrics: SchemaMetrics
    private let log: Log
    private let state = Mutex(State())
    /// One signal for each request, and one for the end.
    private let requested = DispatchSemaphore(value: 0)
    private let stopped = Atomic(false)

    /// A registry that comes back while nobody needs it announces itself by nothing.
    private static let troubleLifetime = Duration.seconds(60)

    /// Starts the thread, which lives until `stop`.
    init(
        _ access: RegistryAccess,
        compilation: SchemaCompilation,
        metrics: SchemaMetrics,
        log: Log
    ) {
        self.compilation = compilation
        self.metrics = metrics
        self.log = log
        let thread = Thread { [self] in serve(access) }
        thread.name = "schema-registry"
        thread.start()
    }

    func stop() {
        stopped.store(true, ordering: .releasing)
        requested.signal()
    }

    /// Asks for a schema; the answer comes into the shard's inbox.
    func fetch(_ schema: SchemaReference, for shard: ShardControl) {
        state.withLock { $0.requests.append(Request(schema: schema, shard: shard)) }
        requested.signal()
    }

    /// Why the registry lately did not answer; nil: it did, or nobody asked.
    func trouble(now: Instant) -> String? {
        state.withLock { state in
            now - state.failedAt < Self.troubleLifetime ? state.trouble : nil
        }
    }

    // MARK: The thread

    private func serve(_ access: RegistryAccess) {
        var cache = RegistryCache()
        do throws(RegistryError) {
            let client = try RegistryClient(access)
            while true {
                requested.wait()
                guard !stopped.load(ordering: .acquiring) else { return }
                guard let request = nextRequest() else { continue }
                answer(request, &cache, client)
            }
        } catch {
            // Without libcurl nothing can ever be fetched; what waits ends as it would without
            // a registry.
            while !stopped.load(ordering: .acquiring) {
                requested.wait()
                if let request = nextRequest() { failed(request, error, cache) }
            }
        }
    }

    private func nextRequest() -> Request? {
        state.withLock { $0.requests.isEmpty ? nil : $0.requests.removeFirst() }
    }

    private func answer(
        _ request: Request,
        _ cache: inout RegistryCache,
        _ client: borrowing RegistryClient
    ) {
        if let known = cache.schema(request.schema, now: SystemClock.now) {
            deliver(known, to: request)
            return
        }
        do throws(RegistryError) {
            let schema = RegisteredSchema(try client.fetch(request.schema), compilation)
            cache.insert(schema, for: request.schema, now: SystemClock.now)
            metrics.registryFetches[.ok].add()
            metrics.registrySchemas.set(cache.count)
            state.withLock { $0.trouble = nil }
            log.info(
                "schema fetched",
                [.schema: request.schema.description, .outcome: schema.word]
            )
            deliver(schema, to: request)
        } catch {
            metrics.registryFetches[.failed].add()
            failed(request, error, cache)
        }
    }

    /// Whoever waits behind this request would wait for a timeout of its own: all are told at once.
    private func failed(_ request: Request, _ error: RegistryError, _ cache: RegistryCache) {
        let (others, isNews) = state.withLock { state in
            let isNews = state.trouble != error.description
            state.trouble = error.description
            state.failedAt = SystemClock.now
            defer { state.requests = [] }
            return (state.requests, isNews)
        }
        if isNews {
            log.warning(
                "schema could not be fetched",
                [.schema: request.schema.description, .error: error.description]
            )
        }
        deliver(nil, to: request)
        for other in others {
            deliver(cache.schema(other.schema, now: SystemClock.now), to: other)
        }
    }

    private func deliver(_ result: RegisteredSchema?, to request: Request) {
        request.shard.deliver(SchemaAnswer(schema: request.schema, result: result))
    }
}

/// What the registry has said.
///
/// A schema never changes under its identifier, so it is kept for good. What the registry lacks,
/// or has in a form of no use, is asked for again after a while.
struct RegistryCache: Sendable {
    private var usable: [SchemaReference: RegisteredSchema] = [:]
    private var useless: [SchemaReference: (schema: RegisteredSchema, until: Instant)] = [:]

    /// Of either kind; reaching it forgets all of that kind.
    static let limit = ShardSchemas.maxRegistered
    /// A replica of the registry may learn of a schema later than a producer.
    static let uselessLifetime = Duration.seconds(15)

    var count: Int { usable.count }

    func schema(_ reference: SchemaReference, now: Instant) -> RegisteredSchema? {
        if let schema = usable[reference] { return schema }
        guard let entry = useless[reference], now < entry.until else { return nil }
        return entry.schema
    }

    mutating func insert(
        _ schema: RegisteredSchema,
        for reference: SchemaReference,
        now: Instant
    ) {
        switch schema {
        case .usable:
            if usable.count >= Self.limit { usable.removeAll() }
            usable[reference] = schema
        case .unknown, .unusable:
            if useless.count >= Self.limit { useless.removeAll() }
            useless[reference] = (schema, now + Self.uselessLifetime)
        }
    }
}

extension RegisteredSchema {
    /// Compiles what the registry has.
    init(_ verdict: RegistryVerdict, _ compilation: SchemaCompilation) {
        switch verdict {
        case .unknown: self = .unknown
        case .unusable(let cause): self = .unusable(cause)
        case .found(let found):
            do throws(SchemaError) {
                self = .usable(try compilation.compile(found))
            } catch {
                self = .unusable("cannot be enforced: \(error)")
            }
        }
    }

    /// For the log.
    fileprivate var word: String {
        switch self {
        case .usable: "usable"
        case .unknown: "unknown"
        case .unusable(let cause): cause
        }
    }
}
