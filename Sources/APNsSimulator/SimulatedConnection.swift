import HTTP2IO
import Vocabulary

/// What an answer does to its stream or connection.
enum Effect {
    case respond(HeaderBlock, body: [UInt8])
    case reset(HTTP2ErrorCode)
    case goAway(debugData: [UInt8])
    case close
    case nothing
}

/// One client's connection, as the simulator's loop keeps it.
final class SimulatedConnection {
    let id: UInt64
    let wire: ServerConnection
    var facts: ConnectionFacts
    /// What the loop watches the descriptor for.
    var interest: Interest
    /// It has something to send this turn.
    var isTouched = false
    /// The highest stream that was judged.
    private var highestStreamID: Int32 = 0
    /// What our GOAWAY named: streams above it are not judged any more.
    private var lastStreamID = Int32.max

    init(id: UInt64, wire: ServerConnection, environment: APNsEnvironment) {
        self.id = id
        self.wire = wire
        facts = ConnectionFacts(environment: environment)
        interest = wire.interest
    }

    /// Asked before a request is judged; false when our GOAWAY has left it out.
    func mayJudge(_ streamID: Int32) -> Bool {
        guard streamID <= lastStreamID else { return false }
        highestStreamID = max(highestStreamID, streamID)
        return true
    }

    func carryOut(_ effect: Effect, _ streamID: Int32) {
        switch effect {
        case .respond(let headers, let body): wire.respond(streamID, headers, body: body)
        case .reset(let errorCode): wire.reset(streamID, errorCode: errorCode)
        case .goAway(let debugData): leaveOut(streamID, debugData: debugData)
        case .close: wire.abort()
        case .nothing: break
        }
    }

    /// GOAWAY without the stream, but never without one that was judged.
    ///
    /// APNs would not say that it left out what it has accepted.
    private func leaveOut(_ streamID: Int32, debugData: [UInt8]) {
        if streamID < highestStreamID {
            wire.reset(streamID, errorCode: .refusedStream)
            lastStreamID = min(lastStreamID, highestStreamID)
        } else {
            lastStreamID = max(0, streamID - 2)
        }
        wire.sendGoAway(lastStreamID: lastStreamID, debugData: debugData)
    }
}
