import JSON
public import Vocabulary

/// Encodes outcomes according to `schemas/notification-outcome.v1`.
///
/// The key is written into memory that the encoder keeps: it allocates nothing once the previous
/// record's key has been released.
public struct OutcomeEncoder: Sendable {
    private var received = TimestampText()
    private var completed = TimestampText()
    private var verdict = VerdictText()
    private var sourceText = SourceText()
    private var keyBytes: [UInt8] = []

    public init() {}

    /// Appends the value of the outcome record to `buffer`.
    ///
    /// - Parameters:
    ///   - outcome: how the event ended.
    ///   - record: the record from which the event was decoded; its `metadata` is copied.
    ///   - source: the partition's name, for the `source` field.
    ///   - buffer: receives the value.
    public mutating func encode(
        _ outcome: Outcome,
        record: Record,
        source: TopicPartition,
        into buffer: inout [UInt8]
    ) {
        received.set(outcome.receivedAt)
        completed.set(outcome.completedAt)
        verdict.set(outcome)
        sourceText.set(source)
        var writer = JSONWriter(buffer: buffer)
        buffer = []
        writer.beginObject()
        Self.writeSubject(outcome, &writer)
        writer.raw(utf8: verdict.utf8.span)
        Self.writeDetails(outcome, &writer)
        writer.member("attempts", Int64(max(outcome.attempts, 0)))
        writer.member("received_at", plain: received.utf8.span)
        writer.member("completed_at", plain: completed.utf8.span)
        writer.member("latency_ms", Self.latencyMilliseconds(outcome, record))
        writer.raw(utf8: sourceText.utf8.span)
        writer.member("offset", record.offset.rawValue)
        writer.endObject()
        if let range = outcome.subject.metadata, let value = record.eventBytes,
            value.indices.contains(range.lowerBound),
            range.upperBound <= record.decodedValue?.count ?? record.valueRange?.upperBound ?? 0
        {
            writer.name(plain: "metadata")
            writer.raw(utf8: value.span.extracting(range))
        }
        writer.endObject()
        buffer = writer.bytes
    }

    /// The device token in lower case, a broadcast's channel ID, or else the record's own key.
    public mutating func key(_ outcome: Outcome, record: Record) -> [UInt8]? {
        if let token = outcome.subject.deviceToken {
            token.withDigits { keyBytes.replaceAll(by: $0) }
            for index in keyBytes.indices {
                keyBytes[index] = DeviceToken.canonical(keyBytes[index])
            }
        } else if let channel = outcome.subject.channel {
            keyBytes.replaceAll(by: channel.base64.utf8.span)
        } else {
            return record.key
        }
        return keyBytes
    }

    /// Passes the headers to `take`, one by one.
    ///
    /// These are `outcome`, `reason`, `event-id` (if known), and the event's trace context.
    ///
    /// The record's own trace context is that of the latest hop. A CloudEvent's is where the trace
    /// began ("Distributed Tracing" extension); it is used if the record has no valid one.
    public static func forEachHeader(
        of outcome: Outcome,
        record: Record,
        _ take: (_ name: String, _ value: Span<UInt8>) -> Void
    ) {
        take("outcome", outcome.kind.rawValue.utf8.span)
        if let reason = outcome.reason { take("reason", reason.text.utf8.span) }
        outcome.subject.eventID?.withUTF8 { take("event-id", $0) }
        let trace = TraceContext(record.headers) ?? TraceContext(record.traceContext)
        for header in trace?.headers ?? [] {
            if let value = header.value { take(header.name, value.span) }
        }
    }

    private static func writeSubject(_ outcome: Outcome, _ writer: inout JSONWriter) {
        if let id = outcome.subject.eventID {
            id.withUTF8 { writer.member("event_id", utf8: $0) }
        } else {
            writer.name(plain: "event_id")
            writer.null()
        }
        writer.name(plain: "apns_id")
        if let id = outcome.subject.apnsID {
            writer.plainString { id.appendUTF8(to: &$0) }
        } else {
            writer.null()
        }
        if let id = outcome.apnsUniqueID { writer.member("apns_unique_id", id) }
        if let token = outcome.subject.deviceToken {
            token.withDigits { writer.member("device_token", plain: $0) }
        } else {
            writer.name(plain: "device_token")
            writer.null()
        }
        if let channel = outcome.subject.channel { writer.member("channel_id", channel.base64) }
        if let recipient = outcome.subject.recipient {
            writer.member("recipient", Int64(recipient.index))
            writer.member("recipients", Int64(recipient.count))
        }
        if let campaign = outcome.subject.campaign {
            writer.member("campaign", utf8: campaign.utf8.span)
        }
    }

    private static func writeDetails(_ outcome: Outcome, _ writer: inout JSONWriter) {
        if let time = outcome.unregisteredAt { writer.member("unregistered_at", time.milliseconds) }
        guard !outcome.violations.isEmpty else { return }
        writer.name(plain: "violations")
        writer.beginArray()
        for violation in outcome.violations {
            writer.beginObject()
            writer.member("instance_location", violation.instanceLocation)
            writer.member("keyword_location", violation.keywordLocation)
            writer.member("message", violation.message)
            writer.endObject()
        }
        writer.endArray()
    }

