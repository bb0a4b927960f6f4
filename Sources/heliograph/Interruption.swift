import Glibc
import Synchronization

/// Turns SIGINT and SIGTERM into a flag that a loop checks between two lines.
///
/// A signal wakes epoll_wait, even one that restarts other system calls (signal(7)).
enum Interruption {
    private static let flag = Atomic(false)

    static var hasHappened: Bool { flag.load(ordering: .relaxed) }

    /// From here on, the two signals only set the flag.
    static func watch() {
        // Initialized here: a signal handler must not be the first to access it.
        flag.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            _ = signal(number) { _ in Interruption.note() }
        }
    }

    private static func note() {
        flag.store(true, ordering: .relaxed)
    }
}
