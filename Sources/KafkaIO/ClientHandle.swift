import CLinux
import CRdkafka

/// A librdkafka client instance, its event queue, and the eventfd that the queue signals.
///
/// Belongs to one thread. Dropping the handle leaves the instance running without its event queue,
/// so that a process can exit; only `destroy` and `destroyAside` free it. No `deinit` calls
/// `rd_kafka_destroy`, because for a consumer it can hang forever.
@safe final class ClientHandle {
    let raw: OpaquePointer
    let queue: OpaquePointer
    /// Cached `rd_kafka_topic_t` handles; they must be freed before the instance.
    private var topics: [String: OpaquePointer] = unsafe [:]
    /// The topic used last: nearly all records of a producer go to the same topic.
    private var latestTopic: (name: String, handle: OpaquePointer)?
    private let wakeup: Int32
    private let security: ConnectionTrouble.Security
    private let tokenFile: TokenFile?
    /// OpenSSL's error number for the last certificate that it rejected.
    private var certificateError: Int?
    private var isAlive = true
    /// Calls from other threads, which the instance must outlive.
    let calls = CallsUnderWay()

    /// Starts the client's own threads.
    ///
    /// `wakeup` is an eventfd in non-blocking mode, signalled when the queue becomes non-empty;
    /// several clients may share it, and the caller closes it. Throws if the properties contradict
    /// each other.
    init(
        configuration: consuming KafkaConfiguration,
        type: rd_kafka_type_t,
        wakeup: Int32?
    ) throws(KafkaError) {
        security = configuration.security
        tokenFile = configuration.tokenFile
        // A client without a wakeup only checks something, often properties that are wrong, which
        // can then be freed (`makeClient`).
        if wakeup != nil { configuration.noteWorkingAddresses() }
        let raw = unsafe try configuration.makeClient(type)
        unsafe self.raw = raw
        self.wakeup = wakeup ?? -1
        if type == RD_KAFKA_CONSUMER {
            // One queue for everything: records, rebalances, commits, errors and logs.
            unsafe rd_kafka_poll_set_consumer(raw)
        }
        let queue = unsafe rd_kafka_queue_get_consumer(raw) ?? rd_kafka_queue_get_main(raw)
        guard let queue = unsafe queue else {
            preconditionFailure("librdkafka always has a main queue")
        }
        unsafe self.queue = queue
        unsafe rd_kafka_set_log_queue(raw, nil)
        // Do not wait for a request: some callers poll only after the first connection is needed.
        unsafe tokenFile?.give(to: raw)
        var one: UInt64 = 1
        if self.wakeup >= 0 {
            unsafe rd_kafka_queue_io_event_enable(queue, self.wakeup, &one, 8)
            // Earlier events, such as log lines, did not signal the eventfd.
            ring()
        }
    }

    deinit { if isAlive { unhook() } }

    /// The next event, or nil when the queue is empty.
    ///
    /// Waits only if `waitMilliseconds` is positive.
    func nextEvent(waitMilliseconds: Int32 = 0) -> LibraryEvent? {
        guard let raw = unsafe rd_kafka_queue_poll(queue, waitMilliseconds) else { return nil }
        let event = unsafe LibraryEvent(owning: raw)
        // A login may fail with a token that has been replaced in the file since.
        if let tokenFile,
            event.type == RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH
                || event.type == RD_KAFKA_EVENT_ERROR
                    && event.errorCode == RD_KAFKA_RESP_ERR__AUTHENTICATION
        {
            unsafe tokenFile.give(to: self.raw)
        }
        if event.type == RD_KAFKA_EVENT_LOG, let number = event.logLine?.certificateError {
            certificateError = number
        }
        return event
    }

    /// Signals the eventfd, as the queue does.
    ///
    /// The queue signals only when it changes from empty to non-empty; a caller that leaves events
    /// in it must signal instead.
    func ring() {
        guard wakeup >= 0 else { return }
        _ = eventfd_write(wakeup, 1)
    }

