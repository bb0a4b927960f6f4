import JSON
package import Vocabulary

/// Writes outcomes as `schemas/notification-outcome.v1` has them.
///
/// Key and headers are written to memory that the encoder keeps: nothing is allocated for them as
/// long as the last record's are not held any more.
package struct OutcomeEncoder: Sendable {
    private var keyBytes: [UInt8] = []
    private var headerList: [RecordHeader] = []

    package init() {}

    /// Appends the value of the outcome record.
    ///
    /// - Parameters:
    ///   - outcome: how the event ended.
    ///   - record: the record that the event was decoded from; `metadata` is copied out of it.
    ///   - source: the partition's name, for the `source` field.
    ///   - buffer: what the value is appended to.
    package func encode(
        _ outcome: Outcome,
        record: Record,
        source: TopicPartition,
        into buffer: inout [UInt8]
    ) {
        var writer = JSONWriter(buffer: buffer)
        buffer = []
        writer.beginObject()
        writeSubject(outcome, &writer)
        writeVerdict(outcome, &writer)
        writer.field("attempts")
        writer.integer(Int64(max(outcome.attempts, 0)))
        writer.timestamp("received_at", outcome.receivedAt)
        writer.timestamp("completed_at", outcome.completedAt)
        writer.field("latency_ms")
        writer.integer(Self.latencyMilliseconds(outcome, record))
        writer.field("source")
        writer.beginObject()
        writer.field("topic", source.topic.name)
        writer.field("partition")
        writer.integer(Int64(source.partition))
        writer.field("offset")
        writer.integer(record.offset.rawValue)
        writer.endObject()
        if let range = outcome.subject.metadata, let value = record.eventBytes,
            value.indices.contains(range.lowerBound), range.upperBound <= value.count
        {
            writer.field("metadata")
            writer.raw(value[range])
        }
        writer.endObject()
        buffer = writer.bytes
    }

    /// The device token, or a broadcast's channel ID, else the record's own key.
    package mutating func key(_ outcome: Outcome, record: Record) -> [UInt8]? {
        let subject = outcome.subject
        guard let text = subject.deviceToken?.hexadecimal ?? subject.channel?.base64
        else { return record.key }
        keyBytes.replaceAll(by: text)
        return keyBytes
    }

    /// `outcome`, `reason`, `event-id` where there is one, and the event's trace context.
    ///
    /// The record's own trace context is that of the latest hop; a CloudEvent's is where the trace
    /// began ("Distributed Tracing" extension), and stands in where the record has no valid one.
    package mutating func headers(_ outcome: Outcome, record: Record) -> [RecordHeader] {
        var count = 0
        setHeader(&count, "outcome", outcome.kind.rawValue)
        if let reason = outcome.reason { setHeader(&count, "reason", reason.text) }
        if let id = outcome.subject.eventID { setHeader(&count, "event-id", id) }
        headerList.removeLast(headerList.count - count)
        let trace = TraceContext(record.headers) ?? TraceContext(record.traceContext)
        if let trace { headerList.append(contentsOf: trace.headers) }
        return headerList
    }

    /// Writes the next header over the one that the last record had in its place.
    private mutating func setHeader(_ count: inout Int, _ name: String, _ text: String) {
        if count == headerList.count { headerList.append(RecordHeader(name: name, value: [])) }
        headerList[count].name = name
        headerList[count].value?.replaceAll(by: text)
        count += 1
    }

    private func writeSubject(_ outcome: Outcome, _ writer: inout JSONWriter) {
        let subject = outcome.subject
        writer.field("event_id", subject.eventID)
        writer.field("apns_id")
        if let id = subject.apnsID {
            writer.plainString { id.appendUTF8(to: &$0) }
        } else {
            writer.null()
        }
        if let id = outcome.apnsUniqueID { writer.field("apns_unique_id", id) }
        writer.field("device_token", subject.deviceToken?.hexadecimal)
        if let channel = subject.channel { writer.field("channel_id", channel.base64) }
        writer.field("topic", subject.topic?.name)
        writer.field("push_type", subject.pushType?.rawValue)
        writer.field("environment", subject.environment?.rawValue)
        writer.field("credential", outcome.credential)
    }

    private func writeVerdict(_ outcome: Outcome, _ writer: inout JSONWriter) {
        writer.field("outcome", outcome.kind.rawValue)
        writer.field("reason", outcome.reason?.text)
        writer.field("decided_by", outcome.decidedBy.rawValue)
        writer.field("token_action", outcome.tokenAction.rawValue)
        if let status = outcome.httpStatus {
            writer.field("http_status")
            writer.integer(Int64(status))
        }
        if let time = outcome.unregisteredAt {
            writer.field("unregistered_at")
            writer.integer(time.milliseconds)
        }
        guard !outcome.violations.isEmpty else { return }
        writer.field("violations")
        writer.beginArray()
        for violation in outcome.violations {
            writer.beginObject()
            writer.field("instance_location", violation.instanceLocation)
            writer.field("keyword_location", violation.keywordLocation)
            writer.field("message", violation.message)
            writer.endObject()
        }
        writer.endArray()
    }

    /// From the event's `occurred_at`, else its record's timestamp, else its arrival; never
    /// negative, because the producer's clock is not ours.
    private static func latencyMilliseconds(_ outcome: Outcome, _ record: Record) -> Int64 {
        let start = outcome.subject.occurredAt ?? record.timestamp ?? outcome.receivedAt
        let (latency, overflow) = outcome.completedAt.milliseconds
            .subtractingReportingOverflow(start.milliseconds)
        return overflow ? 0 : max(latency, 0)
    }
}

extension RecordHeader {
    init(_ name: String, _ text: String) {
        self.init(name: name, value: Array(text.utf8))
    }
}

extension [UInt8] {
    fileprivate mutating func replaceAll(by text: String) {
        removeAll(keepingCapacity: true)
        append(contentsOf: text.utf8)
    }
}

extension JSONWriter {
    mutating func field(_ name: StaticString) {
        self.name(plain: name)
    }

    mutating func field(_ name: StaticString, _ text: String?) {
        self.name(plain: name)
        string(text)
    }

    mutating func timestamp(_ name: StaticString, _ timestamp: Timestamp) {
        self.name(plain: name)
        plainString { timestamp.appendRFC3339(to: &$0) }
    }
}
