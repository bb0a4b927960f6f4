import HTTP2IO
import HTTP2Peer
import Synchronization
import SystemIO
import Vocabulary

/// The simulator's outer part: the sockets, one thread, and the pure judge that it calls.
final class SimulatorLoop {
    private let loop: EventLoop
    private let doors: Doors
    let shared: SimulatorShared
    let configuration: SimulatorConfiguration
    private let tls: TLSContext
    var judge: RequestJudge
    var settings: WireSettings
    var writer: AnswerWriter
    var log: RequestLog?
    var timingLog: TimingLog?
    /// The time just before the last read from a socket.
    private(set) var readAt = SystemClock.now
    var connections: [UInt64: SimulatedConnection] = [:]
    /// The connections with something to send in this turn.
    private var touched: [SimulatedConnection] = []
    var delayed = DelayedAnswers()
    var delayedCount: UInt64 = 0
    /// When to look for idle connections next; nil: no time is set.
    var nextIdleLook: Instant?
    private var nextID: UInt64 = 16
    var statistics = SimulatorStatistics()
    var recentIDs: RecentIDs
    private var events: [ServerEvent] = []

    init(
        configuration: SimulatorConfiguration,
        tls: TLSContext,
        judge: RequestJudge,
        doors: Doors,
        shared: SimulatorShared
    ) throws(SystemError) {
        loop = try EventLoop()
        self.configuration = configuration
        self.tls = tls
        self.judge = judge
        self.shared = shared
        self.doors = doors
        settings = judge.scenario.settings ?? configuration.settings
        writer = AnswerWriter(seed: UInt64.random(in: .min ... .max), judge.strictness)
        log = configuration.requestLog.map(RequestLog.init(fileDescriptor:))
        timingLog = configuration.timingLog.map(TimingLog.init(fileDescriptor:))
        recentIDs = RecentIDs(capacity: max(1, configuration.rememberedIDCount))
        try loop.register(shared.wakeup.fileDescriptor, id: Doors.wakeupID, interest: .read)
        try doors.register(in: loop)
    }

    /// The simulator's clock, which may differ from the machine's.
    var now: Timestamp {
        let offset = judge.scenario.clockOffset.components
        let milliseconds = offset.seconds * 1000 + offset.attoseconds / 1_000_000_000_000_000
        return Timestamp(milliseconds: SystemClock.wallClock.milliseconds + milliseconds)
    }

    /// Serves until `stop` is requested.
    func run() {
        while !shared.isStopping.load(ordering: .acquiring) {
            do throws(SystemError) {
                try loop.wait(until: nextDue) { id, readiness in
                    ready(id, readiness)
                }
            } catch {
                break
            }
            carryOutDelayed()
            obeyCommands()
            endIdleConnections()
            finishTurn()
        }
        for connection in connections.values { connection.wire.close() }
        statistics.openConnections = 0
        shared.publish(statistics)
        shared.refuseCommands()
        log?.flush()
    }

    // MARK: Sockets

    private func ready(_ id: UInt64, _ readiness: Readiness) {
        if id == Doors.wakeupID { return shared.wakeup.drain() }
        if let door = Doors.door(of: id) { return acceptAll(door) }
        guard let connection = connections[id] else { return }
        if connection.refusesTLS {
            connection.wire.refuseHandshake()
        } else {
            readAt = SystemClock.now
            connection.wire.readinessChanged(readiness)
            takeEvents(of: connection)
        }
        touch(connection)
    }

    private func acceptAll(_ door: Door) {
        // On an error such as EMFILE, the connection keeps waiting and is reported again next turn.
        while let accepted = doors.accept(door) {
            statistics.connections += 1
            guard connections.count < configuration.maxConnections else { continue }
            do throws(ConnectionFailure) {
                let wire = try ServerConnection(
                    accepted,
                    tls: tls,
                    configuration: wireConfiguration
                )
                let now = now
                let elapsed = judge.elapsed(now)
                let connection = SimulatedConnection(
                    id: nextID,
                    wire: wire,
                    door: door,
                    refusesTLS: judge.scenario.connectionRules.contains {
                        $0.effect == .refuseTLS && $0.holds(elapsed, door.environment)
                    },
                    streamLimit: settings.unprovenStreams
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

    private var wireConfiguration: ServerConfiguration {
        var wire = ServerConfiguration()
        wire.settings = settings.first
        wire.maxRequestHeaderByteCount = Int(settings.maxHeaderListSize)
        wire.refusesExcessStreams = !judge.strictness.endsConnectionsOverLimit
        return wire
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

    func touch(_ connection: SimulatedConnection) {
        if connection.isTouched { return }
        connection.isTouched = true
        touched.append(connection)
    }

    /// Publishes the counts before the bytes, so that a client with an answer finds it counted.
    private func finishTurn() {
        shared.publish(statistics)
        log?.flush()
        for connection in touched {
            connection.isTouched = false
            let answered = connection.flush()
            if !answered.isEmpty {
                let sentAt = SystemClock.now
                for timing in answered { timingLog?.append(timing, sentAt: sentAt) }
            }
            takeEvents(of: connection)
            guard connections[connection.id] != nil else { continue }
            if connection.wire.isClosed {
                drop(connection)
            } else if !connection.isMute {
                watch(connection, connection.wire.interest)
            }
        }
        touched.removeAll(keepingCapacity: true)
        timingLog?.flush()
    }

    private func watch(_ connection: SimulatedConnection, _ interest: Interest) {
        guard connection.interest != interest else { return }
        connection.interest = interest
        try? loop.modify(connection.wire.fileDescriptor, id: connection.id, interest: interest)
    }

    private func drop(_ connection: SimulatedConnection) {
        // The descriptor is open as long as the connection, so it cannot belong to another one yet.
        try? loop.deregister(connection.wire.fileDescriptor)
        connections[connection.id] = nil
        statistics.openConnections = connections.count
        shared.publish(statistics)
    }

    // MARK: Events

    private func takeEvents(of connection: SimulatedConnection) {
        connection.wire.takeEvents(into: &events)
        if events.isEmpty { return }
        let now = now
        let open = connection.wire.openStreamCount
        if open > statistics.maxOpenStreams { statistics.maxOpenStreams = open }
        var batch: [ServerEvent] = []
        swap(&batch, &events)
        for event in batch {
            switch event {
            case .opened:
                connection.lastUsed = SystemClock.now
                opened(connection, now)
            case .requestArrived(let streamID, let headers, let body):
                connection.lastUsed = SystemClock.now
                answer(connection, streamID, headers, body, now)
            case .goAwayReceived: statistics.goAwaysReceived += 1
            case .pingReceived: statistics.pings += 1
            case .streamClosed, .settingsAcknowledged, .closed: break
            }
        }
        batch.removeAll(keepingCapacity: true)
        swap(&batch, &events)
    }
}
