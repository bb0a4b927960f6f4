package import HTTP2IO
package import Vocabulary

/// What the simulator does about one request.
package enum Answer: Hashable, Sendable {
    /// 200.
    case accepted
    /// An error with APNs' reason.
    case refused(Refusal)
    /// An error with an HTML body, as of a proxy.
    case html(status: Int, retryAfterSeconds: Int? = nil)
    /// An error without a body.
    case bare(status: Int, retryAfterSeconds: Int? = nil)
    /// RST_STREAM; REFUSED_STREAM says that the request was certainly not handled.
    case reset(HTTP2ErrorCode)
    /// None at all.
    case silence
    /// Not an answer to the request: something befalls its connection.
    case connection(ConnectionFault)
    /// To a broadcast, or to a request for channels.
    case channel(ChannelAnswer)

    /// The response's; nil where there is no response.
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

/// An answer of the channel API, or to a broadcast.
package struct ChannelAnswer: Hashable, Sendable {
    package var status: Int
    /// "Handling error responses from APNs": reasons that pushes to devices do not have.
    package var reason: String?
    package var channelID: String?
    /// JSON of a success.
    package var content: [UInt8]
    /// A broadcast that was accepted gets an `apns-unique-id`.
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
