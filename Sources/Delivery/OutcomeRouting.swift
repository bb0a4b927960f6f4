package import Vocabulary

/// Which records an outcome consists of, beside the outcome itself.
extension Outcome {
    /// It says something about the device token: a token-status record goes out with it.
    package var concernsToken: Bool {
        guard subject.deviceToken != nil, subject.topic != nil, subject.environment != nil,
            decidedBy == .apns
        else { return false }
        return tokenAction != .keep
    }

    /// Nobody got the notification, and the event itself is worth keeping.
    package var isDeadLetter: Bool { kind == .invalid || kind == .undeliverable }
}
