/// Which records an outcome consists of, next to the outcome itself.
extension OutcomeKind {
    /// The token-status record's `status`; nil unless APNs spoke of the token itself: 410,
    /// `BadDeviceToken` or `DeviceTokenNotForTopic`.
    public func tokenStatus(_ reason: Reason?) -> String? {
        switch (self, reason) {
        case (.unregistered, _): "unregistered"
        case (.rejected, .apns(.badDeviceToken)?), (.rejected, .apns(.deviceTokenNotForTopic)?):
            "rejected"
        default: nil
        }
    }

    /// Nobody got the notification, and the event itself is worth keeping.
    public var isDeadLetter: Bool {
        switch self {
        case .invalid, .undeliverable: true
        case .accepted, .unregistered, .rejected, .expired, .suppressed, .duplicate: false
        }
    }
}

extension Outcome {
    /// It says something about the device token: a token-status record goes out with it.
    ///
    /// So it is only if APNs spoke of the token itself, and only if token, APNs topic and
    /// environment, which make the record's key, are known. An accepted notification says nothing
    /// that a cleanup consumer acts on, unless the token was known as dead.
    public var concernsToken: Bool {
        (tokenStatus != nil || isTokenReadmitted) && subject.deviceToken != nil
            && subject.topic != nil
            && subject.environment != nil
    }

    /// The token-status record's `status`.
    public var tokenStatus: String? { kind.tokenStatus(reason) }
}
