import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// An engine with two credentials, `News` and `Mail`, each with a proven connection, and one
/// partition for each source.
///
/// Events are named by their ID. Outcomes are acknowledged in the turn that publishes them.
struct BulkheadBench {
    static let news = Route(credential: 0, environment: .production)
    static let mail = Route(credential: 1, environment: .production)

    var engine: DeliveryEngine
    let reader: ArrivalReader
    var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: 1_700_000_000_000)
    )
    /// The outcome of each event.
    private(set) var outcomes: [String: Outcome] = [:]
    /// The reason of each event that was deferred or ended.
    private(set) var reasons: [String: Reason] = [:]
    /// Events that were given up through no fault of their own.
    private(set) var givenUp: Set<String> = []
    /// How each event was deferred.
    private(set) var deferrals: [String: Deferral] = [:]
    /// The route of each requested connection.
    private(set) var routes: [ConnectionID: Route] = [:]
    /// Events with a stream.
    private var streams: [String: DeliveryID] = [:]
    private var nextOffset: [Int64]
    /// The decisions of the last turn.
    private(set) var lastTurn = TurnDecision()

    init(
        streams: Int = 100,
        sources: Int = 1,
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws {
        var settings = try EngineSettings(
            credentials: ["News", "Mail"].map { name in
                CredentialScope(
                    name: name,
                    bundleIDs: ["com.example.\(name)"],
                    defaultEnvironment: .production
                )
            },
            retry: RetryPolicy()
        )
        change(&settings)
        engine = DeliveryEngine(settings: settings, seed: 1)
        reader = ArrivalReader(settings)
        nextOffset = Array(repeating: 0, count: sources)
        let partitions = (0..<sources).map(PartitionID.init(index:))
        engine.partitionsAssigned(partitions) { $0.index }
        engine.storedOffsetsFetched(
            Dictionary(uniqueKeysWithValues: partitions.map { ($0, CommittedPosition?.none) }),
            now: now
        )
        turn()
        for connection in routes.keys.sorted() {
            engine.connectionOpened(connection, maxConcurrentStreams: streams, now: now)
        }
        // The first answer proves the credential, so that more streams can open.
        for app in ["News", "Mail"] {
            try arrive("proof of \(app)", app: app)
            turn()
            answer("proof of \(app)")
        }
        turn()
    }

    /// Ends the turn.
    ///
    /// - Parameter duration: the time since the last turn.
    /// - Returns: the events that were sent, in order.
    @discardableResult
    mutating func turn(after duration: Duration = .zero) -> [String] {
        now.instant = now.instant + duration
        now.timestamp.milliseconds += duration.milliseconds
        engine.turnEnded(now: now, into: &lastTurn)
        for case .connect(let id, let route) in lastTurn.connections { routes[id] = route }
        var sent: [String] = []
        for request in lastTurn.sends {
            let name = request.arrival.content.id.description
            streams[name] = request.delivery
            sent.append(name)
        }
        for record in lastTurn.publications {
            engine.published(record.tag)
            guard let name = record.arrival.event?.id.description else { continue }
            switch record.conclusion {
            case .ended(let ending):
                outcomes[name] = record.arrival.outcome(ending)
                reasons[name] = ending.reason
                if record.arrival.isGivenUp(ending) { givenUp.insert(name) }
            case .deferred(let deferral):
                deferrals[name] = deferral
                reasons[name] = deferral.reason
            }
        }
        return sent
    }

    mutating func arrive(
        _ name: String,
        token: String? = nil,
        app: String = "News",
        source: Int = 0,
        history: RetryHistory? = nil,
        _ change: (inout Event) -> Void = { _ in }
    ) throws {
        // Each event has its own device, unless the test says otherwise.
        let ownToken = String(nextOffset[source] * 10 + Int64(source) + 0x1000_0000, radix: 16)
        var event = Event(
            id: EventID(name),
            deviceToken: try #require(DeviceToken(token ?? ownToken)),
            destination: .bundleID("com.example.\(app)"),
            pushType: .alert,
            payload: 0..<2,
            apnsID: APNsID(high: UInt64(source), low: UInt64(nextOffset[source]))
        )
        change(&event)
        let record = Record(
            partition: PartitionID(index: source),
            offset: Offset(nextOffset[source]),
            timestamp: nil,
            key: nil,
            value: [0x7B, 0x7D]
        )
        nextOffset[source] += 1
        let isTaken = engine.recordArrived(
            record,
            .event(event),
            history: history,
            source: source,
            by: reader,
            now: now
        )
        #expect(isTaken)
    }

    mutating func answer(
        _ name: String,
        _ status: Int = 200,
        _ reason: APNsReason? = nil,
        retryAfter: Duration? = nil
    ) {
        guard let id = streams.removeValue(forKey: name) else {
            Issue.record("\(name) has no stream")
            return
        }
        var answer = APNsAnswer(
            status: status,
            reason: reason.map(Reason.apns),
            retryAfter: retryAfter
        )
        if answer.refusesTopic || status == 200 { answer.topic = engine.topic(of: id) }
        engine.responseArrived(answer, for: id, now: now)
    }

    mutating func breakStream(_ name: String, _ kind: StreamBreak) {
        guard let id = streams.removeValue(forKey: name) else {
            Issue.record("\(name) has no stream")
            return
        }
        engine.streamBroke(id, kind, now: now)
    }

    /// The connections of a route that have not been told to close.
    func usableConnections(of route: Route) -> Int { engine.pool(of: route).usableConnections }
}

extension TurnDecision {
    /// The first requested connection.
    var connection: ConnectionID? {
        for case .connect(let id, _) in connections { return id }
        return nil
    }
}
