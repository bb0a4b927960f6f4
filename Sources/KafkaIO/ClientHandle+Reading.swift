import CRdkafka
import Glibc
import Synchronization
import Vocabulary

/// The parts of a client that only `TopicReader` and `TopicScan` need.
extension ClientHandle {
    /// Makes a client that reads topics outside a group, and reports the ends of partitions.
    ///
    /// A transaction marker at a partition's end is not a record, but it does count as an end.
    static func reader(
        bootstrapServers: String,
        properties: [String: String],
        wakeup: Int32
    ) throws(KafkaError) -> ClientHandle {
        // librdkafka requires a group for `assign`; nothing is ever committed for it.
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: bootstrapServers,
            // Report brokers that close a connection at once.
            properties: ["log.connection.close": "true"].merging(properties) { $1 },
            group: "heliograph-reader",
            reportsPartitionEnds: true
        )
        configuration.enableEvents(
            RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG
        )
        return try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_CONSUMER,
            wakeup: wakeup
        )
    }

    /// Handles an event that reports an error.
    ///
    /// - Throws: errors that keep the client from reading on. Errors of the whole client, such as a
    ///   name that does not resolve or a broker that is down, are only recorded: librdkafka keeps
    ///   retrying.
    func note(
        _ event: borrowing LibraryEvent,
        in trouble: inout LastingTrouble
    ) throws(KafkaError) {
        guard event.type == RD_KAFKA_EVENT_ERROR, let error = error(of: event) else { return }
        guard error.isFatal || (event.place != nil && !error.isRetryable) else {
            trouble.failed(error, at: .now)
            return
        }
        throw error
    }

    /// A partition's start offset and the end of its readable records; asks the leader.
    ///
    /// `deadline` limits only the search for the leader: librdkafka before 2.12 waits for the
    /// answer as long as its request and its retries live, which is minutes if the leader is
    /// unreachable. The request is therefore abandoned once connections have failed for 15 s. While
    /// the leader changes, librdkafka learns who it is but does not ask it; this does, until the
    /// deadline.
    func watermarks(
        of partition: TopicPartition,
        deadline: Duration
    ) throws(KafkaError) -> Range<Int64> {
        let end = ContinuousClock.now + deadline
        while true {
            do throws(KafkaError) {
                return try askForWatermarks(of: partition, deadline: deadline)
            } catch  where error.isOfLeadership && ContinuousClock.now < end {
                usleep(100_000)
            }
        }
    }

    private func askForWatermarks(
        of partition: TopicPartition,
        deadline: Duration
    ) throws(KafkaError) -> Range<Int64> {
        let question = unsafe WatermarkQuestion(raw, partition, deadline)
        guard question.askAside() else { return try question.ask().get() }
        var trouble = LastingTrouble()
        while true {
            if let answer = question.answer(within: .milliseconds(20)) {
                // From 2.3 on, the library may give up first, and names no cause.
                if case .failure(let error) = answer, error.isOfConnection {
                    throw trouble.error(lasting: .zero, at: .now) ?? error
                }
                return try answer.get()
            }
            do throws(KafkaError) {
                while let event = nextEvent() { try note(event, in: &trouble) }
                if let error = trouble.error(lasting: LastingTrouble.toEnd, at: .now) {
                    throw error
                }
            } catch {
                leave()
                throw error
            }
        }
    }

    /// A partition's start and end offsets, as reported by its last fetch.
    ///
    /// - Returns: nil before the first fetch; never sends a request.
    func knownWatermarks(of partition: TopicPartition) -> Range<Int64>? {
        var (low, high): (Int64, Int64) = (-1, -1)
        let code = unsafe rd_kafka_get_watermark_offsets(
            raw,
            partition.topic.name,
            partition.partition,
            &low,
            &high
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0, low <= high else { return nil }
        return max(low, 0)..<high
    }
}

/// Calls `rd_kafka_query_watermark_offsets` on a thread that nothing waits for.
@safe private final class WatermarkQuestion: Sendable {
    // SAFETY: the library allows calls from any thread, and a client with an abandoned request is
    // never freed (`ClientHandle.leave`).
    private nonisolated(unsafe) let client: OpaquePointer
    private let partition: TopicPartition
    private let milliseconds: Int32
    private let latest = Mutex<Result<Range<Int64>, KafkaError>?>(nil)

    init(_ client: OpaquePointer, _ partition: TopicPartition, _ deadline: Duration) {
        unsafe self.client = client
        self.partition = partition
        milliseconds = Int32(clamping: deadline.milliseconds)
    }

    /// - Returns: false if no thread can be started.
    func askAside() -> Bool {
        DetachedThread.start { [self] in
            let answer = ask()
            latest.withLock { $0 = answer }
        }
    }

    func ask() -> Result<Range<Int64>, KafkaError> {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = unsafe rd_kafka_query_watermark_offsets(
            client,
            partition.topic.name,
            partition.partition,
            &low,
            &high,
            milliseconds
        )
        if let error = KafkaError(unlessSuccess: code) { return .failure(error) }
        // The library returns them in order.
        return .success(low..<high)
    }

    func answer(within duration: Duration) -> Result<Range<Int64>, KafkaError>? {
        let answer = latest.withLock { $0 }
        if answer == nil { usleep(UInt32(duration.milliseconds) * 1000) }
        return answer
    }
}
