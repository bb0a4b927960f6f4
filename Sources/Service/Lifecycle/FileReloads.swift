import Synchronization
import Telemetry

/// What came of the changes of some watched files, for the metrics and the warnings.
final class FileReloads: Sendable {
    /// Written by the thread that watches the files.
    let counts = CounterTable<CallResult>()
    private let problems = Mutex<[String: String]>([:])

    /// What is wrong with the files whose last change could not be used.
    var troubles: [String] { problems.withLock { $0.values.sorted() } }

    /// - Parameter name: Of the files that are read together.
    func taken(_ name: String) {
        counts[.ok].add()
        problems.withLock { $0[name] = nil }
    }

    func refused(_ name: String, because problem: String) {
        counts[.failed].add()
        problems.withLock { $0[name] = problem }
    }
}
