import Foundation
import KafkaIO
import Synchronization
import SystemIO

/// A thread for the transactional calls of a shard, which may wait for seconds.
///
/// One job at a time; its end rings the shard's loop. A job that failed can be continued with: the
/// calls of it that succeeded are not made again.
final class TransactionWorker: Sendable {
    /// One call after the other.
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

    /// `wakeup` is rung when a job has ended.
    init(named name: String, wakeup: Wakeup) {
        self.wakeup = wakeup
        let thread = Thread { [self] in work() }
        thread.name = name
        thread.stackSize = 512 << 10
        thread.start()
    }

    func run(_ job: Job) { put(.run(job)) }

    /// Continues with the job that failed, from the call that did.
    func repeatLast() { put(.repeatLast) }

    /// Ends the thread, behind the call that it may be in.
    func stop() { put(.stop) }

    /// How the job ended; nil while it has not.
    ///
    /// Success waits until the producer `isQuiet`: a delivery report that is still to come would
    /// be taken for one of the next transaction.
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

/// Why a job of the worker ended early.
struct WorkerFailure: Error, Sendable {
    var error: TransactionError
    /// The transaction may be committed nevertheless.
    var isInDoubt: Bool
}
