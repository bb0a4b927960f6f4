import CLinux
import Foundation

/// A thread of its own for blocking work, which must not run on the cooperative pool.
enum ShardThread {
    /// Runs `body` to completion on a new thread.
    static func run<Answer: Sendable>(
        named name: String,
        _ body: @escaping @Sendable () -> Answer
    ) async -> Answer {
        await withCheckedContinuation { continuation in
            start(named: name) { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on a new thread; nothing waits for its end.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread {
            unsafe heliograph_name_thread(name)
            body()
        }
        thread.stackSize = 4 << 20
        thread.start()
    }
}
