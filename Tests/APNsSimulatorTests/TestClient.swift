import APNsRules
import APNsSimulator
import HTTP2IO
import SystemIO
import Testing
import Vocabulary

/// A client of the simulator on loopback, for one test.
final class TestClient {
    struct Silence: Error {
        var events: [ConnectionEvent]
    }

    let connection: ClientConnection
    private let loop: EventLoop
    private var interest: Interest
    private var nextTag: UInt64 = 1
    /// All events, in order.
    private(set) var events: [ConnectionEvent] = []

    init(port: UInt16?, of simulator: RunningSimulator, identity: TLSIdentity? = nil) throws {
        let tls = try TLSContext.client(
            trust: .pem(try #require(simulator.caPEM)),
            identity: identity
        )
        connection = try ClientConnection(
            to: .loopback(port: try #require(port)),
            serverName: "localhost",
            tls: tls
        )
        loop = try EventLoop()
        interest = connection.interest
        try loop.register(connection.fileDescriptor, id: 1, interest: interest)
    }

    /// Runs the loop until an event matches `isWanted`; returns at once if one already does.
    @discardableResult
    func waitFor(_ isWanted: (ConnectionEvent) -> Bool) throws -> ConnectionEvent {
        if let event = events.first(where: isWanted) { return event }
        // Only a broken simulator takes that long.
        let deadline = SystemClock.now + .seconds(60)
        while true {
            connection.flush()
            connection.takeEvents(into: &events)
            if let event = events.first(where: isWanted) { return event }
            guard SystemClock.now < deadline, !connection.isClosed else {
                throw Silence(events: events)
            }
            if connection.interest != interest {
                interest = connection.interest
                try loop.modify(connection.fileDescriptor, id: 1, interest: interest)
            }
            try loop.wait(until: deadline) { _, readiness in
                connection.readinessChanged(readiness)
            }
        }
    }

    func waitUntilOpen() throws {
        try waitFor { if case .opened = $0 { true } else { false } }
    }

    /// Sends a request without waiting for its answer.
    func send(_ fields: [(String, String)], body: [UInt8] = Array("{}".utf8)) throws -> UInt64 {
        try waitUntilOpen()
        let tag = nextTag
        nextTag += 1
        try connection.submit(Fixture.block(fields), body: body, tag: tag)
        return tag
    }

    /// The end of a request.
    func end(of tag: UInt64) throws -> Result<HTTP2Response, StreamFailure> {
        let event = try waitFor { event in
            switch event {
            case .responseArrived(let arrived, _): arrived == tag
            case .streamFailed(let failed, _): failed == tag
            default: false
            }
        }
        switch event {
        case .responseArrived(_, let response): return .success(response)
        case .streamFailed(_, let failure): return .failure(failure)
        default: throw Silence(events: events)
        }
    }

    func response(to tag: UInt64) throws -> HTTP2Response {
        try end(of: tag).get()
    }

    func failure(of tag: UInt64) throws -> StreamFailure {
        guard case .failure(let failure) = try end(of: tag) else { throw Silence(events: events) }
        return failure
    }

    /// Sends a request and waits for its answer.
    func exchange(
        _ fields: [(String, String)],
        body: [UInt8] = Array("{}".utf8)
    ) throws -> HTTP2Response {
        try response(to: send(fields, body: body))
    }
}

extension RunningSimulator {
    /// `bearer` and a provider token that the simulator accepts.
    func authorization() throws -> String {
        let key = try #require(signingKey)
        let identity = try #require(ProviderTokenIdentity(keyID: key.keyID, teamID: key.teamID))
        var schedule = ProviderTokenSchedule(identity)
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        let input = ProviderTokenText.signingInput(
            identity: identity,
            issuedAt: schedule.issueTime(now: now)
        )
        return try Fixture.sign(input, with: key.pem)
    }
}
