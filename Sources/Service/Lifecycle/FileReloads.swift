import Synchronization
import Telemetry

/// The results of changes of watched files, for metrics and warnings.
final class FileReloads: Sendable {
    /// Updated by the thread that watches the files.
    let counts = CounterTable<CallResult>()
    private let problems = Mutex<[String: String]>([:])

    /// The problems of files whose last change could not be adopted.
    var troubles: [String] { problems.withLock { $0.values.sorted() } }

    /// - Parameter name: The name of the files that are read together.
    func taken(_ name: String) {
        counts[.ok].add()
        problems.withLock { $0[name] = nil }
    }

    func refused(_ name: String, because problem: String) {
        counts[.failed].add()
        problems.withLock { $0[name] = problem }
    }
}
