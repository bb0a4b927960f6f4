import Configuration
import EventCodec
import Log
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Provides the operator's schemas from `schemas.directory` to all shards.
///
/// A thread of its own watches the directory; see `ContentWatch`. If the schemas do not compile,
/// this is reported, and the old ones stay in use.
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
    /// Incremented with every adopted set of schemas, starting at 1.
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
        // Every line, because operators cause them, and files are checked only once a second.
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

    /// Checks the directory now.
    func lookNow() {
        thread.lookNow()
    }

    func stop() {
        thread.stop()
    }

    // MARK: For the shards

    /// The schemas, unless the caller already has them.
    ///
    /// `seen` is the caller's version, and becomes the current one.
    func schemas(newerThan seen: inout Int) -> PayloadSchemas? {
        guard version.load(ordering: .acquiring) != seen else { return nil }
        return state.withLock { state in
            seen = version.load(ordering: .relaxed)
            return state.schemas
        }
    }

    /// Why the directory's current contents are not in use; nil: they are.
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
