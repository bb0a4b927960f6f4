import EventSchema
import Foundation
import HTTP2IO
import Logging
import Synchronization
import Telemetry
import Vocabulary

/// Keeps the operator's schemas as `schemas.directory` has them, for all shards.
///
/// A thread of its own reads the directory every other second, whatever the file system: inotify
/// tells nothing of network mounts. A change is taken once two readings in a row agree, so that
/// neither a half-written file nor half of a ConfigMap's swap is. What does not compile is told,
/// and the old schemas stay.
final class SchemaDirectory: Sendable {
    private struct State {
        var schemas: PayloadSchemas
        var problem: String?
    }

    private let path: String
    private let bindings: SchemaBindings
    private let metrics: SchemaMetrics
    private let log: Logger
    private let state: Mutex<State>
    /// Grows with every set of schemas that is taken; the first is 1.
    private let version = Atomic(1)
    private let stopped = Atomic(false)

    /// Reads and compiles the schemas for the first time.
    init(
        path: String,
        bindings: SchemaBindings,
        metrics: SchemaMetrics,
        log: Logger
    ) throws(SchemaProblems) {
        self.path = path
        self.bindings = bindings
        self.metrics = metrics
        self.log = log
        let files = try SchemaFiles.read(path)
        state = Mutex(State(schemas: try bindings.compile(files, in: path)))
        metrics.loadedAt.set(Self.now)
        startWatching(files)
    }

    func stop() {
        stopped.store(true, ordering: .releasing)
    }

    // MARK: For the shards

    /// The schemas, unless the caller has them already: `seen` is the version that it has, and
    /// becomes the present one.
    func schemas(newerThan seen: inout Int) -> PayloadSchemas? {
        guard version.load(ordering: .acquiring) != seen else { return nil }
        return state.withLock { state in
            seen = version.load(ordering: .relaxed)
            return state.schemas
        }
    }

    /// Why the directory's present content is not in use; nil: it is.
    var problem: String? { state.withLock(\.problem) }

    // MARK: The thread

    private func startWatching(_ files: SchemaFiles) {
        let thread = Thread { [weak self] in
            var watch = DirectoryWatch(inUse: .success(files))
            while self?.look(&watch) == true { Thread.sleep(forTimeInterval: 1) }
        }
        thread.name = "schemas"
        thread.start()
    }

    /// - Returns: Whether to look again.
    private func look(_ watch: inout DirectoryWatch) -> Bool {
        guard !stopped.load(ordering: .acquiring) else { return false }
        let path = path
        let reading = Result { () throws(SchemaProblems) in try SchemaFiles.read(path) }
        if let changed = watch.read(reading) { take(changed) }
        return true
    }

    private func take(_ reading: DirectoryWatch.Reading) {
        do throws(SchemaProblems) {
            let schemas = try bindings.compile(try reading.get(), in: path)
            state.withLock { state in
                state = State(schemas: schemas)
                version.add(1, ordering: .releasing)
            }
            metrics.reloads[.ok].add()
            metrics.loadedAt.set(Self.now)
            log.notice("schemas.directory changed, its schemas are in use")
        } catch {
            state.withLock { $0.problem = error.text }
            metrics.reloads[.failed].add()
            log.error(
                "schemas.directory changed and cannot be used, the old schemas stay",
                [.problem: error.text]
            )
        }
    }

    /// Seconds since the epoch.
    private static var now: Int { Int(SystemClock.wallClock.seconds) }
}

/// Decides when a directory has changed.
package struct DirectoryWatch: Sendable {
    package typealias Reading = Result<SchemaFiles, SchemaProblems>

    /// What was last taken, or refused.
    private var settled: Reading
    /// The reading before, if it was another.
    private var candidate: Reading?

    package init(inUse: Reading) {
        settled = inUse
    }

    /// - Returns: The reading, when it is new and the same as the one before.
    package mutating func read(_ reading: Reading) -> Reading? {
        guard reading != settled else {
            candidate = nil
            return nil
        }
        guard reading == candidate else {
            candidate = reading
            return nil
        }
        settled = reading
        candidate = nil
        return reading
    }
}
