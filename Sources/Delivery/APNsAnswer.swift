public import Vocabulary

/// APNs' response to one stream.
public struct APNsAnswer: Hashable, Sendable {
    public var status: Int
    /// Nil if the body is not JSON or contains no reason.
    public var reason: Reason?
    /// From the body of a 410.
    public var unregisteredAt: Timestamp?
    public var apnsUniqueID: String?
    public var retryAfter: Duration?
    /// The notification's APNs topic, set only if the answer says something about it; see
    /// `DeliveryEngine.topic`.
    public var topic: KeyedHash?

    /// Whether the answer says that the topic belongs to another key or another device token.
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
    /// The peer did not process the request (RFC 9113, 8.7).
    ///
    /// Either its GOAWAY says so, or the request was never sent.
    case unprocessed
    /// The peer refused to process it (REFUSED_STREAM).
    case refused
    /// The peer reset the stream; it may have processed the request.
    case reset
    /// The peer's response was malformed; treated as no answer.
    case malformed
    /// The connection ended; the peer may have processed the request.
    case lost

    /// Whether the request is safe to send again, whatever the push type.
    var isUnprocessed: Bool {
        switch self {
        case .unprocessed, .refused: true
        case .reset, .malformed, .lost: false
        }
    }

    /// Whether this break says something about the request or its endpoint.
    ///
    /// The end of a connection does not: it breaks hundreds of streams at once.
    public var isAnswerOfSorts: Bool {
        switch self {
        case .refused, .reset, .malformed: true
        case .unprocessed, .lost: false
        }
    }
}

/// Why a connection ended.
public enum CloseCause: Hashable, Sendable {
    /// The peer rejected this side's certificate, or requires one.
    case certificateRefused
    case other
}
