import HTTP2IO
import HTTP2Peer
import SystemIO
import Vocabulary

/// What an answer does to its stream or connection.
enum Effect {
    case respond(HeaderBlock, body: [UInt8])
    case reset(HTTP2ErrorCode)
    case connection(ConnectionFault)
    case nothing
}

/// One client's connection, as the simulator's loop keeps it.
final class SimulatedConnection {
    let id: UInt64
    let door: Door
    let wire: ServerConnection
    var facts: ConnectionFacts
    /// What the loop watches the descriptor for.
    var interest: Interest
    /// When its last request came, or HTTP/2 began; nil before.
    var lastUsed: Instant?
    /// It has something to send this turn.
    var isTouched = false
    /// It was accepted while TLS is refused.
    let refusesTLS: Bool
    /// How it ends, or falls silent, when the turn is over: who notices finds it counted.
    private enum Ending {
        case abort, halfClose
    }

    private var ending: Ending?
    /// Whose answers leave when the turn is over; empty without a timing log.
    private var answered: [RequestTiming] = []
    /// It says nothing any more; what it reads has no effect.
    private(set) var isMute = false
    /// The newest MAX_CONCURRENT_STREAMS that was announced.
    private(set) var streamLimit: UInt32
    /// How much it has erred; see `ErrorThrottle`.
    var errorScore = 0
    /// The highest stream that was judged.
    private var highestStreamID: Int32 = 0
    /// What our GOAWAY named: streams above it are not judged any more.
    private var lastStreamID = Int32.max

    init(
        id: UInt64,
        wire: ServerConnection,
        door: Door,
        refusesTLS: Bool,
        streamLimit: UInt32
    ) {
        self.id = id
        self.wire = wire
        self.door = door
        self.refusesTLS = refusesTLS
        self.streamLimit = streamLimit
        facts = ConnectionFacts(environment: door.environment, isForChannels: door.isForChannels)
        interest = wire.interest
    }

    /// A GOAWAY went out.
    var hasSaidGoodbye: Bool { lastStreamID != .max }

    /// Asked before a request is judged; false when our GOAWAY has left it out.
    func mayJudge(_ streamID: Int32) -> Bool {
        guard streamID <= lastStreamID, !isMute, ending == nil else { return false }
        highestStreamID = max(highestStreamID, streamID)
        return true
    }

    /// Reports a stream limit, if it is a new one.
    func limitStreams(_ limit: UInt32) {
        guard limit != streamLimit else { return }
        streamLimit = limit
        wire.submitSettings([.maxConcurrentStreams(limit)])
    }

    func carryOut(_ effect: Effect, _ streamID: Int32, _ timing: RequestTiming? = nil) {
        switch effect {
        case .respond(let headers, let body):
            let isAnswered = wire.respond(streamID, headers, body: body)
            if isAnswered, let timing { answered.append(timing) }
        case .reset(let errorCode): wire.reset(streamID, errorCode: errorCode)
        case .connection(let fault): suffer(fault, streamID)
        case .nothing: break
        }
    }

    /// A fault because of one stream, or without a stream.
    func suffer(_ fault: ConnectionFault, _ streamID: Int32? = nil) {
        switch fault {
        case .goAway(let goAway): send(goAway, streamID)
        case .close: ending = .abort
        case .stall: isMute = true
        case .halfClose: ending = .halfClose
        case .garbage:
            // A length of 16 MiB - 1, a type that nobody has defined, on a stream of the server's.
            wire.sendRaw([0xFF, 0xFF, 0xFF, 0xEE, 0xFF, 0, 0, 0, 2] + Array("garbage".utf8))
        case .endlessHeaders:
            let id = streamID ?? 1
            let stream = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: id >> $0) }
            // HEADERS with `:status: 200`, and CONTINUATION without END_HEADERS (RFC 9113, 6.10).
            wire.sendRaw([0, 0, 1, 1, 0] + stream + [0x88])
            for _ in 0..<100 { wire.sendRaw([0, 0, 0, 9, 0] + stream) }
        }
    }

    /// Sends what the turn has gathered, unless the connection is past that.
    ///
    /// - Returns: the requests whose answers have left; none without a timing log.
    func flush() -> [RequestTiming] {
        let mayTell = ending != .abort && !isMute
        defer { answered = [] }
        switch ending {
        case .abort: wire.abort()
        case .halfClose:
            if !isMute { wire.flush() }
            isMute = true
            wire.endSending()
        case nil:
            if !isMute { wire.flush() }
        }
        ending = nil
        return mayTell && !wire.isClosed ? answered : []
    }

    private func send(_ goAway: GoAway, _ streamID: Int32?) {
        switch goAway.reach {
        case .leavingOut where streamID != nil: leaveOut(streamID ?? 0, goAway.debugData)
        case .leavingOut, .graceful: endGracefully(debugData: goAway.debugData)
        case .nothing:
            lastStreamID = 0
            wire.sendGoAway(lastStreamID: 0, debugData: goAway.debugData)
        }
    }

    /// GOAWAY that names the last stream judged, whose answers still come.
    func endGracefully(errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8]) {
        lastStreamID = min(lastStreamID, highestStreamID)
        wire.sendGoAway(lastStreamID: lastStreamID, errorCode: errorCode, debugData: debugData)
    }

    /// What APNs does about a certificate of the other environment: two GOAWAYs, then the end.
    func refuseCertificate(_ reason: APNsReason) {
        send(GoAway(.nothing, reason), nil)
        send(GoAway(.nothing), nil)
    }

    /// GOAWAY without the stream, but never without one that was judged.
    ///
    /// APNs would not say that it left out what it has accepted.
    private func leaveOut(_ streamID: Int32, _ debugData: [UInt8]) {
        if streamID < highestStreamID {
            wire.reset(streamID, errorCode: .refusedStream)
            lastStreamID = min(lastStreamID, highestStreamID)
        } else {
            lastStreamID = max(0, streamID - 2)
        }
        wire.sendGoAway(lastStreamID: lastStreamID, debugData: debugData)
    }
}
