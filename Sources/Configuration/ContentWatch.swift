import Foundation
import Synchronization
package import SystemIO

/// Detects changes of content that is read repeatedly.
///
/// A change counts once two consecutive readings agree, so that neither a half-written file nor
/// half of a Kubernetes volume's swap is used. If an operator requests the reading, one is enough,
/// because the files are complete then.
package struct ContentWatch<Reading: Equatable & Sendable>: Sendable {
    /// The content that was last adopted or rejected.
    package private(set) var settled: Reading
    /// The previous reading, if it differed.
    private var candidate: Reading?

    package init(inUse: Reading) {
        settled = inUse
    }

    /// - Parameters:
    ///   - reading: The current content.
    ///   - isAsked: Whether an operator requested the reading.
    /// - Returns: The reading, if it is new, and either requested or equal to the previous one.
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

/// A thread that checks files every second, and on request.
///
/// It does not use inotify, which reports no changes on network mounts.
package final class WatchThread: Sendable {
    private enum Wish: Hashable, Sendable {
        case nothing
        case look
        /// Terminal.
        case end
    }

    private static let intervalMilliseconds: Int32 = 1000

    private let wish = Mutex(Wish.nothing)
    private let wakeup: Wakeup

    package init() throws(SystemError) {
        wakeup = try Wakeup()
    }

    /// Calls `look` with its state, and whether `lookNow` requested it, until `stop`.
    ///
    /// `look` must not retain the owner of this object.
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

    /// Lets the thread check now; several calls before it does so count once.
    package func lookNow() {
        wish.withLock { if $0 == .nothing { $0 = .look } }
        wakeup.signal()
    }

    package func stop() {
        wish.withLock { $0 = .end }
        wakeup.signal()
    }

    /// Waits for the time of the next check, or for a request.
    ///
    /// - Returns: Whether the time has come.
    private static func waitIsOver(_ wakeup: Wakeup) -> Bool {
        var interest = pollfd(fd: wakeup.fileDescriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: poll writes one pollfd; the descriptor stays open as long as `wakeup` lives.
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
