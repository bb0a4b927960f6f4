import CLinux
import CRdkafka
import Synchronization
import Vocabulary

/// Sends a consumer's requests to Kafka, each on a thread of its own.
///
/// `rd_kafka_committed` blocks, but it uses the consumer's own coordinator, and makes the library
/// find a new one if that rejects the request. The non-blocking `rd_kafka_ListConsumerGroupOffsets`
/// caches the coordinator by itself: 2.0.2 keeps asking a broker that is no longer the coordinator.
///
/// Safe to share: librdkafka allows calls from any thread, and the state is behind a lock.
@safe final class Questions: @unchecked Sendable {
    enum Question: Sendable {
        /// The group's committed offsets.
        case committed([TopicPartition])
        /// The start and end offsets of each log.
        case extents([TopicPartition])
        /// The end offset of each log.
        case ends([TopicPartition])
    }

    enum Answer: Sendable {
        case committed(Result<[PartitionAnswer], KafkaError>)
        case extents([(TopicPartition, Result<Range<Int64>, KafkaError>)])
        /// Without the partitions whose leaders did not answer.
        case ends([(TopicPartition, Int64)])
    }

    private struct State {
        var answers: [(number: UInt, answer: Answer)] = []
        /// Signalled for each answer; nil: the owner no longer listens.
        var wakeup: Int32?
    }

    private let client: OpaquePointer
    /// The calls in progress, which the instance must outlive.
    private let calls: CallsUnderWay
    private let state: Mutex<State>

    init(_ client: OpaquePointer, calls: CallsUnderWay, wakeup: Int32) {
        unsafe self.client = client
        self.calls = calls
        state = Mutex(State(wakeup: wakeup))
    }

    /// Sends a request; its answer carries `number`.
    func ask(_ question: Question, number: UInt, timeout: Duration = .seconds(10)) {
        calls.begin()
        let hasStarted = DetachedThread.start { [self] in
            ended(number, answer(to: question, timeout))
            calls.end()
        }
        guard !hasStarted else { return }
        calls.end()
        let error = KafkaError(RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE, text: "cannot start a thread")
        switch question {
        case .committed: ended(number, .committed(.failure(error)))
        case .extents(let partitions):
            ended(number, .extents(partitions.map { ($0, .failure(error)) }))
        case .ends: break
        }
    }

    func takeAnswers() -> [(number: UInt, answer: Answer)] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    /// Stops signalling: the descriptor's number may be reused.
    func unhook() {
        state.withLock { $0.wakeup = nil }
    }

    private func answer(to question: Question, _ timeout: Duration) -> Answer {
        switch question {
        case .committed(let partitions): .committed(committed(partitions, timeout))
        case .extents(let partitions): .extents(extents(of: partitions, timeout))
        case .ends(let partitions): .ends(ends(of: partitions, timeout))
        }
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

    /// Waits for both answers; all partitions of one leader share a request.
    private func extents(
        of partitions: [TopicPartition],
        _ timeout: Duration
    ) -> [(TopicPartition, Result<Range<Int64>, KafkaError>)] {
        let oldest = offsets(of: partitions, at: Int64(RD_KAFKA_OFFSET_BEGINNING), timeout)
        let next = offsets(of: partitions, at: Int64(RD_KAFKA_OFFSET_END), timeout)
        return partitions.map { partition in
            let extent = Result { () throws(KafkaError) in
                let low = try oldest.get()[partition, default: .failure(Self.unanswered)].get()
                let high = try next.get()[partition, default: .failure(Self.unanswered)].get()
                // Retention may move the start in between.
                return low..<max(low, high)
            }
            return (partition, extent)
        }
    }

    private func ends(
        of partitions: [TopicPartition],
        _ timeout: Duration
    ) -> [(TopicPartition, Int64)] {
        let found = try? offsets(of: partitions, at: Int64(RD_KAFKA_OFFSET_END), timeout).get()
        return partitions.compactMap { partition in
            (try? found?[partition]?.get()).map { (partition, $0) }
        }
    }

    /// Requests one offset per partition, and waits for the answer.
    ///
    /// `rd_kafka_query_watermark_offsets` uses the same request, but for one partition only, and
    /// blocks as long as its request lives (2.0.2).
    private func offsets(
        of partitions: [TopicPartition],
        at place: Int64,
        _ timeout: Duration
    ) -> Result<[TopicPartition: Result<Int64, KafkaError>], KafkaError> {
        let list = PartitionList(capacity: partitions.count)
        for partition in partitions { list.append(partition, offset: place) }
        let code = unsafe rd_kafka_offsets_for_times(
            client,
            list.raw,
            Int32(clamping: timeout.milliseconds)
        )
        if let error = KafkaError(unlessSuccess: code) { return .failure(error) }
        var offsets: [TopicPartition: Result<Int64, KafkaError>] = [:]
        for answer in unsafe PartitionList.elements(of: list.raw) {
            let error = answer.error ?? (answer.offset < 0 ? Self.unanswered : nil)
            offsets[answer.partition] = error.map { .failure($0) } ?? .success(answer.offset)
        }
        return .success(offsets)
    }

    private static let unanswered = KafkaError(
        RD_KAFKA_RESP_ERR__NO_OFFSET,
        text: "the leader did not report its log's offsets"
    )

    private func ended(_ number: UInt, _ answer: Answer) {
        state.withLock { state in
            guard let wakeup = state.wakeup else { return }
            state.answers.append((number, answer))
            _ = eventfd_write(wakeup, 1)
        }
    }
}
