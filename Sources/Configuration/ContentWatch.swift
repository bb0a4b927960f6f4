import Foundation
import Synchronization
package import SystemIO

/// Decides when repeatedly read content has changed.
///
/// A change is taken once two readings in a row agree, so that neither a half-written file nor half
/// of a Kubernetes volume's swap is. When an operator asks for the reading, one is enough: the files
/// are complete then.
package struct ContentWatch<Reading: Equatable & Sendable>: Sendable {
    /// What was last taken, or refused.
    package private(set) var settled: Reading
    /// The reading before, if it was another.
    private var candidate: Reading?

    package init(inUse: Reading) {
        settled = inUse
    }

    /// - Parameters:
    ///   - reading: What is there now.
    ///   - isAsked: Whether an operator asked for it to be read.
    /// - Returns: The reading, when it is new, and asked for or the same as the one before.
    package mutating func read(_ reading: Reading, isAsked: Bool = false) -> Reading? {
        guard reading != settled else {
            candidate = nil
            return nil
        }
        guard isAsked || reading == candidate else {
            candidate = reading
            return nil
        }
        settled = reading
        candidate = nil
        return reading
    }
}

/// A thread that looks at files every second, and when it is asked to, whatever the file system:
/// inotify reveals nothing of network mounts.
package final class WatchThread: Sendable {
    private enum Wish: Hashable, Sendable {
        case nothing
        case look
        /// Stays.
        case end
    }

    private static let intervalMilliseconds: Int32 = 1000

    private let wish = Mutex(Wish.nothing)
    private let wakeup: Wakeup

    package init() throws(SystemError) {
        wakeup = try Wakeup()
    }

    /// Calls `look` with what it left in `state`, and whether `lookNow` asked for it, until `stop`.
    ///
    /// It must not keep its owner alive.
    package func start<State: Sendable>(
        named name: String,
        _ state: State,
        look: @escaping @Sendable (inout State, _ isAsked: Bool) -> Void
    ) {
        let thread = Thread { [weak self, wakeup] in
            var state = state
            look(&state, false)
            while true {
                let isDue = Self.waitIsOver(wakeup)
                switch self?.takeWish() {
                case .end, nil: return
                case .look: look(&state, true)
                case .nothing where isDue: look(&state, false)
                case .nothing: break
                }
            }
        }
        thread.name = name
        thread.start()
    }

    /// Has the thread look without waiting for its time; several calls before it does so are one.
    package func lookNow() {
        wish.withLock { if $0 == .nothing { $0 = .look } }
        wakeup.signal()
    }

    package func stop() {
        wish.withLock { $0 = .end }
        wakeup.signal()
    }

    /// Waits for the next look's time, or for a wish.
    ///
    /// - Returns: Whether it is time.
    private static func waitIsOver(_ wakeup: Wakeup) -> Bool {
        var interest = pollfd(fd: wakeup.fileDescriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: poll writes one pollfd; the descriptor is open for as long as `wakeup` is there.
        let count = unsafe poll(&interest, 1, intervalMilliseconds)
        wakeup.drain()
        return count == 0
    }

    private func takeWish() -> Wish {
        wish.withLock { wish in
            defer { if wish == .look { wish = .nothing } }
            return wish
        }
    }
}
