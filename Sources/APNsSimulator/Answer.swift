package import Vocabulary

/// What the simulator does about one request.
package enum Answer: Hashable, Sendable {
    /// 200.
    case accepted
    /// An error with APNs' reason.
    case refused(Refusal)
    /// An error with an HTML body, as of a proxy.
    case html(status: Int)
    /// An error without a body.
    case bare(status: Int)
    /// RST_STREAM INTERNAL_ERROR.
    case reset
    /// RST_STREAM REFUSED_STREAM: certainly not handled.
    case refusedStream
    /// GOAWAY that leaves this stream and later ones out, with a reason in its debug data or none.
    case goAway(APNsReason?)
    /// None at all.
    case silence
    /// The connection is closed without a word.
    case close
}

/// An answer with a reason.
package struct Refusal: Hashable, Sendable {
    package var status: Int
    package var reason: APNsReason
    /// With 410: since when the token has been inactive.
    package var timestamp: Timestamp?
    /// The `Retry-After` header, in seconds.
    package var retryAfterSeconds: Int?

    package init(
        _ status: Int,
        _ reason: APNsReason,
        timestamp: Timestamp? = nil,
        retryAfterSeconds: Int? = nil
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// The JSON body.
    package var body: [UInt8] {
        let time = timestamp.map { ",\"timestamp\":\($0.milliseconds)" } ?? ""
        return Array("{\"reason\":\"\(reason.rawValue)\"\(time)}".utf8)
    }
}

/// An answer, and when it is given.
package struct Judgement: Hashable, Sendable {
    package var answer: Answer
    /// On top of the simulator's own latency.
    package var delay: Duration
    /// The connection has just shown its first valid provider token: more streams are allowed.
    package var provesConnection: Bool

    package init(_ answer: Answer, delay: Duration = .zero, provesConnection: Bool = false) {
        self.answer = answer
        self.delay = delay
        self.provesConnection = provesConnection
    }
}
