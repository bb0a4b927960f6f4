import Foundation
import Synchronization

/// Threads that take what comes in turn, so that one long job does not delay the others.
package final class CompilerThreads: Sendable {
    package typealias Job = @Sendable () -> Void

    private struct State: Sendable {
        /// The last one is next.
        var waiting: [Job] = []
        var arriving: [Job] = []
        var isStopped = false

        mutating func next() -> Job? {
            if waiting.isEmpty {
                waiting = arriving.reversed()
                arriving = []
            }
            return waiting.popLast()
        }
    }

    private let state = Mutex(State())
    /// One signal for each job, and one for each thread at the end.
    private let signals = DispatchSemaphore(value: 0)
    private let count: Int

    /// Starts the threads, which live until `stop`.
    package init(count: Int, named name: String) {
        self.count = count
        for _ in 0..<count {
            let thread = Thread { [self] in
                while let job = next() { job() }
            }
            thread.name = name
            // A schema may be 200 levels deep.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    package func add(_ job: @escaping Job) {
        state.withLock { $0.arriving.append(job) }
        signals.signal()
    }

    /// What is begun is finished, and nobody waits for it; the rest is not done.
    package func stop() {
        state.withLock { $0.isStopped = true }
        for _ in 0..<count { signals.signal() }
    }

    private func next() -> Job? {
        while true {
            signals.wait()
            let (job, isStopped) = state.withLock { ($0.next(), $0.isStopped) }
            if isStopped { return nil }
            if let job { return job }
        }
    }
}
