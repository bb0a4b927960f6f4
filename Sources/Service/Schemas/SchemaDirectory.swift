import Configuration
import EventCodec
import Log
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Keeps the operator's schemas as `schemas.directory` has them, for all shards.
///
/// A thread of its own watches the directory; see `ContentWatch`. What does not compile is
/// reported, and the old schemas stay.
final class SchemaDirectory: Sendable {
    private struct State {
        var schemas: PayloadSchemas
        var problem: String?
    }

    private let path: String
    private let bindings: SchemaBindings
    private let metrics: SchemaMetrics
    private let log: Log
    private let state: Mutex<State>
    /// Grows with every set of schemas that is taken; the first is 1.
    private let version = Atomic(1)
    private let thread: WatchThread

    /// Reads and compiles the schemas for the first time.
    init(
        path: String,
        bindings: SchemaBindings,
        metrics: SchemaMetrics,
        log: Log
    ) throws(SchemaProblems) {
        self.path = path
        self.bindings = bindings
        self.metrics = metrics
        // What operators do with files, which is looked at once a second.
        self.log = log.everyLine
        let files = try SchemaFiles.read(path)
        state = Mutex(State(schemas: try bindings.compile(files, in: path)))
        do throws(SystemError) {
            thread = try WatchThread()
        } catch {
            throw SchemaProblems("cannot watch '\(path)': \(error)")
        }
        metrics.loadedAt.set(Self.now)
        startWatching(files)
    }

    /// Has the directory read without waiting for its time.
    func lookNow() {
        thread.lookNow()
    }

    func stop() {
        thread.stop()
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
        thread.start(named: "schemas", DirectoryWatch(inUse: .success(files))) {
            [weak self] watch, isAsked in self?.look(&watch, isAsked: isAsked)
        }
    }

    private func look(_ watch: inout DirectoryWatch, isAsked: Bool) {
        let path = path
        let reading = Result { () throws(SchemaProblems) in try SchemaFiles.read(path) }
        if let changed = watch.read(reading, isAsked: isAsked) { take(changed) }
    }

    private func take(_ reading: Result<SchemaFiles, SchemaProblems>) {
        do throws(SchemaProblems) {
            let schemas = try bindings.compile(try reading.get(), in: path)
            state.withLock { state in
                state = State(schemas: schemas)
                version.add(1, ordering: .releasing)
            }
            metrics.reloads[.ok].add()
            metrics.loadedAt.set(Self.now)
            log.notice("schemas reloaded")
        } catch {
            state.withLock { $0.problem = error.text }
            metrics.reloads[.failed].add()
            log.error(
                "schemas not reloaded; the old ones stay in use",
                [.problem: error.text]
            )
        }
    }

    /// Seconds since the epoch.
    private static var now: Int { Int(SystemClock.wallClock.seconds) }
}
