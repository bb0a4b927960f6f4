import Glibc
import HTTP2IO
import Synchronization

/// What the simulator's thread and its owner share.
final class SimulatorShared: Sendable {
    let wakeup: Wakeup
    let isStopping = Atomic<Bool>(false)
    private let published = Mutex(SimulatorStatistics())
    private let thread = Mutex<pthread_t?>(nil)

    init(wakeup: Wakeup) {
        self.wakeup = wakeup
    }

    var statistics: SimulatorStatistics { published.withLock { $0 } }

    func publish(_ statistics: SimulatorStatistics) {
        published.withLock { $0 = statistics }
    }

    /// Hands the loop over to a new thread.
    func startThread(_ loop: consuming sending SimulatorLoop) throws(SystemError) {
        var thread = pthread_t()
        let box = unsafe Unmanaged.passRetained(loop)
        // SAFETY: the new thread takes the reference over, and is the only one to use the loop.
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
