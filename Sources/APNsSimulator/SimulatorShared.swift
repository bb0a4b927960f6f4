import Glibc
import Synchronization
import SystemIO

/// The state shared by the simulator's thread and its owner.
final class SimulatorShared: Sendable {
    let wakeup: Wakeup
    let isStopping = Atomic<Bool>(false)
    private let published = Mutex(SimulatorStatistics())
    private let thread = Mutex<pthread_t?>(nil)
    private let mailbox = Mutex(Mailbox())

    /// A command, and the callback for its result.
    struct WaitingCommand: Sendable {
        var command: SimulatorCommand
        var reply: @Sendable (SimulatorReply) -> Void
    }

    private struct Mailbox {
        var waiting: [WaitingCommand] = []
        var isClosed = false
    }

    init(wakeup: Wakeup) {
        self.wakeup = wakeup
    }

    var statistics: SimulatorStatistics { published.withLock { $0 } }

    func publish(_ statistics: SimulatorStatistics) {
        published.withLock { $0 = statistics }
    }

    /// Queues a command for the loop's thread.
    func post(_ command: WaitingCommand) {
        let isPosted = mailbox.withLock { mailbox in
            if !mailbox.isClosed { mailbox.waiting.append(command) }
            return !mailbox.isClosed
        }
        if isPosted { wakeup.signal() } else { command.reply(.stopped) }
    }

    func takeCommands() -> [WaitingCommand] {
        mailbox.withLock { mailbox in
            defer { mailbox.waiting.removeAll() }
            return mailbox.waiting
        }
    }

    /// Answers all commands with `stopped`, because the loop has ended.
    func refuseCommands() {
        mailbox.withLock { $0.isClosed = true }
        for command in takeCommands() { command.reply(.stopped) }
    }

    /// Passes the loop to a new thread.
    func startThread(_ loop: consuming sending SimulatorLoop) throws(SystemError) {
        var thread = pthread_t()
        let box = unsafe Unmanaged.passRetained(loop)
        // SAFETY: the new thread takes the reference, and only it uses the loop.
        let status = unsafe pthread_create(
            &thread,
            nil,
            { context in
                guard let context = unsafe context else { return nil }
                unsafe Unmanaged<SimulatorLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        guard status == 0 else {
            unsafe box.release()
            throw SystemError(call: "pthread_create", code: status)
        }
        self.thread.withLock { $0 = thread }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wakeup.signal()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        if let thread { pthread_join(thread, nil) }
    }
}
