import HTTP2IO
import Synchronization
import Vocabulary

/// The simulator's shell: sockets on one side, the judge on the other, one thread around both.
final class SimulatorLoop {
    private let loop: EventLoop
    private let door: Doors
    private let shared: SimulatorShared
    private let configuration: SimulatorConfiguration
    private let tls: TLSContext
    private let wireConfiguration: ServerConfiguration
    private var judge: RequestJudge
    private var writer = AnswerWriter(seed: UInt64.random(in: .min ... .max))
    private var log: RequestLog?
    private var connections: [UInt64: SimulatedConnection] = [:]
    /// Those that have something to send this turn.
    private var touched: [SimulatedConnection] = []
    private var delayed = DelayedAnswers()
    private var delayedCount: UInt64 = 0
    private var nextID: UInt64 = 16
    private var statistics = SimulatorStatistics()
    private var recentIDs: RecentIDs
    private var events: [ServerEvent] = []

    init(
        configuration: SimulatorConfiguration,
        tls: TLSContext,
        judge: RequestJudge,
        doors: consuming Doors,
        shared: SimulatorShared
    ) throws(SystemError) {
        loop = try EventLoop()
        self.configuration = configuration
        self.tls = tls
        self.judge = judge
        self.shared = shared
        log = configuration.requestLog.map(RequestLog.init(fileDescriptor:))
        recentIDs = RecentIDs(capacity: max(1, configuration.rememberedIDCount))
        var wire = ServerConfiguration()
        wire.settings = [
            .headerTableSize(4096), .maxConcurrentStreams(configuration.unprovenStreamLimit),
            .initialWindowSize(65535), .maxFrameSize(16384), .maxHeaderListSize(8000),
        ]
        wire.maxRequestHeaderByteCount = 8000
        wireConfiguration = wire
        door = doors
        try loop.register(shared.wakeup.fileDescriptor, id: Doors.wakeupID, interest: .read)
        try door.register(in: loop)
    }

    /// Serves until `stop` is asked for.
    func run() {
        while !shared.isStopping.load(ordering: .acquiring) {
            do throws(SystemError) {
                try loop.wait(until: delayed.nextDue) { id, readiness in
                    ready(id, readiness)
                }
            } catch {
                break
            }
            carryOutDelayed()
            finishTurn()
        }
        for connection in connections.values { connection.wire.close() }
        statistics.openConnections = 0
        shared.publish(statistics)
        log?.flush()
    }

    // MARK: Sockets

    private func ready(_ id: UInt64, _ readiness: Readiness) {
        if id == Doors.wakeupID { return shared.wakeup.drain() }
        if let environment = Doors.environment(of: id) { return acceptAll(environment) }
        guard let connection = connections[id] else { return }
        connection.wire.readinessChanged(readiness)
        touch(connection)
        takeEvents(of: connection)
    }

    private func acceptAll(_ environment: APNsEnvironment) {
        // An error like EMFILE leaves the connection waiting; it is told again next turn.
        while let accepted = door.accept(environment) {
            statistics.connections += 1
            guard connections.count < configuration.maxConnections else { continue }
            do throws(ConnectionFailure) {
                let wire = try ServerConnection(
                    accepted,
                    tls: tls,
                    configuration: wireConfiguration
                )
                let connection = SimulatedConnection(
                    id: nextID,
                    wire: wire,
                    environment: environment
                )
                nextID += 1
                guard register(connection) else { continue }
                connections[connection.id] = connection
            } catch {
                continue
            }
        }
        statistics.openConnections = connections.count
    }

    private func register(_ connection: SimulatedConnection) -> Bool {
        do throws(SystemError) {
            try loop.register(
                connection.wire.fileDescriptor,
                id: connection.id,
                interest: connection.interest
            )
            return true
        } catch {
            return false
        }
    }

    private func touch(_ connection: SimulatedConnection) {
        if connection.isTouched { return }
        connection.isTouched = true
        touched.append(connection)
    }

    /// Numbers first, then bytes: who has an answer finds it counted.
    private func finishTurn() {
        shared.publish(statistics)
        log?.flush()
        for connection in touched {
            connection.isTouched = false
            connection.wire.flush()
            takeEvents(of: connection)
            guard connections[connection.id] != nil else { continue }
            if connection.wire.isClosed {
                drop(connection)
            } else if connection.wire.interest != connection.interest {
                connection.interest = connection.wire.interest
                try? loop.modify(
                    connection.wire.fileDescriptor,
                    id: connection.id,
                    interest: connection.interest
                )
            }
        }
        touched.removeAll(keepingCapacity: true)
    }

