public import Vocabulary

/// What APNs answered to one stream.
public struct APNsAnswer: Hashable, Sendable {
    public var status: Int
    /// Nil when the body has none, or is no JSON.
    public var reason: Reason?
    /// From a 410.
    public var unregisteredAt: Timestamp?
    public var apnsUniqueID: String?
    public var retryAfter: Duration?

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
public enum StreamBreak: Hashable, Sendable {
    /// The peer certainly did not process the request (RFC 9113, 8.7).
    case unprocessed
    /// Nobody knows.
    case unknown
}
