/// Which records are published for an outcome, in addition to the outcome itself.
extension OutcomeKind {
    /// The token-status record's `status`; nil unless APNs' answer is about the token itself.
    ///
    /// Those answers are 410, `BadDeviceToken` and `DeviceTokenNotForTopic`.
    public func tokenStatus(_ reason: Reason?) -> String? {
        switch (self, reason) {
        case (.unregistered, _): "unregistered"
        case (.rejected, .apns(.badDeviceToken)?), (.rejected, .apns(.deviceTokenNotForTopic)?):
            "rejected"
        default: nil
        }
    }

    /// Whether nobody got the notification and the event is worth keeping.
    public var isDeadLetter: Bool {
        switch self {
        case .invalid, .undeliverable: true
        case .accepted, .unregistered, .rejected, .expired, .suppressed, .duplicate, .cancelled:
            false
        }
    }
}

extension Outcome {
    /// Whether the outcome says something about the device token, and needs a token-status record.
    ///
    /// True only if APNs' answer is about the token itself, and if token, APNs topic and
    /// environment, which form the record's key, are known. A cleanup consumer does not need
    /// accepted notifications, except those whose token was recorded as dead.
    public var concernsToken: Bool {
        (tokenStatus != nil || isTokenReadmitted) && subject.deviceToken != nil
            && subject.topic != nil
            && subject.environment != nil
    }

    /// The token-status record's `status`.
    public var tokenStatus: String? { kind.tokenStatus(reason) }
}
