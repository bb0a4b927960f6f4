import JSON
package import Vocabulary

/// The token-status record that an outcome may produce besides its own.
extension OutcomeEncoder {
    /// The record for the compacted token-status topic; nil unless the outcome `concernsToken`.
    ///
    /// The value is nil, a tombstone, for a token that was known as dead and is alive again.
    package func tokenStatus(_ outcome: Outcome) -> (key: [UInt8], value: [UInt8]?)? {
        let subject = outcome.subject
        guard outcome.concernsToken,
            let token = subject.deviceToken, let topic = subject.topic,
            let environment = subject.environment
        else { return nil }
        let key = "\(topic.name)|\(environment.rawValue)|\(token.hexadecimal)"
        guard let status = outcome.tokenStatus else { return (Array(key.utf8), nil) }
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
}
