import Glibc
package import Vocabulary

/// A signal that the process handles.
package enum ProcessSignal: String, Hashable, Sendable, CaseIterable {
    case terminate = "SIGTERM"
    case interrupt = "SIGINT"
    case hangUp = "SIGHUP"

    /// The number as in signal(7).
    package var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        }
    }
}

/// Decides what a signal does.
///
/// The first SIGTERM or SIGINT starts the drain, and the next one ends the process at once. SIGHUP
/// reloads files, except during the drain, which does not need them.
package struct SignalRule: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case ignore
        /// Stop taking records, finish what is in flight, end.
        case drain
        /// Reload the files that may change while the process runs.
        case reload
        /// End at once with this exit code.
        case exit(Int32)
    }

    private enum Phase: Hashable, Sendable {
        /// Next: `draining`.
        case running
        /// Terminal.
        case draining(since: Instant)
    }

    /// How long after the first SIGTERM or SIGINT a further one counts as a duplicate of it.
    ///
    /// timeout(1) signals its child and then the child's group, so the child gets two signals
    /// within microseconds. A wrapper that forwards the terminal's Ctrl-C has the same effect. A
    /// person is slower.
    package static let echoWindow = Duration.milliseconds(200)
    /// Shells add this to a signal's number for the exit code of a process that it ended.
    private static let exitCodeBase: Int32 = 128

    private var phase = Phase.running

    package init() {}

    package var isDraining: Bool { phase != .running }

    package mutating func arrived(_ signal: ProcessSignal, now: Instant) -> Action {
        switch (signal, phase) {
        case (.hangUp, .running):
            return .reload
        case (.hangUp, .draining):
            return .ignore
        case (.terminate, .running), (.interrupt, .running):
            phase = .draining(since: now)
            return .drain
        case (.terminate, .draining(let since)), (.interrupt, .draining(let since)):
            guard now - since >= Self.echoWindow else { return .ignore }
            return .exit(Self.exitCodeBase + signal.number)
        }
    }
}
