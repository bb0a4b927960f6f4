import CRdkafka
import Vocabulary

/// An event taken from a librdkafka queue; freed with this value.
///
/// Everything that it contains is freed with it (rdkafka.h, `rd_kafka_event_destroy`).
@safe struct LibraryEvent: ~Copyable {
    private let raw: OpaquePointer

    init(owning raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    deinit { unsafe rd_kafka_event_destroy(raw) }

    /// `RD_KAFKA_EVENT_…`.
    var type: Int32 { unsafe rd_kafka_event_type(raw) }

    var errorCode: rd_kafka_resp_err_t { unsafe rd_kafka_event_error(raw) }

    /// The event's error; nil after success.
    var error: KafkaError? {
        let code = errorCode
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        // SAFETY: the text lives as long as the event, and is copied at once.
        let text = unsafe String(cString: rd_kafka_event_error_string(raw))
        return KafkaError(
            code: KafkaError.Code(code),
            text: text,
            // For other event types, 2.0.2 reads this flag from memory with another meaning.
            isFatal: unsafe type == RD_KAFKA_EVENT_ERROR
                && rd_kafka_event_error_is_fatal(raw) != 0
        )
    }

    /// The single message of a `FETCH` event (rdkafka.h, `rd_kafka_event_message_next`), else nil.
    ///
    /// Valid until the event is freed.
    var fetchedMessage: UnsafePointer<rd_kafka_message_t>? {
        guard type == RD_KAFKA_EVENT_FETCH else { return nil }
        return unsafe nextMessage()
    }

    /// The next message of a `FETCH` or `DR` event, valid until the event is freed.
    func nextMessage() -> UnsafePointer<rd_kafka_message_t>? {
        unsafe rd_kafka_event_message_next(raw)
    }

    /// The partition, and the offset if known, of an `ERROR` event about a partition.
    var place: (partition: TopicPartition, offset: Offset?)? {
        guard let pointer = unsafe rd_kafka_event_topic_partition(raw) else { return nil }
        // SAFETY: the caller owns this copy (rdkafka.h); it is read, then freed.
        defer { unsafe rd_kafka_topic_partition_destroy(pointer) }
        let offset = unsafe pointer.pointee.offset
        return unsafe (TopicPartition(pointer.pointee), offset >= 0 ? Offset(offset) : nil)
    }

    /// The elements of a `REBALANCE` or `OFFSET_COMMIT` event.
    var partitions: [PartitionAnswer] {
        unsafe PartitionList.elements(of: rd_kafka_event_topic_partition_list(raw))
    }

    /// The JSON text of a `STATS` event.
    var statistics: [UInt8] {
        guard let text = unsafe rd_kafka_event_stats(raw) else { return [] }
        return unsafe Array(String(cString: text).utf8)
    }

    var logLine: KafkaLogLine? {
        var facility: UnsafePointer<CChar>?
        var text: UnsafePointer<CChar>?
        var level: Int32 = 0
        guard unsafe rd_kafka_event_log(raw, &facility, &text, &level) == 0,
            let facility = unsafe facility, let text = unsafe text
        else { return nil }
        return unsafe KafkaLogLine(
            level: level,
            facility: String(cString: facility),
            text: String(cString: text)
        )
    }

    /// The answer to `CreateTopics`: each topic's error, or nil.
    var createdTopics: [(name: String, error: KafkaError?)] {
        var count = 0
        guard let result = unsafe rd_kafka_event_CreateTopics_result(raw),
            let topics = unsafe rd_kafka_CreateTopics_result_topics(result, &count)
        else { return [] }
        return (0..<count).compactMap { index in
            guard let topic = unsafe topics[index] else { return nil }
            let text = unsafe rd_kafka_topic_result_error_string(topic)
            let error = unsafe KafkaError(
                unlessSuccess: rd_kafka_topic_result_error(topic),
                text: text.map { unsafe String(cString: $0) }
            )
            return unsafe (String(cString: rd_kafka_topic_result_name(topic)), error)
        }
    }

    /// The answer to `DescribeConfigs`: each topic's settings, or its error.
    var topicSettings: [(name: String, settings: Result<[String: String], KafkaError>)] {
        var count = 0
        guard let result = unsafe rd_kafka_event_DescribeConfigs_result(raw),
            let topics = unsafe rd_kafka_DescribeConfigs_result_resources(result, &count)
        else { return [] }
        return (0..<count).compactMap { index in
            guard let topic = unsafe topics[index],
                let name = unsafe rd_kafka_ConfigResource_name(topic)
            else { return nil }
            return unsafe (String(cString: name), Self.settings(of: topic))
        }
    }

    private static func settings(
        of topic: OpaquePointer
    ) -> Result<[String: String], KafkaError> {
        let text = unsafe rd_kafka_ConfigResource_error_string(topic)
        let error = unsafe KafkaError(
            unlessSuccess: rd_kafka_ConfigResource_error(topic),
            text: text.map { unsafe String(cString: $0) }
        )
        if let error { return .failure(error) }
        var count = 0
        var settings: [String: String] = [:]
        guard let entries = unsafe rd_kafka_ConfigResource_configs(topic, &count)
        else { return .success([:]) }
        for index in 0..<count {
            guard let entry = unsafe entries[index],
                let name = unsafe rd_kafka_ConfigEntry_name(entry),
                // Null for sensitive settings.
                let value = unsafe rd_kafka_ConfigEntry_value(entry)
            else { continue }
            unsafe settings[String(cString: name)] = unsafe String(cString: value)
        }
        return .success(settings)
    }
}

/// A log line of librdkafka.
public struct KafkaLogLine: Hashable, Sendable {
    /// The syslog severity (RFC 5424, 6.2.1): 0 emergency to 7 debug.
    public let level: Int32
    /// librdkafka's name for the source, such as `FAIL` or `REBALANCE`.
    public let facility: String
    public let text: String

    public init(level: Int32, facility: String, text: String) {
        self.level = level
        self.facility = facility
        self.text = text
    }

    /// The missing permission that makes a transaction fail.
    ///
    /// The transaction's calls report only consequences, such as an abort in the wrong state.
    public var transactionError: KafkaError? {
        guard ["ADDPARTS", "ADDOFFSETS", "TXNERR"].contains(facility) else { return nil }
        // Remove the name of the library's thread.
        let said = text.firstRange(of: "]: ").map { String(text[$0.upperBound...]) } ?? text
        return KafkaError.Code.ofRights.first { said.contains($0.text) }
            .map { KafkaError(code: $0, text: said) }
    }

    /// The OpenSSL error number (x509_vfy.h) in a line written by `hg_tell_certificate_error`.
    var certificateError: Int? {
        guard facility == "SSLCERTVRFY", let mark = text.firstRange(of: "X.509 error ") else {
            return nil
        }
        return Int(text[mark.upperBound...].prefix { $0.isNumber })
    }
}
