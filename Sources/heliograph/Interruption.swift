import Glibc
import Synchronization

/// SIGINT and SIGTERM as a request that a loop looks at between two lines.
///
/// What waits in epoll_wait is woken by a signal, also by one that restarts other calls
/// (signal(7)).
enum Interruption {
    private static let flag = Atomic(false)

    static var hasHappened: Bool { flag.load(ordering: .relaxed) }

    /// From here on the two signals end nothing.
    static func watch() {
        // Made here: a signal handler must not be the first to touch it.
        flag.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM] {
            _ = signal(number) { _ in Interruption.note() }
        }
    }

    private static func note() {
        flag.store(true, ordering: .relaxed)
    }
}
