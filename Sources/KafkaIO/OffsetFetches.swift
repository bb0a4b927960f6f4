import CLinux
import CRdkafka
import Synchronization
import Vocabulary

/// Asks the coordinator for a group's stored offsets, each time on a thread of its own.
///
/// `rd_kafka_committed` waits, but it asks the coordinator that the consumer itself talks to, and has
/// the library look for another one when that refuses. The call that does not wait,
/// `rd_kafka_ListConsumerGroupOffsets`, has a memory of its own: 2.0.2 asks a broker that is no
/// longer the coordinator again and again, for as long as it is asked.
///
/// Safe to share: the instance may be called from any thread, and the state is locked.
@safe final class OffsetFetches: @unchecked Sendable {
    struct Answer: Sendable {
        /// As it was given to `start`.
        let number: UInt
        let result: Result<[PartitionAnswer], KafkaError>
    }

    private struct State {
        var answers: [Answer] = []
        /// Rung for each answer; nil: its owner does not listen any more.
        var wakeup: Int32?
    }

    private let client: OpaquePointer
    /// The calls that the instance must outlive.
    private let calls: CallsUnderWay
    private let state: Mutex<State>

    init(_ client: OpaquePointer, calls: CallsUnderWay, wakeup: Int32) {
        unsafe self.client = client
        self.calls = calls
        state = Mutex(State(wakeup: wakeup))
    }

    func start(_ number: UInt, of partitions: [TopicPartition], timeout: Duration) {
        calls.begin()
        let hasStarted = DetachedThread.start { [self] in
            ended(Answer(number: number, result: committed(partitions, timeout)))
            calls.end()
        }
        guard !hasStarted else { return }
        calls.end()
        let error = KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, text: "no thread to be had")
        ended(Answer(number: number, result: .failure(error)))
    }

    func takeAnswers() -> [Answer] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    /// Stops ringing: the descriptor's number may be reused.
    func unhook() {
        state.withLock { $0.wakeup = nil }
    }

    /// Waits for the answer.
    private func committed(
        _ partitions: [TopicPartition],
        _ timeout: Duration
    ) -> Result<[PartitionAnswer], KafkaError> {
        let list = PartitionList(partitions)
        let code = unsafe rd_kafka_committed(
            client,
            list.raw,
            Int32(clamping: timeout.milliseconds)
        )
        if let error = KafkaError(unlessSuccess: code) { return .failure(error) }
        return .success(unsafe PartitionList.elements(of: list.raw))
    }

    private func ended(_ answer: Answer) {
        state.withLock { state in
            guard let wakeup = state.wakeup else { return }
            state.answers.append(answer)
            _ = eventfd_write(wakeup, 1)
        }
    }
}
