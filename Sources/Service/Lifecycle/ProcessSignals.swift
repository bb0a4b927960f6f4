import CLinux
import Foundation
import Glibc
import Synchronization
import SystemIO

/// The process's signals, caught in one place and turned into events.
///
/// A handler notes the signal, and a thread of its own applies `SignalRule`. So a second SIGTERM
/// ends the process even if every other thread is stuck: this one takes no lock that is held across
/// a call, writes no log line, and needs no cooperative pool.
///
/// Why handlers, and not sigwaitinfo(2) or signalfd(2) with the signals blocked: after an async
/// `main` the first thread rests in libdispatch's sigsuspend(2) with an empty mask, so a signal
/// that all other threads block takes its default action there.
package final class ProcessSignals: Sendable {
    package enum Event: Hashable, Sendable {
        /// Comes once, and nothing comes after it.
        case drain(ProcessSignal)
        case reload
    }

    private static let shared = ProcessSignals()
    /// Of events that wait for their reader.
    ///
    /// Reaching it drops the oldest, which asks for what the others ask for: a drain is the last.
    private static let eventLimit = 4

    /// For the one reader of the process: a reader that is cancelled ends the stream.
    ///
    /// What came before the reader is kept.
    package let events: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let rule = Mutex(SignalRule())

    /// Catches the signals from here on; the others keep their actions.
    ///
    /// - Returns: The same object every time: handlers belong to the process.
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
        // Made here: a signal handler must not be the first to touch it.
        SignalNotes.prepare()
        let thread = Thread { [self] in listen() }
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Whether a signal has begun the drain.
    package var isDraining: Bool { rule.withLock(\.isDraining) }

    /// Returns when a signal has begun the drain, or the task is cancelled.
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

    /// The launcher may have blocked them, and libdispatch blocks them in its threads and in all
    /// that these start.
    private static func unblock(_ signals: [ProcessSignal]) {
        var set = sigset_t()
        // SAFETY: sigemptyset and sigaddset write one set, pthread_sigmask reads it.
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal.number) }
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

/// What a signal handler leaves for the thread: which signals came.
///
/// Of one signal that comes often before the thread looks, one note is left, as the kernel does.
private enum SignalNotes {
    /// A bit for each signal, by its number.
    private static let pending = Atomic<UInt32>(0)
    /// As many posts as notes, or more.
    private static let semaphore = Semaphore()

    static func prepare() {
        _ = semaphore
        _ = pending.load(ordering: .relaxed)
    }

    /// For a handler: sem_post is async-signal-safe (signal-safety(7)), and so is an atomic.
    static func add(_ number: Int32) {
        let interrupted = errno
        pending.bitwiseOr(1 << UInt32(number), ordering: .releasing)
        semaphore.post()
        errno = interrupted
    }

    /// Waits for the next one.
    ///
    /// - Returns: The numbers of those that came since the last call; none if that one had them all.
    static func next() -> Set<Int32> {
        semaphore.wait()
        let bits = pending.exchange(0, ordering: .acquiring)
        return Set((0..<32).filter { bits & (1 << UInt32($0)) != 0 })
    }
}
