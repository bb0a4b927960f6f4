import CLinux
import Foundation

/// A thread of its own for a shard: nothing of it may run on the cooperative pool.
enum ShardThread {
    /// Runs `body` to its end on a new thread.
    static func run<Answer: Sendable>(
        named name: String,
        _ body: @escaping @Sendable () -> Answer
    ) async -> Answer {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                unsafe heliograph_name_thread(name)
                continuation.resume(returning: body())
            }
            thread.stackSize = 4 << 20
            thread.start()
        }
    }
}