    /// The first fatal error of this instance.
    var fatalError: KafkaError? { unsafe Self.fatalError(of: raw) }

    static func fatalError(of raw: OpaquePointer) -> KafkaError? {
        let (code, text) = unsafe withErrorText { buffer, byteCount in
            unsafe rd_kafka_fatal_error(raw, buffer, byteCount)
        }
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return KafkaError(code: KafkaError.Code(code), text: text, isFatal: true)
    }

    /// The error of an `ERROR` event.
    ///
    /// A generic "fatal" is replaced by its cause, and a connection error is described in our own
    /// words.
    func error(of event: borrowing LibraryEvent) -> KafkaError? {
        guard let error = event.error else { return nil }
        if error.isFatal || error.code == .fatal { return fatalError ?? error }
        guard error.isOfConnection, let trouble = ConnectionTrouble(error.text) else {
            return error
        }
        let line = trouble.line(
            security,
            certificateError: certificateError,
            hasWorked: WorkingAddresses.contains(trouble.address)
        )
        return KafkaError(code: error.code, text: line)
    }

    /// The last connection error in the queue, if any; empties the queue.
    func takeConnectionError() -> KafkaError? {
        var last: KafkaError?
        while let event = nextEvent() {
            guard event.type == RD_KAFKA_EVENT_ERROR, let error = error(of: event),
                error.code != .allBrokersDown
            else { continue }
            last = error
        }
        return last
    }

    /// librdkafka's handle for a topic, created on first use.
    func topic(_ name: String) -> OpaquePointer? {
        if let latest = unsafe latestTopic, unsafe latest.name == name {
            return unsafe latest.handle
        }
        guard let handle = unsafe topics[name] ?? rd_kafka_topic_new(raw, name, nil)
        else { return nil }
        unsafe topics[name] = handle
        unsafe latestTopic = (name, handle)
        return unsafe handle
    }

    /// Frees the instance on this thread, which may take as long as its brokers need to answer.
    func destroy() {
        guard isAlive else { return }
        let remains = letGo()
        calls.whenOver { remains.destroy() }
    }

    /// Frees the instance on a thread of its own.
    ///
    /// Returns at once. If that thread never ends, only the instance's memory is lost.
    func destroyAside() {
        guard isAlive else { return }
        let (remains, calls) = (letGo(), calls)
        // If no thread can be started, the instance stays allocated.
        _ = DetachedThread.start { calls.whenOver { remains.destroy() } }
    }

    /// Leaves the instance allocated, because a thread is still in one of its calls.
    func leave() {
        guard isAlive else { return }
        unhook()
        isAlive = false
    }

    /// Detaches the eventfd: its descriptor number may be reused after the caller closes it.
    private func unhook() {
        unsafe rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    }

    private func letGo() -> Remains {
        unhook()
        isAlive = false
        defer {
            unsafe topics.removeAll()
            unsafe latestTopic = nil
        }
        return unsafe Remains(raw: raw, queue: queue, topics: Array(topics.values))
    }

    /// The resources that remain to be freed.
    ///
    /// Safe to share: only one thread has it at a time.
    @safe private final class Remains: @unchecked Sendable {
        private let raw: OpaquePointer
        private let queue: OpaquePointer
        private let topics: [OpaquePointer]

        init(raw: OpaquePointer, queue: OpaquePointer, topics: [OpaquePointer]) {
            unsafe self.raw = raw
            unsafe self.queue = queue
            unsafe self.topics = topics
        }

        /// Drops queued records; their owner sees that no delivery report came.
        func destroy() {
            if unsafe rd_kafka_type(raw) == RD_KAFKA_PRODUCER {
                let everything =
                    RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT
                    | RD_KAFKA_PURGE_F_NON_BLOCKING
                unsafe rd_kafka_purge(raw, everything)
            }
            unsafe topics.forEach { unsafe rd_kafka_topic_destroy($0) }
            unsafe rd_kafka_queue_destroy(queue)
            unsafe rd_kafka_destroy_flags(raw, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        }
    }
}