    private func drop(_ connection: SimulatedConnection) {
        // The descriptor lives as long as the connection: it cannot be another one's yet.
        try? loop.deregister(connection.wire.fileDescriptor)
        connections[connection.id] = nil
        statistics.openConnections = connections.count
        shared.publish(statistics)
    }

    // MARK: Requests

    private func takeEvents(of connection: SimulatedConnection) {
        connection.wire.takeEvents(into: &events)
        if events.isEmpty { return }
        let now = SystemClock.wallClock
        let open = connection.wire.openStreamCount
        if open > statistics.maxOpenStreams { statistics.maxOpenStreams = open }
        var batch: [ServerEvent] = []
        swap(&batch, &events)
        for event in batch {
            switch event {
            case .opened:
                if let certificate = connection.wire.clientCertificateFacts {
                    connection.facts = ConnectionFacts(
                        environment: connection.facts.environment,
                        certificate: certificate
                    )
                    raiseStreamLimit(connection)
                }
            case .requestArrived(let streamID, let headers, let body):
                answer(connection, streamID, headers, body, now)
            case .streamClosed, .goAwayReceived, .pingReceived, .settingsAcknowledged, .closed:
                break
            }
        }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &events)
    }

    private func answer(
        _ connection: SimulatedConnection,
        _ streamID: Int32,
        _ headers: HeaderBlock,
        _ body: [UInt8],
        _ now: Timestamp
    ) {
        guard connection.mayJudge(streamID) else { return }
        let head = RequestHead(headers)
        let judgement = judge.judge(
            head,
            of: headers,
            bodyByteCount: body.count,
            connection: &connection.facts,
            now: now
        )
        statistics.count(judgement.answer)
        let idBytes = head[.apnsID].map { headers.bytes[$0] }
        if judgement.answer == .accepted, let idBytes, let id = APNsID(utf8: idBytes),
            !recentIDs.insert(id)
        {
            statistics.duplicates += 1
        }
        log?.append(
            head,
            headers.bytes,
            body,
            judgement.answer,
            connection.facts.environment,
            now: now
        )
        if judgement.provesConnection { raiseStreamLimit(connection) }
        let effect = effect(of: judgement.answer, connection, idBytes)
        guard judgement.delay > .zero else { return connection.carryOut(effect, streamID) }
        delayedCount += 1
        delayed.insert(
            DelayedAnswer(
                due: SystemClock.now + judgement.delay,
                number: delayedCount,
                connection: connection.id,
                streamID: streamID,
                effect: effect
            )
        )
    }

    private func raiseStreamLimit(_ connection: SimulatedConnection) {
        connection.wire.submitSettings([.maxConcurrentStreams(configuration.provenStreamLimit)])
        touch(connection)
    }

    private func effect(
        of answer: Answer,
        _ connection: SimulatedConnection,
        _ apnsID: ArraySlice<UInt8>?
    ) -> Effect {
        func respond(_ status: Int, _ refusal: Refusal? = nil, body: [UInt8] = []) -> Effect {
            let environment = connection.facts.environment
            let headers = writer.write(
                status: status,
                refusal: refusal,
                apnsID: refusal?.reason == .badMessageID ? nil : apnsID,
                environment: environment
            )
            return .respond(headers, body: body)
        }
        switch answer {
        case .accepted: return respond(200)
        case .refused(let refusal): return respond(refusal.status, refusal, body: refusal.body)
        case .html(let status): return respond(status, body: AnswerWriter.html)
        case .bare(let status): return respond(status)
        case .reset: return .reset(.internalError)
        case .refusedStream: return .reset(.refusedStream)
        case .goAway(let reason):
            let debugData = reason.map { Refusal(0, $0).body } ?? []
            return .goAway(debugData: debugData)
        case .silence: return .nothing
        case .close: return .close
        }
    }

    private func carryOutDelayed() {
        guard delayed.nextDue != nil else { return }
        let now = SystemClock.now
        while let answer = delayed.popDue(now) {
            guard let connection = connections[answer.connection] else { continue }
            connection.carryOut(answer.effect, answer.streamID)
            touch(connection)
        }
    }
}
