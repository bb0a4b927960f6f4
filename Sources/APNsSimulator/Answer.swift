package import HTTP2IO
package import Vocabulary

/// What the simulator does for one request.
package enum Answer: Hashable, Sendable {
    /// Status 200.
    case accepted
    /// An error with a reason.
    case refused(Refusal)
    /// An error with an HTML body, as from a proxy.
    case html(status: Int, retryAfterSeconds: Int? = nil)
    /// An error without a body.
    case bare(status: Int, retryAfterSeconds: Int? = nil)
    /// RST_STREAM; REFUSED_STREAM means that the request was certainly not processed.
    case reset(HTTP2ErrorCode)
    /// No answer.
    case silence
    /// Not an answer to the request, but a fault of its connection.
    case connection(ConnectionFault)
    /// The answer to a broadcast, or to a channel request.
    case channel(ChannelAnswer)

    /// The status of the response; nil if there is no response.
    package var status: Int? {
        switch self {
        case .accepted: 200
        case .refused(let refusal): refusal.status
        case .html(let status, _), .bare(let status, _): status
        case .channel(let answer): answer.status
        case .reset, .silence, .connection: nil
        }
    }
}

/// An error answer with a reason.
package struct Refusal: Hashable, Sendable {
    package var status: Int
    package var reason: APNsReason
    /// With 410: the time since which the token has been inactive.
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

/// An answer of the channel API, or the answer to a broadcast.
package struct ChannelAnswer: Hashable, Sendable {
    package var status: Int
    /// Reasons from "Handling error responses from APNs" that pushes to devices do not have.
    package var reason: String?
    package var channelID: String?
    /// The JSON body of a success.
    package var content: [UInt8]
    /// Whether it accepts a broadcast and so has an `apns-unique-id`.
    package var isBroadcast: Bool

    package init(
        _ status: Int,
        reason: String? = nil,
        channelID: String? = nil,
        content: [UInt8] = [],
        isBroadcast: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.channelID = channelID
        self.content = content
        self.isBroadcast = isBroadcast
    }

    var body: [UInt8] {
        reason.map { Array("{\"reason\":\"\($0)\"}".utf8) } ?? content
    }
}

/// An answer, and when to send it.
package struct Judgment: Hashable, Sendable {
    package var answer: Answer
    /// In addition to the simulator's own latency.
    package var delay: Duration
    /// Whether the connection has just shown its first valid provider token, which raises its
    /// limit.
    package var provesConnection: Bool

    package init(_ answer: Answer, delay: Duration = .zero, provesConnection: Bool = false) {
        self.answer = answer
        self.delay = delay
        self.provesConnection = provesConnection
    }
}
