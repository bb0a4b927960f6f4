public import Vocabulary

/// What APNs answered to one stream.
public struct APNsAnswer: Hashable, Sendable {
    public var status: Int
    /// Nil when the body has none, or is not JSON.
    public var reason: Reason?
    /// From a 410.
    public var unregisteredAt: Timestamp?
    public var apnsUniqueID: String?
    public var retryAfter: Duration?
    /// What the notification was for, if the answer says something about it
    /// (`DeliveryEngine.topic`).
    public var topic: KeyedHash?

    /// Whether it says that the topic is not for the key, or not for the device.
    public var refusesTopic: Bool {
        reason == .apns(.deviceTokenNotForTopic) || reason == .apns(.topicDisallowed)
    }

    public init(
        status: Int,
        reason: Reason? = nil,
        unregisteredAt: Timestamp? = nil,
        apnsUniqueID: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.status = status
        self.reason = reason
        self.unregisteredAt = unregisteredAt
        self.apnsUniqueID = apnsUniqueID
        self.retryAfter = retryAfter
    }
}

/// How a stream ended without an answer.
public enum StreamBreak: Hashable, Sendable, CaseIterable {
    /// The peer certainly did not process the request (RFC 9113, 8.7): it went away, or the request
    /// never left.
    case unprocessed
    /// The peer refused to process it (REFUSED_STREAM).
    case refused
    /// The peer ended the stream; whether it processed the request is unknown.
    case reset
    /// The peer's answer was malformed, which counts as none.
    case malformed
    /// The connection ended; whether it was processed is unknown.
    case lost

    /// Whether the request may be sent again, whatever it is.
    var isUnprocessed: Bool {
        switch self {
        case .unprocessed, .refused: true
        case .reset, .malformed, .lost: false
        }
    }

    /// Whether it is about this request; the end of a connection is not, because it breaks hundreds
    /// of streams at once.
    public var isAnswerOfSorts: Bool {
        switch self {
        case .refused, .reset, .malformed: true
        case .unprocessed, .lost: false
        }
    }
}

/// Why a connection ended.
public enum CloseCause: Hashable, Sendable {
    /// The peer refuses this side's certificate, or any.
    case certificateRefused
    case other
}
