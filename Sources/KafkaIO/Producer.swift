import CRdkafka
public import Vocabulary

/// Why a record could not be queued.
public enum ProduceError: Error, Hashable, Sendable {
    /// The queue is full: keep the record, and try again after `poll`.
    case queueFull
    /// This producer will never accept this record.
    case refused(KafkaError)
}

/// An event of a producer.
public enum ProducerEvent: Hashable, Sendable {
    /// All in-sync replicas have the record with this tag; with an error, they may not.
    ///
    /// The error says whether to produce it again.
    case deliveryReported(tag: UInt64, KafkaError?)
    /// Informational, unless `isFatal`; then the producer must be replaced.
    case failed(KafkaError)
    /// librdkafka's statistics as JSON text, if `statistics.interval.ms` is set.
    case statistics([UInt8])
    case logged(KafkaLogLine)
}

/// An idempotent producer with `acks=all`.
///
/// Belongs to one thread; no public call blocks. It can be discarded at any time (`abandon`):
/// callers keep each record until its delivery report, so nothing in the producer is needed.
public final class Producer {
    let client: ClientHandle
    /// The number of records without a delivery report.
    public private(set) var outstanding = 0
    private var isAbandoned = false

    /// Starts the client, which connects in the background.
    ///
    /// `wakeup` is a non-blocking eventfd, signalled when there is something to poll. With a
    /// `transactionalID`, which no other live producer may use, records are accepted only in
    /// transactions (`transactionCalls`). Throws if a property is invalid.
    public init(
        bootstrapServers: String,
        properties: [String: String],
        transactionalID: String? = nil,
        batches: KafkaConfiguration.Batches = .shared(maxBytes: nil),
        wakeup: Int32
    ) throws(KafkaError) {
        let configuration = try KafkaConfiguration(
            .producer,
            bootstrapServers: bootstrapServers,
            properties: properties,
            transactionalID: transactionalID,
            batches: batches
        )
        configuration.enableEvents(
            RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG
        )
        client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_PRODUCER,
            wakeup: wakeup
        )
    }

    /// Queues a copy of the record; a `deliveryReported` with the tag answers.
    ///
    /// Without a partition, the key selects it; records without a key are spread. A nil value is a
    /// tombstone. `tag` is the caller's number for the record.
    public func produce(
        topic: KafkaTopic,
        partition: Int32? = nil,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = [],
        tag: UInt64
    ) throws(ProduceError) {
        let list = headers.isEmpty ? nil : HeaderList(headers)
        try produce(
            topic: topic,
            partition: partition,
            key: key,
            value: value,
            headers: list,
            tag: tag
        )
    }

    /// Queues a record with headers in the library's form, which are consumed in any case.
    public func produce(
        topic: KafkaTopic,
        partition: Int32? = nil,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: consuming HeaderList?,
        tag: UInt64
    ) throws(ProduceError) {
        guard !isAbandoned, let handle = unsafe client.topic(topic.name) else {
            throw .refused(
                KafkaError(isAbandoned ? RD_KAFKA_RESP_ERR__DESTROY : rd_kafka_last_error())
            )
        }
        let list = unsafe headers?.raw
        let error = unsafe Self.withMemory(key, value) { key, value in
            unsafe send(
                to: handle,
                partition ?? RD_KAFKA_PARTITION_UA,
                key: key,
                value: value,
                headers: list,
                tag: tag
            )
        }
        guard let error = unsafe KafkaError(consuming: error) else {
            // SAFETY: the library takes over the headers only if it accepts the record.
            headers?.giveUp()
            outstanding += 1
            return
        }
        throw error.code == .queueFull ? .queueFull : .refused(client.fatalError ?? error)
    }

    /// Appends about `budget` events; delivery reports come in batches, which are not split.
    ///
    /// - Returns: true if there may be more; the eventfd is signalled then.
    public func poll(budget: Int, into events: inout [ProducerEvent]) -> Bool {
        guard !isAbandoned else { return false }
        let limit = events.count + budget
        while events.count < limit {
            guard let event = client.nextEvent() else { return false }
            translate(event, into: &events)
        }
        client.ring()
        return true
    }

    /// Waits for an event, and appends it if one comes in time.
    ///
    /// The only call that blocks; for a client without an eventfd.
    func waitForEvent(milliseconds: Int32, into events: inout [ProducerEvent]) {
        guard let event = client.nextEvent(waitMilliseconds: milliseconds) else { return }
        translate(event, into: &events)
    }

    /// Discards the producer: no report follows, and queued records may or may not be written.
    ///
    /// The library's threads are ended on another thread, which may take long.
    public func abandon() {
        isAbandoned = true
        client.destroyAside()
    }

    /// Makes the library simulate a fatal error, using its own test function.
    public func injectFatalError(_ code: KafkaError.Code, reason: String) {
        unsafe rd_kafka_test_fatal_error(client.raw, code.libraryCode, reason)
    }

    /// Why a record is not known to be written, by its delivery report; nil: it is written.
    ///
    /// A report without an error and without an offset is the library's inference from a later
    /// batch of the partition. If a first batch fails, for example because a new topic's partition
    /// has no leader yet, and a second one is already on its way, Kafka accepts that one: it does
    /// not know the producer yet, and then takes any sequence number. librdkafka 2.0.2 to 2.16
    /// report the first batch as written (`rd_kafka_dr_implicit_ack`), and drop it. So a record is
    /// written only where Kafka says at which offset.
    public static func error(_ code: KafkaError.Code, offset: Int64) -> KafkaError? {
        if let error = KafkaError(unlessSuccess: code.libraryCode) { return error }
        guard offset < 0 else { return nil }
        return KafkaError(
            code: .noOffset,
            text: "reported as written, but Kafka gave no offset; it may be missing"
        )
    }

    private func translate(_ event: borrowing LibraryEvent, into events: inout [ProducerEvent]) {
        switch event.type {
        case RD_KAFKA_EVENT_DR:
            while let message = unsafe event.nextMessage() {
                outstanding -= 1
                let tag = unsafe UInt64(UInt(bitPattern: message.pointee._private))
                let code = unsafe KafkaError.Code(message.pointee.err)
                let error = unsafe Self.error(code, offset: message.pointee.offset)
                events.append(.deliveryReported(tag: tag, error))
            }
        case RD_KAFKA_EVENT_ERROR:
            if let error = client.error(of: event) { events.append(.failed(error)) }
        case RD_KAFKA_EVENT_STATS: events.append(.statistics(event.statistics))
        case RD_KAFKA_EVENT_LOG:
            if let line = event.logLine { events.append(.logged(line)) }
        default: break
        }
    }

    /// - Returns: the library's error object; nil: success.
    private func send(
        to topic: OpaquePointer,
        _ partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: OpaquePointer?,
        tag: UInt64
    ) -> OpaquePointer? {
        // SAFETY: RD_KAFKA_MSG_F_COPY copies the value, and keys are always copied.
        unsafe withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: 7) { arguments in
            unsafe arguments.initialize(repeating: rd_kafka_vu_t())
            unsafe arguments[0].vtype = RD_KAFKA_VTYPE_RKT
            unsafe arguments[0].u.rkt = topic
            unsafe arguments[1].vtype = RD_KAFKA_VTYPE_MSGFLAGS
            unsafe arguments[1].u.i = RD_KAFKA_MSG_F_COPY
            unsafe arguments[2].vtype = RD_KAFKA_VTYPE_OPAQUE
            unsafe arguments[2].u.ptr = UnsafeMutableRawPointer(bitPattern: UInt(tag))
            unsafe arguments[3].vtype = RD_KAFKA_VTYPE_KEY
            unsafe arguments[3].u.mem.ptr = UnsafeMutableRawPointer(mutating: key?.baseAddress)
            unsafe arguments[3].u.mem.size = key?.count ?? 0
            unsafe arguments[4].vtype = RD_KAFKA_VTYPE_VALUE
            unsafe arguments[4].u.mem.ptr = UnsafeMutableRawPointer(mutating: value?.baseAddress)
            unsafe arguments[4].u.mem.size = value?.count ?? 0
            unsafe arguments[5].vtype = RD_KAFKA_VTYPE_PARTITION
            unsafe arguments[5].u.i32 = partition
            guard let headers = unsafe headers else {
                return unsafe rd_kafka_produceva(client.raw, arguments.baseAddress, 6)
            }
            // One list, never single headers: the library frees those twice if there is an error.
            unsafe arguments[6].vtype = RD_KAFKA_VTYPE_HEADERS
            unsafe arguments[6].u.headers = headers
            return unsafe rd_kafka_produceva(client.raw, arguments.baseAddress, 7)
        }
    }

    /// Passes both arrays to `body`; nil becomes null, and an empty array has a non-null address,
    /// which C requires.
    private static func withMemory<R>(
        _ first: [UInt8]?,
        _ second: [UInt8]?,
        _ body: (UnsafeRawBufferPointer?, UnsafeRawBufferPointer?) -> R
    ) -> R {
        unsafe withMemory(first) { first in
            unsafe withMemory(second) { second in unsafe body(first, second) }
        }
    }

    private static func withMemory<R>(
        _ bytes: [UInt8]?,
        _ body: (UnsafeRawBufferPointer?) -> R
    ) -> R {
        guard let bytes else { return body(nil) }
        guard bytes.isEmpty else { return unsafe bytes.withUnsafeBytes { unsafe body($0) } }
        var nothing: UInt8 = 0
        return unsafe withUnsafeBytes(of: &nothing) { one in
            unsafe body(UnsafeRawBufferPointer(rebasing: one[..<0]))
        }
    }
}

