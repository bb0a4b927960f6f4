import Foundation
package import Testing

/// Runs each test of a suite, and each of its cases, on its own thread.
///
/// For tests that block: on Swift's few threads they would delay each other and all other tests.
package struct OwnThread: TestTrait, SuiteTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadStarter.shared) { try await body() }
    }
}

extension Trait where Self == OwnThread {
    package static var ownThread: Self { Self() }
}

/// Starts a thread for each part of a task up to its next `await`.
private final class ThreadStarter: TaskExecutor {
    static let shared = ThreadStarter()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }.start()
    }
}
