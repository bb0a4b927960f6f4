import JSON
public import Vocabulary

/// The token-status record that an outcome may produce besides its own.
extension OutcomeEncoder {
    /// The record for the compacted token-status topic; nil unless the outcome `concernsToken`.
    ///
    /// The value is nil, a tombstone, for a token that was known as dead and is alive again.
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
