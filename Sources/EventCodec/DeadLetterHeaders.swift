public import Vocabulary

/// The headers that a dead letter has in addition to the record's own.
///
/// Replaced, never appended: if a replayed record becomes a dead letter again, it has one set of
/// them. They contain reasons and schema locations, never the event's contents.
public struct DeadLetterHeaders: Hashable, Sendable {
    public enum Style: String, Hashable, Sendable, CaseIterable {
        /// `__connect.errors.*`, all as text (KIP-298; Kafka Connect's `DeadLetterQueueReporter`).
        case connect
        /// `kafka_dlt-*` with binary numbers (Spring Kafka's `DeadLetterPublishingRecoverer`).
        case spring
    }

    public static let prefixes = [connectPrefix, springPrefix]
    static let connectPrefix = "__connect.errors."
    static let springPrefix = "kafka_dlt-"
    private static let ownName = "heliograph"

    private let style: Style
    private let consumerGroup: String

    public init(style: Style = .connect, consumerGroup: String) {
        self.style = style
        self.consumerGroup = consumerGroup
    }

    /// The headers, except those of earlier failures in either style.
    public static func stripped(_ headers: [RecordHeader]) -> [RecordHeader] {
        headers.filter { header in !prefixes.contains { header.name.hasPrefix($0) } }
    }

    /// The dead letter's headers; `record.offset` and `source` are the event's position.
    public func headers(
        _ outcome: Outcome,
        record: Record,
        source: TopicPartition
    ) -> [RecordHeader] {
        let facts =
            switch style {
            case .connect: connect(outcome, record, source)
            case .spring: spring(outcome, record, source)
            }
        return Self.stripped(record.headers) + facts
    }

    private func connect(
        _ outcome: Outcome,
        _ record: Record,
        _ source: TopicPartition
    ) -> [RecordHeader] {
        var facts = [
            ("topic", source.topic.name),
            ("partition", "\(source.partition)"),
            ("offset", "\(record.offset)"),
            ("connector.name", Self.ownName),
            ("task.id", "0"),
            ("stage", outcome.kind == .invalid ? "VALUE_CONVERTER" : "TASK_PUT"),
            ("class.name", Self.ownName),
            ("exception.class.name", Self.reason(outcome)),
            ("exception.message", Self.message(outcome)),
        ]
        if let recipient = outcome.subject.recipient {
            facts.append(("recipient", "\(recipient.index)"))
            facts.append(("recipients", "\(recipient.count)"))
        }
        return facts.map { RecordHeader(Self.connectPrefix + $0.0, $0.1) }
    }

    private func spring(
        _ outcome: Outcome,
        _ record: Record,
        _ source: TopicPartition
    ) -> [RecordHeader] {
        let prefix = Self.springPrefix
        var headers = [
            RecordHeader(prefix + "original-topic", source.topic.name),
            RecordHeader(prefix + "original-partition", bigEndian: source.partition),
            RecordHeader(prefix + "original-offset", bigEndian: record.offset.rawValue),
            RecordHeader(prefix + "original-consumer-group", consumerGroup),
            RecordHeader(prefix + "exception-fqcn", Self.reason(outcome)),
            RecordHeader(prefix + "exception-message", Self.message(outcome)),
        ]
        if let timestamp = record.timestamp {
            headers.append(
                RecordHeader(prefix + "original-timestamp", bigEndian: timestamp.milliseconds)
            )
        }
        if let recipient = outcome.subject.recipient {
            headers += [
                RecordHeader(prefix + "recipient", bigEndian: Int32(recipient.index)),
                RecordHeader(prefix + "recipients", bigEndian: Int32(recipient.count)),
            ]
        }
        return headers
    }

    private static func reason(_ outcome: Outcome) -> String {
        outcome.reason?.text ?? outcome.kind.rawValue
    }

    private static func message(_ outcome: Outcome) -> String {
        outcome.violations.reduce(into: outcome.reason?.text ?? "") {
            $0 += "; \($1.keywordLocation): \($1.message)"
        }
    }
}

/// The facts in a dead letter's headers, in any style.
public struct DeadLetterFacts: Hashable, Sendable {
    public var topic: KafkaTopic?
    public var partition: Int32?
    public var offset: Offset?
    public var reason: String?
    /// Which entry of the event's `recipients` it is about; nil: the event has none.
    public var recipient: RecipientPlace?

    public init(headers: [RecordHeader]) {
        var index: Int?
        var count: Int?
        for header in headers {
            guard let value = header.value else { continue }
            let text = String(validating: value, as: UTF8.self)
            switch header.name {
            case DeadLetterHeaders.connectPrefix + "topic",
                DeadLetterHeaders.springPrefix + "original-topic":
                topic = text.map { KafkaTopic($0) }
            case DeadLetterHeaders.connectPrefix + "partition":
                partition = text.flatMap { Int32($0) }
            case DeadLetterHeaders.springPrefix + "original-partition":
                partition = Self.number(value).flatMap(Int32.init(exactly:))
            case DeadLetterHeaders.connectPrefix + "offset":
                offset = text.flatMap { Int64($0) }.map { Offset($0) }
            case DeadLetterHeaders.springPrefix + "original-offset":
                offset = Self.number(value).map { Offset($0) }
            case DeadLetterHeaders.connectPrefix + "exception.class.name",
                DeadLetterHeaders.springPrefix + "exception-fqcn":
                reason = text
            case DeadLetterHeaders.connectPrefix + "recipient": index = text.flatMap { Int($0) }
            case DeadLetterHeaders.connectPrefix + "recipients": count = text.flatMap { Int($0) }
            case DeadLetterHeaders.springPrefix + "recipient":
                index = Self.number(value).map { Int($0) }
            case DeadLetterHeaders.springPrefix + "recipients":
                count = Self.number(value).map { Int($0) }
            default: break
            }
        }
        // Anyone could have written the headers.
        if let index, let count, (1...RecipientPlace.maxCount).contains(count),
            (0..<count).contains(index)
        {
            recipient = RecipientPlace(index: index, count: count)
        }
    }

    /// A big-endian integer of 1 to 8 bytes: Spring writes some with the minimal length.
    private static func number(_ bytes: [UInt8]) -> Int64? {
        guard (1...8).contains(bytes.count) else { return nil }
        let start: Int64 = bytes[0] >= 0x80 ? -1 : 0
        return bytes.reduce(start) { $0 << 8 | Int64($1) }
    }
}

extension RecordHeader {
    fileprivate init(_ name: String, bigEndian number: some FixedWidthInteger) {
        let bits = number.bitWidth
        self.init(
            name: name,
            value: stride(from: bits - 8, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: number >> $0)
            }
        )
    }
}
