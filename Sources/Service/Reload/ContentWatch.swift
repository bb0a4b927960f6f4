import Foundation
import Synchronization

/// Decides when what is read again and again has changed.
///
/// A change is taken once two readings in a row agree, so that neither a half-written file nor half
/// of a Kubernetes volume's swap is.
package struct ContentWatch<Reading: Equatable & Sendable>: Sendable {
    /// What was last taken, or refused.
    package private(set) var settled: Reading
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

/// A thread that looks at files every second, whatever the file system: inotify tells nothing of
/// network mounts.
final class WatchThread: Sendable {
    private let stopped = Atomic(false)

    /// `look` is called with what it left in `state`, until `stop`.
    ///
    /// It must not keep its owner alive.
    func start<State: Sendable>(
        named name: String,
        _ state: State,
        look: @escaping @Sendable (inout State) -> Void
    ) {
        let thread = Thread { [weak self] in
            var state = state
            while self?.stopped.load(ordering: .acquiring) == false {
                look(&state)
                Thread.sleep(forTimeInterval: 1)
            }
        }
        thread.name = name
        thread.start()
    }

    func stop() {
        stopped.store(true, ordering: .releasing)
    }
}
