import Foundation
import Synchronization

/// Threads that share a queue of jobs, so that one long job does not delay the others.
package final class CompilerThreads: Sendable {
    package typealias Job = @Sendable () -> Void

    private struct State: Sendable {
        /// In reverse order: the last one is next.
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
    /// Signalled once for each job, and once for each thread at the end.
    private let signals = DispatchSemaphore(value: 0)
    private let count: Int

    /// Starts the threads, which run until `stop`.
    package init(count: Int, named name: String) {
        self.count = count
        for _ in 0..<count {
            let thread = Thread { [self] in
                while let job = next() { job() }
            }
            thread.name = name
            // A schema may be nested 200 levels deep.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    package func add(_ job: @escaping Job) {
        state.withLock { $0.arriving.append(job) }
        signals.signal()
    }

    /// Stops the threads after their current jobs, without waiting; waiting jobs are dropped.
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
