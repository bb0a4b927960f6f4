import Foundation
import KafkaIO
import Synchronization
import SystemIO

/// A thread for the transactional calls of a shard, which may block for seconds.
///
/// Runs one job at a time; its end signals the shard's loop. A failed job can be resumed: calls
/// that succeeded are not repeated.
final class TransactionWorker: Sendable {
    /// A sequence of calls.
    struct Job: Sendable {
        enum Call: Sendable {
            case open
            case send(TransactionOffsets)
            case commit
            case abort
        }

        var producer: TransactionCalls
        var calls: [Call]
    }

    private enum Task {
        case run(Job)
        case repeatLast
        case stop
    }

    private let wakeup: Wakeup
    private let condition = NSCondition()
    private let task = Mutex<Task?>(nil)
    private let answer = Mutex<Result<Void, WorkerFailure>?>(nil)

    /// `wakeup` is signalled when a job has ended.
    init(named name: String, wakeup: Wakeup) {
        self.wakeup = wakeup
        let thread = Thread { [self] in work() }
        thread.name = name
        thread.stackSize = 512 << 10
        thread.start()
    }

    func run(_ job: Job) { put(.run(job)) }

    /// Resumes the failed job at the call that failed.
    func repeatLast() { put(.repeatLast) }

    /// Ends the thread, after the call in progress.
    func stop() { put(.stop) }

    /// The job's result; nil while it is running.
    ///
    /// Success is withheld until the producer `isQuiet`: a later delivery report would be
    /// attributed to the next transaction.
    func takeAnswer(isQuiet: Bool) -> Result<Void, WorkerFailure>? {
        answer.withLock { answer in
            if case .success = answer, !isQuiet { return nil }
            defer { answer = nil }
            return answer
        }
    }

    private func put(_ new: Task) {
        condition.lock()
        task.withLock { $0 = new }
        condition.signal()
        condition.unlock()
    }

    private func nextTask() -> Task {
        condition.lock()
        defer { condition.unlock() }
        while true {
            let next = task.withLock { task in
                defer { task = nil }
                return task
            }
            if let next { return next }
            condition.wait()
        }
    }

    private func work() {
        var job: Job?
        while true {
            switch nextTask() {
            case .run(let new): job = new
            case .repeatLast: break
            case .stop: return
            }
            guard var current = job else { continue }
            let result = Result { () throws(WorkerFailure) in try Self.go(through: &current) }
            job = current
            answer.withLock { $0 = result }
            wakeup.signal()
        }
    }

    private static func go(through job: inout Job) throws(WorkerFailure) {
        while let call = job.calls.first {
            do throws(TransactionError) {
                switch call {
                case .open: try job.producer.open()
                case .send(let offsets): try job.producer.send(offsets)
                case .commit: try job.producer.commit()
                case .abort: try job.producer.abort()
                }
            } catch {
                var isInDoubt = false
                if case .commit = call { isInDoubt = true }
                throw WorkerFailure(error: error, isInDoubt: isInDoubt)
            }
            job.calls.removeFirst()
        }
    }
}

/// Why a job ended early.
struct WorkerFailure: Error, Sendable {
    var error: TransactionError
    /// Whether the transaction may be committed anyway.
    var isInDoubt: Bool
}