/// A record's headers in librdkafka's form.
///
/// Headers can be added one by one, without building an array first.
@safe public struct HeaderList: ~Copyable {
    let raw: OpaquePointer?

    /// Makes an empty list; adding more than `capacity` headers allocates.
    public init(capacity: Int) {
        unsafe raw = rd_kafka_headers_new(capacity)
    }

    /// Copies headers.
    public init(_ headers: [RecordHeader]) {
        self.init(capacity: headers.count)
        for header in headers { add(header) }
    }

    deinit { if let raw = unsafe raw { unsafe rd_kafka_headers_destroy(raw) } }

    /// Appends a copy of a header.
    public func add(_ header: RecordHeader) {
        if let value = header.value {
            add(header.name, value.span)
        } else {
            unsafe append(header.name.utf8.span, nil, 0)
        }
    }

    /// Appends a copy of a header; its value is not null.
    public func add(_ name: String, _ value: Span<UInt8>) {
        unsafe value.withUnsafeBytes { value in
            // For an empty value, any non-null address will do.
            let start = unsafe value.baseAddress ?? UnsafeRawPointer(raw)
            unsafe append(name.utf8.span, start, value.count)
        }
    }

    /// Gives up ownership to the library, which accepted a record with this list.
    consuming func giveUp() { discard self }

    /// Appends a header; the name is passed by length, because a C string would require a copy.
    private func append(_ name: Span<UInt8>, _ value: UnsafeRawPointer?, _ byteCount: Int) {
        unsafe name.withUnsafeBytes { name in
            _ = unsafe rd_kafka_header_add(
                raw,
                name.baseAddress?.assumingMemoryBound(to: CChar.self),
                name.count,
                value,
                byteCount
            )
        }
    }
}
