import HTTP2IO
import HTTP2Peer
import SystemIO
import Vocabulary

/// The effect of an answer on its stream or connection.
enum Effect {
    case respond(HeaderBlock, body: [UInt8])
    case reset(HTTP2ErrorCode)
    case connection(ConnectionFault)
    case nothing
}

/// One client's connection, as kept by the simulator's loop.
final class SimulatedConnection {
    let id: UInt64
    let door: Door
    let wire: ServerConnection
    var facts: ConnectionFacts
    /// The events for which the loop watches the descriptor.
    var interest: Interest
    /// When the last request arrived, or HTTP/2 started; nil before.
    var lastUsed: Instant?
    /// Whether it has something to send in this turn.
    var isTouched = false
    /// Whether it was accepted while TLS is refused.
    let refusesTLS: Bool
    /// How the connection ends after this turn, so that the peer finds the fault already counted.
    private enum Ending {
        case abort, halfClose
    }

    private var ending: Ending?
    /// The requests whose answers leave at the end of this turn; empty without a timing log.
    private var answered: [RequestTiming] = []
    /// Whether it sends nothing more; what it reads then has no effect.
    private(set) var isMute = false
    /// The MAX_CONCURRENT_STREAMS announced last.
    private(set) var streamLimit: UInt32
    /// Its error score; see `ErrorThrottle`.
    var errorScore = 0
    /// The highest stream that was judged.
    private var highestStreamID: Int32 = 0
    /// The last stream of our GOAWAY; higher streams are no longer judged.
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

    /// Whether a GOAWAY was sent.
    var hasSaidGoodbye: Bool { lastStreamID != .max }

    /// Whether a request may be judged; false if our GOAWAY excluded its stream.
    func mayJudge(_ streamID: Int32) -> Bool {
        guard streamID <= lastStreamID, !isMute, ending == nil else { return false }
        highestStreamID = max(highestStreamID, streamID)
        return true
    }

    /// Announces a stream limit, if it has changed.
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

    /// Applies a fault, caused by one stream or by none.
    func suffer(_ fault: ConnectionFault, _ streamID: Int32? = nil) {
        switch fault {
        case .goAway(let goAway): send(goAway, streamID)
        case .close: ending = .abort
        case .stall: isMute = true
        case .halfClose: ending = .halfClose
        case .garbage:
            // A length of 16 MiB - 1 and an undefined type, on a stream of the server's.
            wire.sendRaw([0xFF, 0xFF, 0xFF, 0xEE, 0xFF, 0, 0, 0, 2] + Array("garbage".utf8))
        case .endlessHeaders:
            let id = streamID ?? 1
            let stream = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: id >> $0) }
            // HEADERS with `:status: 200`, and CONTINUATION without END_HEADERS (RFC 9113, 6.10).
            wire.sendRaw([0, 0, 1, 1, 0] + stream + [0x88])
            for _ in 0..<100 { wire.sendRaw([0, 0, 0, 9, 0] + stream) }
        }
    }

    /// Sends what this turn has collected, unless the connection has ended.
    ///
    /// - Returns: The requests whose answers were sent; empty without a timing log.
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

    /// Sends a GOAWAY with the last judged stream, so that its answer can still follow.
    func endGracefully(errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8]) {
        lastStreamID = min(lastStreamID, highestStreamID)
        wire.sendGoAway(lastStreamID: lastStreamID, errorCode: errorCode, debugData: debugData)
    }

    /// Does what APNs does for a certificate of the other environment: two GOAWAYs, then the end.
    func refuseCertificate(_ reason: APNsReason) {
        send(GoAway(.nothing, reason), nil)
        send(GoAway(.nothing), nil)
    }

    /// Sends a GOAWAY that excludes the stream, but no stream that was already judged.
    ///
    /// APNs would not exclude a request that it has accepted.
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
