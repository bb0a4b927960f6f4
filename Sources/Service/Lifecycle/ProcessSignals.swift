import CLinux
import Foundation
import Glibc
import Synchronization
import SystemIO

/// Catches the process's signals in one place, and turns them into events.
///
/// A handler records the signal, and a thread of its own applies `SignalRule`. A second SIGTERM
/// therefore ends the process even if every other thread is stuck: this thread takes no lock that
/// is held across a call, writes no log line, and does not use the cooperative pool.
///
/// It uses handlers instead of blocked signals with sigwaitinfo(2) or signalfd(2): after an async
/// `main`, the first thread waits in libdispatch's sigsuspend(2) with an empty mask, so a signal
/// that all other threads block takes its default action there.
package final class ProcessSignals: Sendable {
    package enum Event: Hashable, Sendable {
        /// Reported once, as the last event.
        case drain(ProcessSignal)
        case reload
    }

    private static let shared = ProcessSignals()
    /// The most events that may wait for their reader.
    ///
    /// At the limit, the oldest event is dropped; nothing is lost, because reloads are equal and a
    /// drain is the last event.
    private static let eventLimit = 4

    /// For the process's only reader: cancelling a reader ends the stream.
    ///
    /// Events from before the reader started are kept.
    package let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let rule = Mutex(SignalRule())

    /// Catches these signals from now on; others keep their actions.
    ///
    /// - Returns: Always the same object, because handlers belong to the process.
    package static func catching(_ signals: [ProcessSignal]) -> ProcessSignals {
        let shared = shared
        for each in signals {
            _ = signal(each.number) { SignalNotes.add($0) }
        }
        return shared
    }

    private init() {
        (events, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(Self.eventLimit)
        )
        // Initialise it here, because a signal handler must not be the first to access it.
        SignalNotes.prepare()
        let thread = Thread { [self] in listen() }
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Whether a signal has requested the drain.
    package var isDraining: Bool { rule.withLock(\.isDraining) }

    /// Returns when a signal has requested the drain, or the task is cancelled.
    package func untilDrain() async {
        for await event in events {
            if case .drain = event { return }
        }
    }

    // MARK: The thread

    private func listen() -> Never {
        unsafe heliograph_name_thread("signals")
        Self.unblock(ProcessSignal.allCases)
        while true {
            let numbers = SignalNotes.next()
            for signal in ProcessSignal.allCases where numbers.contains(signal.number) {
                arrived(signal)
            }
        }
    }

    private func arrived(_ signal: ProcessSignal) {
        switch rule.withLock({ $0.arrived(signal, now: SystemClock.now) }) {
        case .ignore: break
        case .drain: continuation.yield(.drain(signal))
        case .reload: continuation.yield(.reload)
        case .exit(let code): _exit(code)
        }
    }

    /// Unblocks signals in this thread.
    ///
    /// The process's parent may have blocked them, and libdispatch blocks them in its threads and
    /// in all threads that these start.
    private static func unblock(_ signals: [ProcessSignal]) {
        var set = sigset_t()
        // SAFETY: sigemptyset and sigaddset write one set, which pthread_sigmask reads.
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal.number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

/// The signals that handlers have recorded for the thread.
///
/// A signal that arrives several times before the thread checks counts once, as in the kernel.
private enum SignalNotes {
    /// A bit for each signal number.
    private static let pending = Atomic<UInt32>(0)
    /// Posted at least once for each recorded signal.
    private static let semaphore = Semaphore()

    static func prepare() {
        _ = semaphore
        _ = pending.load(ordering: .relaxed)
    }

    /// Called by a handler: sem_post is async-signal-safe (signal-safety(7)), and so is an atomic.
    static func add(_ number: Int32) {
        let interrupted = errno
        pending.bitwiseOr(1 << UInt32(number), ordering: .releasing)
        semaphore.post()
        errno = interrupted
    }

    /// Waits for the next signal.
    ///
    /// - Returns: The signals since the last call; none if that call already returned them.
    static func next() -> Set<Int32> {
        semaphore.wait()
        let bits = pending.exchange(0, ordering: .acquiring)
        return Set((0..<32).filter { bits & (1 << UInt32($0)) != 0 })
    }
}
