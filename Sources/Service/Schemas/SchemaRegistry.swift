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

/// Fetches the schemas that records name, once for all shards, on a thread of its own.
///
/// Other threads compile them.
final class SchemaRegistry: Sendable {
    private struct Trouble: Sendable {
        var text: String?
        var failedAt = Instant(nanoseconds: .min)
    }

    private let compilation: SchemaCompilation
    private let metrics: SchemaMetrics
    private let log: Log
    private let lookups = Mutex(SchemaLookups<ShardControl>())
    private let trouble = Mutex(Trouble())
    /// The size of the texts to be compiled, in bytes.
    private let pendingByteCount = Atomic(0)
    /// Signalled once for each request, and once at the end.
    private let requested = DispatchSemaphore(value: 0)
    private let stopped = Atomic(false)
    private let compilers = CompilerThreads(count: 2, named: "schema-compiler")

    /// How long a failure is reported; if nobody needs the registry, its recovery goes unnoticed.
    private static let troubleLifetime = Duration.seconds(60)
    /// Four of the largest schemas; others are fetched again while these are compiled.
    private static let maxPendingByteCount = 16 << 20

    /// Starts the threads, which run until `stop`.
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
        compilers.stop()
    }

    /// Requests a schema; the answer is delivered to the shard's inbox.
    func fetch(_ schema: SchemaReference, for shard: ShardControl) {
        let now = SystemClock.now
        switch lookups.withLock({ $0.ask(schema, shard, now: now) }) {
        case .now(let known): deliver(known, of: schema, to: [shard])
        case .later: requested.signal()
        }
    }

    /// Why the registry recently did not answer; nil: it did, or was not asked.
    func trouble(now: Instant) -> String? {
        trouble.withLock { now - $0.failedAt < Self.troubleLifetime ? $0.text : nil }
    }

    // MARK: The thread

    private func serve(_ access: RegistryAccess) {
        do throws(RegistryError) {
            let client = try RegistryClient(access)
            while let schema = nextSchema() { fetch(schema, client) }
        } catch {
            // Without libcurl nothing can be fetched; records wait as if the registry did not
            // answer.
            while let schema = nextSchema() { failed(schema, error) }
        }
    }

    /// Waits for the next schema to fetch; nil: stopped.
    private func nextSchema() -> SchemaReference? {
        while true {
            requested.wait()
            guard !stopped.load(ordering: .acquiring) else { return nil }
            let now = SystemClock.now
            switch lookups.withLock({ $0.next(now: now) }) {
            case .fetch(let schema): return schema
            case .refuse(let schema, let shards):
                metrics.registryFetches[.failed].add()
                log.warning(
                    "schema not fetched: too many lookups failed",
                    [.schema: schema.description]
                )
                deliver(nil, of: schema, to: shards)
            case nil: continue
            }
        }
    }

    private func fetch(_ schema: SchemaReference, _ client: borrowing RegistryClient) {
        do throws(RegistryError) {
            switch try client.fetch(schema) {
            case .unknown: ended(schema, .unknown)
            case .unusable(let cause): ended(schema, .unusable(cause))
            case .found(let text): compile(text, schema)
            }
            trouble.withLock { $0.text = nil }
        } catch {
            failed(schema, error)
        }
    }

    /// Compiles a schema on another thread: it may take a second, and must not delay other schemas.
    private func compile(_ text: RegisteredText, _ schema: SchemaReference) {
        let byteCount = text.byteCount
        let pending = pendingByteCount.add(byteCount, ordering: .relaxed).newValue
        guard pending <= Self.maxPendingByteCount else {
            pendingByteCount.subtract(byteCount, ordering: .relaxed)
            return ended(schema, nil)
        }
        compilers.add { [self] in
            let compiled = RegisteredSchema(text, compilation)
            pendingByteCount.subtract(byteCount, ordering: .relaxed)
            ended(schema, compiled)
        }
    }

    /// A fetch has ended, with any result.
    private func ended(_ schema: SchemaReference, _ result: RegisteredSchema?) {
        let now = SystemClock.now
        let (shards, count) = lookups.withLock { lookups in
            let shards = lookups.ended(schema, result, now: now)
            return (shards, lookups.usableCount)
        }
        metrics.registryFetches[result == nil ? .failed : .ok].add()
        metrics.registrySchemas.set(count)
        if let result {
            log.info(
                "schema fetched",
                [.schema: schema.description, .outcome: result.word]
            )
        }
        deliver(result, of: schema, to: shards)
    }

    /// The registry did not return a schema.
    ///
    /// Only errors that affect all schemas are reported in `/ready`, because a record can request
    /// any schema.
    private func failed(_ schema: SchemaReference, _ error: RegistryError) {
        let isNews = trouble.withLock { trouble in
            guard error.concernsAll else {
                trouble.text = nil
                return true
            }
            defer {
                trouble.text = error.description
                trouble.failedAt = SystemClock.now
            }
            return trouble.text != error.description
        }
        if isNews {
            log.warning(
                "schema could not be fetched",
                [.schema: schema.description, .error: error.description]
            )
        }
        guard error.concernsAll else { return ended(schema, nil) }
        metrics.registryFetches[.failed].add()
        for (schema, shards) in lookups.withLock({ $0.registryFailed(schema) }) {
            deliver(nil, of: schema, to: shards)
        }
    }

    private func deliver(
        _ result: RegisteredSchema?,
        of schema: SchemaReference,
        to shards: [ShardControl]
    ) {
        for shard in shards { shard.deliver(SchemaAnswer(schema: schema, result: result)) }
    }
}

extension RegisteredSchema {
    /// Compiles a schema of the registry.
    init(_ text: RegisteredText, _ compilation: SchemaCompilation) {
        do throws(SchemaError) {
            self = .usable(try compilation.compile(text))
        } catch {
            // The error may be as long as the schema itself; no more of it is ever shown.
            let cause = "\(error)".unicodeScalars.prefix(1000)
            self = .unusable("cannot be enforced: \(String(cause))")
        }
    }

    /// The text for the log.
    fileprivate var word: String {
        switch self {
        case .usable: "usable"
        case .unknown: "unknown"
        case .unusable(let cause): cause
        }
    }
}
