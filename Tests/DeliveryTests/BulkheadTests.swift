import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

@Suite struct BulkheadTests {
    // MARK: Devices

    @Test func `a device gets one notification at a time, in order, and delays no other`() throws {
        var bench = try BulkheadBench()
        for name in ["1", "2", "3"] { try bench.arrive(name, token: "aa") }
        try bench.arrive("other app", token: "aa", app: "Mail")
        try bench.arrive("other device", token: "bb")
        #expect(Set(bench.turn()) == ["1", "other device", "other app"])
        bench.answer("1", 503)
        #expect(bench.turn() == [], "a retry keeps its place")
        #expect(bench.turn(after: .seconds(1)) == ["1"])
        bench.answer("1")
        #expect(bench.turn() == ["2"])
        bench.answer("2", 400, .badDeviceToken)
        #expect(bench.turn() == ["3"])
    }

    @Test func `after TooManyRequests only that device waits, as long as APNs asks`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", token: "aa")
        bench.turn()
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        try bench.arrive("2", token: "aa")
        try bench.arrive("other", token: "bb")
        #expect(bench.turn() == ["other"])
        #expect(bench.turn(after: .seconds(19)) == [])
        #expect(bench.turn(after: .seconds(2)) == ["1"])
        bench.answer("1")
        #expect(bench.turn() == ["2"])
    }

    @Test(arguments: [(canPostpone: true, waits: 0), (false, 1)])
    func `a device with a long wait is deferred to a retry topic, with all its events`(
        canPostpone: Bool,
        waits: Int
    ) throws {
        var bench = try BulkheadBench { $0.later = RetryTiers(canPostpone ? [.seconds(60)] : []) }
        for name in ["1", "2", "3"] { try bench.arrive(name, token: "aa") }
        bench.turn()
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(600))
        bench.turn()
        #expect(bench.reasons["1"] == .apns(.tooManyRequests))
        #expect((bench.reasons["3"] == .apns(.tooManyRequests)) == canPostpone)
        // Without retry topics, the next attempt comes when a retry from memory would.
        #expect(bench.turn(after: .seconds(29)).isEmpty)
        #expect(bench.turn(after: .seconds(1)).count == waits)
    }

    @Test func `while a device waits, the newest event with a collapse_id replaces older ones`()
        throws
    {
        var bench = try BulkheadBench()
        func score(_ event: inout Event) { event.collapseID = CollapseID("score") }
        try bench.arrive("1", token: "aa", score)
        try bench.arrive("2", token: "aa", score)
        try bench.arrive("plain", token: "aa")
        bench.turn()
        #expect(bench.outcomes["1"] == nil, "in flight, and nothing waits yet")
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        try bench.arrive("3", token: "aa", score)
        #expect(bench.turn() == [])
        for name in ["1", "2"] {
            #expect(bench.outcomes[name]?.kind == .expired)
            #expect(bench.reasons[name] == .local(.superseded))
        }
        #expect(bench.engine.counts.superseded == 2)
        #expect(bench.turn(after: .seconds(19)) == [], "the wait is the device's, not the event's")
        #expect(bench.turn(after: .seconds(2)) == ["plain"])
        bench.answer("plain")
        #expect(bench.turn() == ["3"])
    }

    @Test func `an event takes the place in its route's queue of the one that it replaces`()
        throws
    {
        var bench = try BulkheadBench(streams: 1)
        func score(_ event: inout Event) { event.collapseID = CollapseID("score") }
        try bench.arrive("1", token: "aa", score)
        bench.turn()
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        try bench.arrive("busy")
        #expect(bench.turn() == ["busy"])
        #expect(bench.turn(after: .seconds(21)) == [], "it is due, and no stream is free")
        try bench.arrive("later")
        try bench.arrive("2", token: "aa", score)
        bench.answer("busy")
        #expect(bench.turn() == ["2"])
        #expect(bench.reasons["1"] == .local(.superseded))
        bench.answer("2")
        #expect(bench.turn() == ["later"])
        bench.answer("later")
        bench.turn()
        #expect(bench.engine.counts.attempts == 6, "two proofs, and four of these")
        #expect(bench.engine.inFlightEvents == 0)
    }

    // MARK: Endpoints

    @Test func `an endpoint that allows no stream counts as unreachable`() throws {
        var bench = try BulkheadBench { $0.breaker = CircuitBreaker.Limits(connectFailures: 1) }
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.streamLimitChanged(connection, to: 0, now: bench.now)
        try bench.arrive("1")
        #expect(bench.turn() == [])
        bench.turn(after: .seconds(20))
        #expect(bench.lastTurn.connections.contains(.drainStalled(connection)))
        bench.engine.connectionClosed(connection, now: bench.now)
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase == .open(until: nil))
    }

    @Test func `an endpoint that always fails opens the breaker, is probed, and is used again`()
        throws
    {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 3, openFor: .seconds(5), probes: 1)
        }
        for name in ["1", "2", "3"] { try bench.arrive(name) }
        bench.turn()
        for name in ["1", "2", "3"] { bench.answer(name, 503) }
        try bench.arrive("4")
        try bench.arrive("mail", app: "Mail")
        // The wait is between half of it and all of it.
        #expect(bench.turn(after: .milliseconds(2_499)) == ["mail"])
        let probes = bench.turn(after: .milliseconds(2_501))
        #expect(probes.count == 1)
        #expect(bench.turn() == [], "one probe is in flight")
        for name in probes { bench.answer(name) }
        #expect(bench.turn().count == 3)
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase == .closed)
    }

    @Test(arguments: [400, 403, 404, 407, 410, 413, 429])
    func `a proxy's HTML pages open the breaker and lose nothing`(status: Int) throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 3, openFor: .seconds(5), probes: 1)
            $0.later = RetryTiers([.seconds(60)])
        }
        let names = ["1", "2", "3", "4"]
        for name in names { try bench.arrive(name) }
        bench.turn()
        for name in names { bench.answer(name, status) }
        #expect(bench.turn() == [])
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase != .closed)
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
        for _ in 0..<60 {
            let probes = bench.turn(after: .milliseconds(500))
            #expect(probes.count <= 1)
            for name in probes { bench.answer(name, status) }
        }
        for name in names {
            #expect(bench.outcomes[name] == nil)
            #expect(bench.deferrals[name] != nil, "\(name) goes to a retry topic")
        }
    }

    @Test func `one device that APNs always fails does not open the breaker`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 2, openFor: .seconds(5))
        }
        var failures = 0
        for round in 0..<200 {
            if round.isMultiple(of: 40) { try bench.arrive("bad \(round)", token: "aa") }
            for name in bench.turn(after: .milliseconds(200)) {
                bench.answer(name, 500, .internalServerError)
                failures += 1
            }
        }
        #expect(failures >= 20, "nothing but failures, one after the other")
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase == .closed)
        try bench.arrive("good")
        #expect(bench.turn().contains("good"))
    }

    @Test func `an endpoint is probed with events that have not failed there yet`() throws {
        var bench = try BulkheadBench(sources: 2) {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 3, openFor: .seconds(5), probes: 3)
            $0.sourceWeights = [8, 1]
        }
        for name in ["1", "2", "3"] { try bench.arrive(name) }
        bench.turn()
        for name in ["1", "2", "3"] { bench.answer(name, 500, .internalServerError) }
        // The retries are first in the queue.
        bench.turn(after: .seconds(2))
        #expect(bench.engine.waitingCount(of: BulkheadBench.news) == 3)
        for name in ["4", "5"] { try bench.arrive(name) }
        try bench.arrive("6", source: 1)
        #expect(bench.turn(after: .seconds(3)) == ["4", "5", "6"])
        bench.answer("4")
        bench.answer("5")
        #expect(Set(bench.turn()) == ["1", "2", "3"], "most of the probes succeeded")
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase == .closed)
    }

    @Test func `if all waiting events have failed, an endpoint is probed with those`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(5))
        }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        #expect(bench.turn(after: .seconds(2)) == [])
        #expect(bench.turn(after: .seconds(3)) == ["1"])
    }

    /// Half of the events fail permanently: the other half must not wait for them.
    @Test(arguments: [0, 10, 30, 40])
    func `an endpoint that answers most requests is open for most of the time`(percent: Int) throws
    {
        var bench = try BulkheadBench(streams: 1_000)
        var dice = SeededGenerator(seed: UInt64(percent) + 1)
        var closed = 0
        for round in 0..<3_000 {
            for number in 0..<2 { try bench.arrive("\(round).\(number)") }
            for name in bench.turn(after: .milliseconds(100)) {
                let isBad = Int.random(in: 0..<100, using: &dice) < percent
                bench.answer(name, isBad ? 500 : 200, isBad ? .internalServerError : nil)
            }
            if bench.engine.breaker(of: BulkheadBench.news).phase == .closed { closed += 1 }
        }
        #expect(closed > 2_700, "of five minutes")
    }

    @Test(arguments: [(canPostpone: true, makesRoom: true), (false, false)])
    func `events for a closed endpoint make room if there are retry topics`(
        canPostpone: Bool,
        makesRoom: Bool
    ) throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers(canPostpone ? [.seconds(60)] : [])
        }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        try bench.arrive("2")
        bench.turn(after: .seconds(2))
        #expect(bench.outcomes["2"] == nil, "not at once: the endpoint may recover")
        bench.turn(after: .seconds(4))
        bench.turn(after: .seconds(1))
        #expect((bench.reasons["2"] == .local(.endpointUnavailable)) == makesRoom)
        #expect(bench.outcomes["2"]?.attempts ?? 0 == 0)
    }

    /// Only probes close a breaker; an endpoint with little traffic has few other events for that.
    @Test func `an event that waited for its time is not deferred before it is a probe`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(300)])
        }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        let start = bench.now.timestamp
        let history = RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 0),
                offset: Offset(7)
            ),
            timestamp: nil,
            receivedAt: start,
            attempts: 5,
            firstFailedAt: start,
            dueAt: start.advanced(seconds: 90),
            tier: 0,
            reason: "ServiceUnavailable"
        )
        try bench.arrive("early", history: history)
        for _ in 0..<89 { #expect(bench.turn(after: .seconds(1)) == []) }
        #expect(bench.reasons == ["1": .local(.endpointUnavailable)])
        #expect(bench.engine.breaker(of: BulkheadBench.news).isProbing)
        #expect(bench.turn(after: .seconds(1)) == ["early"])
    }

    @Test func `events of one device make room together`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
        }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        for number in 0..<20 { try bench.arrive("line \(number)", token: "aa") }
        for _ in 0..<6 { bench.turn(after: .seconds(1)) }
        #expect(bench.reasons["line 0"] == .local(.endpointUnavailable))
        #expect(bench.reasons["line 19"] == .local(.endpointUnavailable))
        #expect(bench.engine.inFlightEvents == 0)
    }

    @Test func `a closed endpoint takes no more than its share of the limit`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
            $0.intake.events = 80
        }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        for number in 2..<42 { try bench.arrive("\(number)") }
        bench.turn()
        bench.turn()
        #expect(bench.engine.inFlightEvents <= 80 / 8 + 1)
        #expect(bench.engine.counts.madeRoom == 30)
    }

    /// The breaker of a quiet endpoint stays half open until there is something to send.
    @Test func `a closed endpoint makes room beside one that only has nothing to probe with`()
        throws
    {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(300)])
            $0.intake.events = 80
        }
        try bench.arrive("quiet", app: "Mail")
        bench.turn()
        bench.answer("quiet", 500, .internalServerError)
        for _ in 0..<61 { bench.turn(after: .seconds(1)) }
        #expect(bench.engine.breaker(of: BulkheadBench.mail).isProbing)
        #expect(bench.engine.waitingCount(of: BulkheadBench.mail) == 0)
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 500, .internalServerError)
        for number in 2..<42 { try bench.arrive("\(number)") }
        for _ in 0..<2 { bench.turn() }
        #expect(bench.engine.inFlightEvents <= 80 / 8 + 1)
    }

    @Test func `if nothing else can be sent, events wait in memory`() throws {
        var bench = try BulkheadBench {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
            $0.intake.events = 80
        }
        for app in ["News", "Mail"] {
            try bench.arrive("1 \(app)", app: app)
            bench.turn()
            bench.answer("1 \(app)", 500, .internalServerError)
        }
        for number in 0..<40 { try bench.arrive("\(number)") }
        for _ in 0..<10 { bench.turn(after: .seconds(1)) }
        #expect(bench.engine.counts.madeRoom == 0)
        #expect(bench.engine.inFlightEvents == 42)
    }

    @Test func `a slow route that fills the limit makes room, a fast one does not`() throws {
        for isSlow in [true, false] {
            var bench = try BulkheadBench(streams: 1) {
                $0.later = RetryTiers([.seconds(60)])
                $0.intake.events = 80
                $0.pool.maxConnections = 1
            }
            for number in 0..<75 { try bench.arrive("\(number)") }
            var sent = bench.turn()
            for _ in 0..<8 {
                guard !isSlow else {
                    bench.turn(after: .seconds(1))
                    continue
                }
                for _ in 0..<20 {
                    for name in sent { bench.answer(name) }
                    sent = bench.turn(after: .milliseconds(50))
                }
            }
            #expect((bench.engine.counts.madeRoom > 0) == isSlow)
            #expect(bench.engine.waitingCount(of: BulkheadBench.news) <= 20)
        }
    }

    @Test func `an endpoint that accepts connections and answers nothing opens the breaker`() throws
    {
        var bench = try BulkheadBench {
            $0.later = RetryTiers([.seconds(60)])
        }
        // The other app's connection has answered; this one is gone, and each new one ends before
        // any answer.
        for number in 0..<4 { try bench.arrive("\(number)", token: "aa0\(number)") }
        for _ in 0..<20 {
            for connection in bench.engine.pool(of: BulkheadBench.news).connections {
                bench.engine.connectionOpened(
                    connection.id,
                    maxConcurrentStreams: 100,
                    now: bench.now
                )
                bench.engine.goAwayReceived(connection.id, reason: nil, now: bench.now)
                bench.engine.connectionClosed(connection.id, now: bench.now)
            }
            bench.turn(after: .seconds(1))
        }
        #expect(bench.engine.breaker(of: BulkheadBench.news).phase != .closed)
        #expect(bench.engine.counts.madeRoom == 4)
        try bench.arrive("mail", app: "Mail")
        #expect(bench.turn() == ["mail"])
    }

    @Test func `one device takes no more than its share of a full intake`() throws {
        for (events, expected) in [(76, 56), (60, 0)] {
            var bench = try BulkheadBench {
                $0.later = RetryTiers([.seconds(60)])
                $0.intake.events = 80
            }
            for number in 0..<events { try bench.arrive("\(number)", token: "aa") }
            for _ in 0..<4 { bench.turn(after: .seconds(1)) }
            #expect(bench.engine.counts.madeRoom == 0, "not before its time")
            for _ in 0..<4 { bench.turn(after: .seconds(1)) }
            #expect(bench.engine.counts.madeRoom == expected)
            #expect(bench.engine.inFlightEvents == events - expected)
            for number in (events - expected)..<events {
                #expect(bench.reasons["\(number)"] == .local(.deviceCongested), "the newest go")
            }
            // The others are sent in order.
            bench.answer("0")
            #expect(bench.turn() == ["1"])
        }
    }

    @Test func `many devices that fill the limit cause no deferral`() throws {
        var bench = try BulkheadBench(streams: 1) {
            $0.later = RetryTiers([.seconds(60)])
            $0.intake.events = 80
        }
        for number in 0..<78 { try bench.arrive("\(number)", token: "a\(number % 5)") }
        for _ in 0..<8 { bench.turn(after: .milliseconds(900)) }
        #expect(bench.engine.counts.madeRoom == 0)
    }

    // MARK: Credentials

    @Test(
        arguments: [
            (403, .invalidProviderToken), (403, .badCertificate),
            (429, .tooManyProviderTokenUpdates),
        ] as [(Int, APNsReason)]
    )
    func `a refused credential is parked, probed after a minute, and used again`(
        status: Int,
        reason: APNsReason
    ) throws {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", status, reason)
        try bench.arrive("2")
        try bench.arrive("mail", app: "Mail")
        #expect(bench.turn() == ["mail"])
        #expect(bench.engine.parking(of: BulkheadBench.news).reason == .apns(reason))
        #expect(bench.usableConnections(of: BulkheadBench.news) == 0)
        // Other events are sent, so events of the parked credential do not wait forever.
        for _ in 0..<6 { bench.turn(after: .seconds(1)) }
        #expect(bench.outcomes["2"]?.kind == .undeliverable)
        #expect(bench.reasons["2"] == .apns(reason))

        bench.turn(after: .seconds(54))
        try bench.arrive("3")
        try bench.arrive("4")
        bench.turn()
        let connection = try #require(
            bench.routes.filter { $0.value == BulkheadBench.news }.keys.max()
        )
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn() == ["3"], "one probe")
        bench.answer("3")
        #expect(bench.turn() == ["4"])
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
    }

    @Test func `a parked credential closes all its connections, and other credentials keep theirs`()
        throws
    {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 403, .invalidProviderToken)
        bench.turn()
        #expect(bench.lastTurn.connections.contains(.drain(connection)))
        #expect(bench.engine.pool(of: BulkheadBench.news).usableConnections == 0)
        bench.engine.connectionClosed(connection, now: bench.now)
        for _ in 0..<29 {
            bench.turn(after: .seconds(1))
            #expect(bench.engine.pool(of: BulkheadBench.news).connections.isEmpty)
        }
        #expect(bench.engine.parking(of: BulkheadBench.mail).isWorking)
        #expect(bench.engine.pool(of: BulkheadBench.mail).usableConnections > 0)
    }

    @Test(arguments: [
        (APNsReason.badEnvironmentKeyIdInToken, isForBoth: false),
        (.badCertificateEnvironment, false), (.invalidProviderToken, true),
    ])
    func `a refusal in one environment parks the other's route only if the key is revoked`(
        reason: APNsReason,
        isForBoth: Bool
    ) throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        let sandbox = Route(credential: 0, environment: .sandbox)
        try bench.arrive("sandbox") { $0.environment = .sandbox }
        bench.turn()
        let connection = try #require(bench.routes.first { $0.value == sandbox }?.key)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn() == ["sandbox"])
        bench.answer("sandbox", 403, reason)
        try bench.arrive("production")
        #expect(bench.turn() == (isForBoth ? [] : ["production"]))
        #expect(bench.engine.parking(of: sandbox).reason == .apns(reason))
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking != isForBoth)
        #expect(bench.engine.parking(of: BulkheadBench.mail).isWorking)
        // A probe in one environment decides for both.
        guard isForBoth else { return }
        bench.turn(after: .seconds(60))
        try bench.arrive("probe")
        bench.turn()
        let again = try #require(
            bench.routes.filter { $0.value == BulkheadBench.news }.keys.max()
        )
        bench.engine.connectionOpened(again, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn() == ["probe"])
        bench.answer("probe")
        #expect(bench.engine.parking(of: sandbox).isWorking)
    }

    @Test func `a key revoked through another credential closes its connections, too`() throws {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.keyRevoked(0, now: bench.now)
        bench.turn()
        #expect(bench.lastTurn.connections.contains(.drain(connection)))
        #expect(bench.engine.parking(of: BulkheadBench.news).reason == .apns(.invalidProviderToken))
        #expect(bench.engine.parking(of: BulkheadBench.mail).isWorking)
    }

    @Test func `a replaced credential drains its connections, and open requests finish`()
        throws
    {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        try bench.arrive("1")
        #expect(bench.turn() == ["1"])
        bench.engine.credentialReplaced(0, now: bench.now)
        try bench.arrive("2")
        #expect(bench.turn().isEmpty, "nothing new on a connection of the old key")
        let drained = bench.lastTurn.connections.filter {
            if case .drain = $0 { true } else { false }
        }
        #expect(drained == [.drain(connection)])
        let next = try #require(
            bench.routes.filter { $0.value == BulkheadBench.news && $0.key != connection }.keys
                .max()
        )
        bench.answer("1")
        bench.engine.connectionClosed(connection, now: bench.now)
        bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn() == ["2"])
        bench.answer("2")
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .accepted)
        #expect(bench.outcomes["2"]?.kind == .accepted)
    }

    @Test func `a new key reactivates a parked credential at once`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 403, .invalidProviderToken)
        bench.turn()
        bench.engine.credentialReplaced(0, now: bench.now)
        bench.turn()
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
        #expect(
            bench.lastTurn.connections.contains { if case .connect = $0 { true } else { false } }
        )
    }

    @Test(arguments: [(APNsReason.badCertificate, false), (.idleTimeout, true)])
    func `a GOAWAY that refuses the credential parks it, and another one does not`(
        reason: APNsReason,
        isWorking: Bool
    ) throws {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.goAwayReceived(connection, reason: .apns(reason), now: bench.now)
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking == isWorking)
        #expect(bench.engine.parking(of: BulkheadBench.mail).isWorking)
    }

    @Test(arguments: [true, false])
    func `a GOAWAY for an expired provider token replaces it once, then parks the credential`(
        freshTokenWorks: Bool
    ) throws {
        var bench = try BulkheadBench()
        /// APNs ends the connection of the last event sent.
        func sendAway(_ name: String) throws -> [TokenRefresh] {
            let connection = try #require(
                bench.routes.filter { $0.value == BulkheadBench.news }.keys.max()
            )
            let reason = Reason.apns(.expiredProviderToken)
            bench.engine.goAwayReceived(connection, reason: reason, now: bench.now)
            bench.breakStream(name, .unprocessed)
            bench.turn()
            let refreshes = bench.lastTurn.tokenRefreshes
            bench.engine.connectionClosed(connection, now: bench.now)
            return refreshes
        }
        /// The event gets a stream on a new connection.
        func send(_ name: String) throws {
            for _ in 0..<20 where bench.lastTurn.connection == nil {
                bench.turn(after: .milliseconds(100))
            }
            let connection = try #require(bench.lastTurn.connection)
            bench.engine.connectionOpened(connection, maxConcurrentStreams: 1, now: bench.now)
            #expect(bench.turn() == [name])
        }
        try bench.arrive("1")
        #expect(bench.turn() == ["1"])
        let sentAt = bench.now.instant
        #expect(try sendAway("1").map(\.sentAt) == [sentAt])
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
        try send("1")
        if freshTokenWorks {
            bench.answer("1")
            try bench.arrive("1")
            bench.turn()
        }
        #expect(try sendAway("1").count == (freshTokenWorks ? 1 : 0))
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking == freshTokenWorks)
        let reason = bench.engine.parking(of: BulkheadBench.news).reason
        #expect(reason == (freshTokenWorks ? nil : .apns(.expiredProviderToken)))
    }

    @Test func `after an expired provider token, a request is sent on a new connection`() throws {
        var bench = try BulkheadBench { $0.pool.minConnections = 2 }
        func connections() -> [ConnectionID] {
            bench.routes.filter { $0.value == BulkheadBench.news }.keys.sorted()
        }
        let old = connections()
        #expect(old.count == 2)
        // APNs refuses two requests, the second after its connection is no longer used.
        for name in ["1", "2"] { try bench.arrive(name) }
        bench.turn()
        bench.answer("1", 403, .expiredProviderToken)
        #expect(bench.turn() == [])
        for connection in old {
            #expect(bench.lastTurn.connections.contains(.drain(connection)))
        }
        for _ in 0..<20 where connections().count == 2 { bench.turn(after: .milliseconds(100)) }
        let new = try #require(connections().last)
        bench.engine.connectionOpened(new, maxConcurrentStreams: 1, now: bench.now)
        #expect(bench.turn() == ["1"])
        bench.answer("2", 403, .expiredProviderToken)
        bench.turn()
        #expect(!bench.lastTurn.connections.contains(.drain(new)))
        bench.answer("1")
        #expect(bench.turn() == ["2"])
    }

    @Test func `an event refused because of the old key is sent again with the new one`() throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        try bench.arrive("1")
        bench.turn()
        bench.turn(after: .seconds(1))
        bench.engine.credentialReplaced(0, now: bench.now)
        bench.answer("1", 403, .invalidProviderToken)
        bench.turn()
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
        #expect(bench.reasons["1"] == nil, "it waits for a connection of the new key")
        let connection = try #require(bench.lastTurn.connection)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 1, now: bench.now)
        #expect(bench.turn() == ["1"])
    }

    @Test func `a GOAWAY that refuses the previous credential leaves the current one`() throws {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.credentialReplaced(0, now: bench.now)
        let isCondemned = bench.engine.goAwayReceived(
            connection,
            reason: .apns(.badCertificate),
            now: bench.now
        )
        #expect(!isCondemned)
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
    }

    @Test(arguments: [(canPostpone: true, attempts: 1), (false, 2)])
    func `without retry budget an event is deferred, or waits like any other`(
        canPostpone: Bool,
        attempts: Int
    ) throws {
        var bench = try BulkheadBench {
            $0.retryBudget = RetryBudget.Limits(percent: 0, perSecond: 0, burst: 1)
            $0.later = RetryTiers(canPostpone ? [.seconds(60)] : [])
        }
        for name in ["1", "2"] { try bench.arrive(name) }
        bench.turn()
        for name in ["1", "2"] { bench.answer(name, 503, .serviceUnavailable) }
        bench.turn()
        #expect((bench.reasons["2"] == .apns(.serviceUnavailable)) == canPostpone)
        #expect(bench.turn(after: .seconds(1)) == ["1"])
        #expect(bench.turn(after: .seconds(10)) == (canPostpone ? [] : ["2"]))
        #expect(bench.engine.counts.retriesDenied == 1)
    }

    @Test(arguments: [(200, nil, 2), (400, .badDeviceToken, 1)] as [(Int, APNsReason?, Int)])
    func `only a delivery adds to the retry budget of its credential`(
        status: Int,
        reason: APNsReason?,
        retries: Int
    ) throws {
        var bench = try BulkheadBench {
            $0.retryBudget = RetryBudget.Limits(percent: 100, perSecond: 0, burst: 1)
            $0.later = RetryTiers([.seconds(60)])
        }
        for name in ["1", "2", "other"] { try bench.arrive(name) }
        bench.turn()
        // The first failure uses up the budget.
        bench.answer("1", 503, .serviceUnavailable)
        bench.answer("other", status, reason)
        bench.answer("2", 503, .serviceUnavailable)
        #expect(bench.engine.counts.retries == retries)
        #expect(bench.engine.counts.retriesDenied == 2 - retries)
    }

    @Test func `events of a parked credential are not due before the next probe`() throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(10), .seconds(60)]) }
        try bench.arrive("refused")
        bench.turn()
        bench.answer("refused", 403, .invalidProviderToken)
        try bench.arrive("waiting")
        // The other app's events are sent, so waiting events make room.
        for _ in 0..<7 { bench.turn(after: .seconds(1)) }
        #expect(bench.deferrals.mapValues(\.tier) == ["refused": 1, "waiting": 1])
    }

    // MARK: Push types

    @Test(arguments: [
        (PushType.voip, StreamBreak.lost, isSentAgain: false), (.pushtotalk, .lost, false),
        (.voip, .reset, false), (.alert, .lost, true), (.alert, .reset, true),
    ])
    func `an unknown result is not retried if a late duplicate would be wrong`(
        pushType: PushType,
        end: StreamBreak,
        isSentAgain: Bool
    ) throws {
        var bench = try BulkheadBench()
        try bench.arrive("1") { $0.pushType = pushType }
        bench.turn()
        for certain in [StreamBreak.unprocessed, .refused] {
            bench.breakStream("1", certain)
            let sent = bench.turn() + bench.turn(after: .milliseconds(200))
            #expect(sent == ["1"], "a request that was not processed is sent again")
        }
        bench.breakStream("1", end)
        #expect(bench.turn(after: .seconds(1)) == (isSentAgain ? ["1"] : []))
        #expect((bench.reasons["1"] == .local(.streamBroken)) == !isSentAgain)
    }

    // MARK: Apps

    @Test func `an app over its rate waits, and others are sent`() throws {
        var bench = try BulkheadBench {
            $0.rateLimits = [
                RateLimit(bundleIDs: "com.example.*", requestsPerSecond: 1_000, burst: 1_000),
                RateLimit(bundleIDs: "com.example.News", requestsPerSecond: 2, burst: 1),
            ]
        }
        // The bench's proof took the first token of the bucket.
        for name in ["1", "2", "3"] { try bench.arrive(name) }
        try bench.arrive("call") { $0.destination = .topic(APNsTopic("com.example.News")) }
        for number in 0..<9 { try bench.arrive("mail \(number)", app: "Mail") }
        #expect(bench.turn().count == 9)
        #expect(bench.engine.rateLimitedCount == 4)
        #expect(bench.engine.nextDeadline(now: bench.now.instant) != nil)
        #expect(bench.turn(after: .milliseconds(500)) == ["1"])
        #expect(bench.turn(after: .milliseconds(499)) == [])
        #expect(bench.turn(after: .milliseconds(1)) == ["2"])
        #expect(bench.turn(after: .seconds(1)) == ["3"])
        #expect(bench.turn(after: .milliseconds(500)) == ["call"])
    }
}
