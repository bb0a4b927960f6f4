import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

@Suite struct CredentialProbeTests {
    private enum End {
        case broken
        case overdue
        /// The provider token was too old, so a new one is tried.
        case tokenExpired
        /// The event has ended, and the credential is unchanged.
        case forbidden
    }

    @Test(arguments: [
        (end: End.broken, seconds: 0), (.overdue, 30), (.tokenExpired, 2), (.forbidden, 0),
    ])
    private func `a probe that says nothing about the credential is followed by another`(
        end: End,
        seconds: Int
    ) throws {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 403, .invalidProviderToken)
        bench.turn()
        bench.turn(after: .seconds(61))
        let connection = try #require(
            bench.routes.filter { $0.value == BulkheadBench.news }.keys.max()
        )
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        try bench.arrive("2")
        #expect(bench.turn() == ["2"])
        switch end {
        case .broken: bench.breakStream("2", .lost)
        case .overdue: break
        case .tokenExpired: bench.answer("2", 403, .expiredProviderToken)
        case .forbidden: bench.answer("2", 403, .forbidden)
        }
        var sent = bench.turn(after: .seconds(seconds))
        if end == .tokenExpired, let next = bench.lastTurn.connection {
            bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
            sent += bench.turn()
        }
        try bench.arrive("3")
        sent += bench.turn()
        #expect(sent.count == 1, "one at a time")
        bench.answer(try #require(sent.first))
        bench.turn()
        #expect(bench.engine.parking(of: BulkheadBench.news).isWorking)
    }

    @Test(arguments: [
        // A peer that requires a certificate where none is configured is not APNs.
        (hasCertificate: true, isParked: true), (false, false),
    ])
    func `a certificate refused in the handshake parks its credential, not the endpoint`(
        hasCertificate: Bool,
        isParked: Bool
    ) throws {
        var bench = try BulkheadBench { $0.credentials[0].isProvenByHandshake = hasCertificate }
        // The first connection is in use; the others are made for waiting events.
        for attempt in 1...4 {
            try bench.arrive("event \(attempt)")
            let connection = try #require(bench.connection(to: BulkheadBench.news))
            let isCondemned = bench.engine.connectionClosed(
                connection,
                .certificateRefused,
                now: bench.now
            )
            #expect(isCondemned == hasCertificate)
            bench.turn()
            guard !isParked else { break }
            bench.turn(after: .seconds(5))
        }
        let parking = bench.engine.parking(of: BulkheadBench.news)
        #expect(parking.reason == (isParked ? .local(.certificateRefused) : nil))
        #expect((parking.nextDeadline != nil) == isParked)
        #expect((bench.engine.breaker(of: BulkheadBench.news).phase == .closed) == isParked)
        guard isParked else { return }
        // A new certificate is tried at once.
        bench.engine.credentialReplaced(0, now: bench.now)
        bench.turn()
        let next = try #require(bench.connection(to: BulkheadBench.news))
        bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn() == ["event 1"])
    }

    @Test(
        arguments: [
            (200, nil, true), (400, .badDeviceToken, true), (410, .unregistered, true),
            (429, .tooManyRequests, true),
            // APNs may decide these before it checks the provider token.
            (400, .badPriority, false), (404, .badPath, false), (413, .payloadTooLarge, false),
            (500, .internalServerError, false), (503, .serviceUnavailable, false),
            (403, .forbidden, false), (400, .topicDisallowed, false),
            // Pages of a proxy.
            (404, nil, false), (403, nil, false), (410, nil, false), (502, nil, false),
        ] as [(Int, APNsReason?, Bool)]
    )
    func `one stream is open until APNs has accepted the provider token`(
        status: Int,
        reason: APNsReason?,
        isProof: Bool
    ) throws {
        var bench = try BulkheadBench()
        let first = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.goAwayReceived(first, reason: nil, now: bench.now)
        bench.turn()
        let second = try #require(bench.lastTurn.connection)
        bench.engine.connectionClosed(first, now: bench.now)
        bench.engine.connectionOpened(second, maxConcurrentStreams: 100, now: bench.now)
        for name in ["1", "2", "3"] { try bench.arrive(name) }
        #expect(bench.turn() == ["1"])
        bench.answer("1", status, reason)
        #expect(bench.turn().count == (isProof ? 2 : 1))
    }

    @Test(
        arguments: [
            (503, .shutdown), (400, .idleTimeout), (403, .unrelatedKeyIdInToken), (301, nil),
            (421, nil),
        ] as [(Int, APNsReason?)]
    )
    func `an endpoint that ends every connection with its first answer opens the breaker`(
        status: Int,
        reason: APNsReason?
    ) throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        let first = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        bench.engine.goAwayReceived(first, reason: nil, now: bench.now)
        bench.engine.connectionClosed(first, now: bench.now)
        for number in 0..<200 { try bench.arrive("\(number)") }
        var connects = 0
        var hasOpened = false
        for _ in 0..<3000 {
            let sent = bench.turn(after: .milliseconds(100))
            for step in bench.lastTurn.connections {
                switch step {
                case .connect(let id, BulkheadBench.news):
                    connects += 1
                    bench.engine.connectionOpened(id, maxConcurrentStreams: 1, now: bench.now)
                case .drain(let id): bench.engine.connectionClosed(id, now: bench.now)
                case .ping(let id): bench.engine.pingAnswered(id, now: bench.now)
                default: break
                }
            }
            for name in sent { bench.answer(name, status, reason) }
            let phase = bench.engine.breaker(of: BulkheadBench.news).phase
            hasOpened = hasOpened || phase != .closed
        }
        #expect(hasOpened)
        // Waits of 1, 2, 4, ... 60, 60 seconds, each between half and all of it, until all events
        // are in the retry topic.
        #expect((3...16).contains(connects), "\(connects) connections in 300 s")
    }
}

extension BulkheadBench {
    /// The newest connection of a route.
    fileprivate func connection(to route: Route) -> ConnectionID? {
        routes.filter { $0.value == route }.keys.max()
    }
}
