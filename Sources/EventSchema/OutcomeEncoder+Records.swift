import JSON
package import Vocabulary

/// The two optional records that an outcome may produce besides its own.
extension OutcomeEncoder {
    /// The record for the compacted token-status topic; nil unless the outcome `concernsToken`.
    package func tokenStatus(_ outcome: Outcome) -> (key: [UInt8], value: [UInt8])? {
        let subject = outcome.subject
        guard let status = outcome.tokenStatus,
            let token = subject.deviceToken, let topic = subject.topic,
            let environment = subject.environment
        else { return nil }
        let key = "\(topic.name)|\(environment.rawValue)|\(token.hexadecimal)"
        var writer = JSONWriter()
        writer.beginObject()
        writer.field("status", status)
        writer.field("token_action", outcome.tokenAction.rawValue)
        writer.field("reason", outcome.reason?.text ?? status)
        writer.field("unregistered_at")
        if let time = outcome.unregisteredAt {
            writer.integer(time.milliseconds)
        } else {
            writer.null()
        }
        writer.timestamp("observed_at", outcome.completedAt)
        writer.endObject()
        return (Array(key.utf8), writer.bytes)
    }

    /// The headers of a dead letter: the record's own byte for byte, with Kafka Connect's
    /// `__connect.errors.*` replaced, never appended.
    ///
    /// The message names reasons and schema locations, never what the event holds.
    package func deadLetterHeaders(
        _ outcome: Outcome,
        record: Record,
        source: TopicPartition
    ) -> [RecordHeader] {
        let prefix = "__connect.errors."
        let message = outcome.violations.reduce(into: outcome.reason?.text ?? "") {
            $0 += "; \($1.keywordLocation): \($1.message)"
        }
        let facts = [
            ("topic", source.topic.name),
            ("partition", "\(source.partition)"),
            ("offset", "\(record.offset)"),
            ("connector.name", "heliograph"),
            ("stage", outcome.kind == .invalid ? "VALUE_CONVERTER" : "TASK_PUT"),
            ("class.name", "heliograph"),
            ("exception.class.name", outcome.reason?.text ?? outcome.kind.rawValue),
            ("exception.message", message),
        ]
        return record.headers.filter { !$0.name.hasPrefix(prefix) }
            + facts.map { RecordHeader(prefix + $0.0, $0.1) }
    }
}