    /// Measured from the event's `occurred_at`, else its record's timestamp, else its arrival.
    private static func latencyMilliseconds(_ outcome: Outcome, _ record: Record) -> Int64 {
        let start = outcome.subject.occurredAt ?? record.timestamp ?? outcome.receivedAt
        return outcome.completedAt.latency(since: start)
    }
}

/// The token-status record that an outcome may need.
extension OutcomeEncoder {
    /// The record for the compacted token-status topic; nil unless the outcome `concernsToken`.
    ///
    /// The value is nil, a tombstone, for a token that was recorded as dead and works again.
    public func tokenStatus(_ outcome: Outcome) -> (key: [UInt8], value: [UInt8]?)? {
        let subject = outcome.subject
        guard outcome.concernsToken,
            let token = subject.deviceToken, let topic = subject.topic,
            let environment = subject.environment
        else { return nil }
        let key = Array("\(topic.name)|\(environment.rawValue)|".utf8) + token.canonicalDigits
        guard let status = outcome.tokenStatus else { return (key, nil) }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status", status)
        writer.member("token_action", plain: outcome.tokenAction.rawValue)
        writer.member("reason", outcome.reason?.text ?? status)
        if let time = outcome.unregisteredAt {
            writer.member("unregistered_at", time.milliseconds)
        } else {
            writer.name(plain: "unregistered_at")
            writer.null()
        }
        writer.member("observed_at", plain: outcome.completedAt.rfc3339.span)
        writer.endObject()
        return (key, writer.bytes)
    }
}

/// The text of an outcome's members from `topic` to `http_status`.
///
/// Most outcomes have the same values as the previous one, whose text is then reused.
private struct VerdictText: Sendable {
    private(set) var utf8: [UInt8] = []
    private var topic: APNsTopic?
    private var pushType: PushType?
    private var environment: APNsEnvironment?
    private var credential: String?
    private var kind = OutcomeKind.invalid
    private var reason: Reason?
    private var decidedBy = Outcome.Decider.heliograph
    private var tokenAction = TokenAction.keep
    private var httpStatus: Int?

    mutating func set(_ outcome: Outcome) {
        if !utf8.isEmpty, isOf(outcome) { return }
        topic = outcome.subject.topic
        pushType = outcome.subject.pushType
        environment = outcome.subject.environment
        credential = outcome.credential
        kind = outcome.kind
        reason = outcome.reason
        decidedBy = outcome.decidedBy
        tokenAction = outcome.tokenAction
        httpStatus = outcome.httpStatus
        write()
    }

    private func isOf(_ outcome: Outcome) -> Bool {
        kind == outcome.kind && httpStatus == outcome.httpStatus
            && tokenAction == outcome.tokenAction && decidedBy == outcome.decidedBy
            && pushType == outcome.subject.pushType && environment == outcome.subject.environment
            && Self.isSame(reason?.text, outcome.reason?.text)
            && Self.isSame(topic?.name, outcome.subject.topic?.name)
            && Self.isSame(credential, outcome.credential)
    }

    private static func isSame(_ left: String?, _ right: String?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.hasSameBytes(as: right)
    }

    private mutating func write() {
        utf8.removeAll(keepingCapacity: true)
        var writer = JSONWriter(buffer: utf8)
        utf8 = []
        writer.member("topic", topic?.name)
        writer.member("push_type", plain: pushType?.rawValue)
        writer.member("environment", plain: environment?.rawValue)
        writer.member("credential", credential)
        writer.member("outcome", plain: kind.rawValue)
        writer.member("reason", reason?.text)
        writer.member("decided_by", plain: decidedBy.rawValue)
        writer.member("token_action", plain: tokenAction.rawValue)
        if let httpStatus { writer.member("http_status", Int64(httpStatus)) }
        utf8 = writer.bytes
    }
}

/// The text of an outcome's `source`, up to the partition.
///
/// Consecutive outcomes often have the same partition; the text is then reused.
private struct SourceText: Sendable {
    /// Without the end of the object, because `offset` follows.
    private(set) var utf8: [UInt8] = []
    private var source: TopicPartition?

    mutating func set(_ source: TopicPartition) {
        if let last = self.source, last.partition == source.partition,
            last.topic.name.hasSameBytes(as: source.topic.name)
        {
            return
        }
        self.source = source
        utf8.removeAll(keepingCapacity: true)
        var writer = JSONWriter(buffer: utf8)
        utf8 = []
        writer.name(plain: "source")
        writer.beginObject()
        writer.member("topic", source.topic.name)
        writer.member("partition", Int64(source.partition))
        utf8 = writer.bytes
    }
}

extension RecordHeader {
    init(_ name: String, _ text: String) {
        self.init(name: name, value: Array(text.utf8))
    }
}

extension [UInt8] {
    fileprivate mutating func replaceAll(by text: Span<UInt8>) {
        removeLast(count)
        unsafe text.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
