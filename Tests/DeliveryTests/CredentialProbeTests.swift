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
        /// The event is over, and the credential as it was.
        case forbidden
    }

    @Test(arguments: [
        (end: End.broken, seconds: 0), (.overdue, 30), (.tokenExpired, 0), (.forbidden, 0),
    ])
    private func `a probe that ends without a word on the credential is followed by another`(
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
        try bench.arrive("3")
        sent += bench.turn()
        #expect(sent.count == 1, "one at a time")
        bench.answer(try #require(sent.first))
        bench.turn()
        #expect(bench.engine.parking(of: 0).isWorking)
    }

    @Test(arguments: [
        // Whoever asks for a certificate where none is configured is not APNs.
        (hasCertificate: true, isParked: true), (false, false),
    ])
    func `a certificate that the handshake refuses parks its credential, not the endpoint`(
        hasCertificate: Bool,
        isParked: Bool
    ) throws {
        var bench = try BulkheadBench { $0.credentials[0].isProvenByHandshake = hasCertificate }
        // The first one served; the others are made for what waits.
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
        let parking = bench.engine.parking(of: 0)
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
}

extension BulkheadBench {
    /// The youngest connection of a route.
    fileprivate func connection(to route: Route) -> ConnectionID? {
        routes.filter { $0.value == route }.keys.max()
    }
}
