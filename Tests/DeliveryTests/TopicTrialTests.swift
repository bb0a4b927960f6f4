import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// Existing connections refuse a topic that is added to a key later.
@Suite struct TopicTrialTests {
    private static let reasons = [APNsReason.deviceTokenNotForTopic, .topicDisallowed]

    /// An engine whose connections have been open for this long.
    private func bench(
        after age: Duration = .seconds(600),
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws -> BulkheadBench {
        var bench = try BulkheadBench(change)
        bench.turn(after: age)
        return bench
    }

    /// Sends an event of a topic that has not been used yet.
    private func send(_ name: String, _ bench: inout BulkheadBench) throws {
        try bench.arrive(name) { $0.pushType = .complication }
        #expect(bench.turn() == [name])
    }

    /// Ends the old connections and opens a new one.
    ///
    /// - Returns: the events sent on it.
    private func renew(_ bench: inout BulkheadBench) throws -> [String] {
        let old = bench.routes.filter { $0.value == BulkheadBench.news }.keys
        bench.turn()
        for connection in old {
            #expect(
                bench.lastTurn.connections.contains(.drain(connection)) == (connection == old.max())
            )
        }
        let connection = try #require(bench.lastTurn.connection)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        return bench.turn()
    }

    @Test(arguments: reasons)
    func `a refusal counts once a new connection has repeated it`(reason: APNsReason) throws {
        var bench = try bench()
        try send("1", &bench)
        bench.answer("1", 400, reason)
        #expect(try renew(&bench) == ["1"])
        bench.answer("1", 400, reason)
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .rejected)
        #expect(bench.reasons["1"] == .apns(reason))
        // The connection is young.
        try send("2", &bench)
        bench.answer("2", 400, reason)
        bench.turn()
        #expect(bench.outcomes["2"]?.kind == .rejected)
    }

    @Test func `events refused on old connections are sent again once`() throws {
        var bench = try bench()
        for name in ["1", "2", "3"] { try send(name, &bench) }
        bench.answer("1", 400, .topicDisallowed)
        bench.answer("2", 400, .topicDisallowed)
        #expect(try renew(&bench) == ["1"], "one stream until it has succeeded")
        bench.answer("3", 400, .topicDisallowed)
        bench.answer("1")
        #expect(Set(bench.turn()) == ["2", "3"])
        for name in ["2", "3"] { bench.answer(name) }
        bench.turn()
        for name in ["1", "2", "3"] { #expect(bench.outcomes[name]?.kind == .accepted) }
    }

    @Test(arguments: reasons)
    func `a refusal counts at once if a new connection cannot help`(reason: APNsReason) throws {
        let benches = [
            try bench(after: .seconds(599)),
            try bench { $0.credentials[0].isProvenByHandshake = true },
        ]
        for var bench in benches {
            try send("1", &bench)
            bench.answer("1", 400, reason)
            bench.turn()
            #expect(bench.outcomes["1"]?.kind == .rejected)
        }
        var bench = try bench()
        try send("works", &bench)
        bench.answer("works")
        try send("1", &bench)
        bench.answer("1", 400, reason)
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .rejected)
        #expect(bench.lastTurn.connection == nil)
    }

    @Test func `a topic that worked with the old key is tried with the new one`() throws {
        var bench = try bench()
        try send("works", &bench)
        bench.answer("works")
        bench.engine.credentialReplaced(0, now: bench.now)
        bench.turn()
        settle(&bench)
        bench.turn(after: .seconds(600))
        try send("1", &bench)
        bench.answer("1", 400, .topicDisallowed)
        #expect(try renew(&bench) == ["1"])
    }

    /// A reason with a status other than its own is ignored.
    @Test(arguments: [403, 410, 503])
    func `a topic refusal with another status renews no connections`(status: Int) throws {
        var bench = try bench()
        try send("works", &bench)
        bench.answer("works")
        let connections = bench.routes.filter { $0.value == BulkheadBench.news }.count
        try bench.arrive("1")
        #expect(bench.turn() == ["1"])
        bench.answer("1", status, .topicDisallowed)
        bench.turn()
        // A parked credential closes its connections for its own reason.
        guard status != 403 else {
            return #expect(!bench.engine.parking(of: BulkheadBench.news).isWorking)
        }
        #expect(bench.routes.filter { $0.value == BulkheadBench.news }.count == connections)
        #expect(
            !bench.lastTurn.connections.contains { if case .drain = $0 { true } else { false } }
        )
    }

    @Test func `a topic that stays refused is tried with growing delays`() throws {
        var bench = try bench(after: .zero)
        var trials: [Duration] = []
        let start = bench.now.instant
        for number in 0..<(24 * 12) {
            let name = "\(number)"
            bench.turn(after: .seconds(300))
            settle(&bench)
            try send(name, &bench)
            bench.answer(name, 400, .topicDisallowed)
            bench.turn()
            guard bench.outcomes[name] == nil else { continue }
            trials.append(bench.now.instant - start)
            settle(&bench)
            #expect(bench.turn() == [name])
            bench.answer(name, 400, .topicDisallowed)
            bench.turn()
            #expect(bench.outcomes[name]?.kind == .rejected)
        }
        let waits = zip(trials.dropFirst(), trials).map { $0 - $1 }
        #expect(waits.prefix(5) == [900, 1800, 3600, 7200, 14400].map(Duration.seconds)[...])
        #expect(Set(waits.dropFirst(4)) == [.seconds(14400)])
    }

    /// The peers do what the last turn requests.
    private func settle(_ bench: inout BulkheadBench) {
        for step in bench.lastTurn.connections {
            switch step {
            case .connect(let id, _):
                bench.engine.connectionOpened(id, maxConcurrentStreams: 100, now: bench.now)
            case .ping(let id): bench.engine.pingAnswered(id, now: bench.now)
            case .drain(let id), .drainStalled(let id), .close(let id, _):
                bench.engine.connectionClosed(id, now: bench.now)
            }
        }
    }
}
