import APNsRules
import ConnectionPool
import Credentials
package import Delivery
package import HTTP2IO
package import Vocabulary

/// An event on a connection to APNs.
enum APNsEvent {
    case opened(ConnectionID, maxConcurrentStreams: Int)
    case streamLimitChanged(ConnectionID, Int)
    case answered(DeliveryID, HTTP2Response)
    case streamBroke(DeliveryID, StreamBreak)
    /// The end of the stream is reported separately.
    case malformedAnswer(ConnectionID, Route, ResponseFlaw)
    case goAway(ConnectionID, Route, Farewell)
    case pingAnswered(ConnectionID)
    case closed(ConnectionID, Route, ConnectionFailure, after: Farewell?)
}

// Conversions between HTTP/2's terms and the engine's.

extension StreamBreak {
    package init(_ failure: StreamFailure) {
        switch failure {
        case .refused: self = .refused
        case .aboveGoAway, .neverWritten: self = .unprocessed
        case .reset: self = .reset
        case .responseTooLarge, .malformedResponse: self = .malformed
        case .connectionClosed: self = .lost
        }
    }
}

extension ConnectionFailure {
    /// Describes, for the log, why the pool closed a connection.
    init(_ reason: PoolMachine.CloseReason) {
        switch reason {
        case .connectTimedOut: self = .timedOut
        case .pingUnanswered: self = .pingUnanswered
        case .superseded: self = .closedHere
        }
    }
}

extension CloseCause {
    package init(_ failure: ConnectionFailure) {
        if case .tls(.certificateRefused) = failure {
            self = .certificateRefused
        } else {
            self = .other
        }
    }
}

extension APNsAnswer {
    /// Reads an answer; the status decides, and the body only explains.
    ///
    /// A function, because an initializer in another module would copy the value.
    package static func read(_ response: HTTP2Response, now: Timestamp) -> APNsAnswer {
        let apnsUniqueID = response.text(of: "apns-unique-id")
        guard response.status != 200 else {
            return APNsAnswer(status: 200, apnsUniqueID: apnsUniqueID)
        }
        let body = APNsErrorBody(parsing: response.body)
        var unregisteredAt: Timestamp?
        if response.status == 410 {
            if case .at(let time) = body.inactiveSince(now: now) { unregisteredAt = time }
        }
        return APNsAnswer(
            status: response.status,
            reason: body.reason,
            unregisteredAt: unregisteredAt,
            apnsUniqueID: apnsUniqueID,
            retryAfter: response.text(of: "retry-after").flatMap { RetryAfter.delay($0, now: now) }
        )
    }
}
