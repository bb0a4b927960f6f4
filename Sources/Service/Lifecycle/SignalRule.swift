import Glibc
package import Vocabulary

/// A signal that the process handles.
package enum ProcessSignal: String, Hashable, Sendable, CaseIterable {
    case terminate = "SIGTERM"
    case interrupt = "SIGINT"
    case hangUp = "SIGHUP"

    /// As signal(7) has it.
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
/// The first SIGTERM or SIGINT begins the drain, the next one ends the process at once. SIGHUP has
/// files read again, but not during the drain, which needs nothing new.
package struct SignalRule: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case ignore
        /// Take nothing new, finish what is in flight, end.
        case drain
        /// Read again what may change while the process runs.
        case reload
        /// End at once, with this exit code.
        case exit(Int32)
    }

    private enum Phase: Hashable, Sendable {
        /// Next: `draining`.
        case running
        /// The last phase.
        case draining(since: Instant)
    }

    /// How long after the first SIGTERM or SIGINT another one is taken for its echo.
    ///
    /// timeout(1) signals its child and then the child's group, which reaches the child twice within
    /// microseconds; so does a wrapper that passes on the Ctrl-C that the terminal sends to all. A
    /// person is slower.
    package static let echoWindow = Duration.milliseconds(200)
    /// What shells add to a signal's number for the exit code of a process that it ended.
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
