import APNsRules
import APNsSimulator
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// Faults of whole connections, on the wire.
@Suite struct ConnectionFaultTests {
    private func simulator(
        _ scenario: String,
        change: (inout SimulatorConfiguration) -> Void = { _ in }
    ) throws -> RunningSimulator {
        var configuration = SimulatorConfiguration()
        configuration.scenario = try ScenarioFile.parse(Array(scenario.utf8))
        change(&configuration)
        return try APNsSimulator(configuration).start()
    }

    /// Starts another scenario, also for existing connections.
    private func replaceScenario(of simulator: RunningSimulator, by text: String) async throws {
        let next = try ScenarioFile.parse(Array(text.utf8))
        guard case .done = await simulator.ask(.replaceScenario(next)) else {
            Issue.record("not done")
            return
        }
    }

    private func closing(of client: TestClient) throws {
        try client.waitFor { if case .closed = $0 { true } else { false } }
    }

    private func goAways(of client: TestClient) -> [(lastStreamID: Int32, debugData: String)] {
        client.events.compactMap { event in
            guard case .goAwayReceived(let last, _, let data) = event else { return nil }
            return (last, String(decoding: data, as: UTF8.self))
        }
    }

    private func provider(_ environments: Set<APNsEnvironment>, days: Int64 = 30) -> TLSIdentity {
        EphemeralAuthority().providerIdentity(
            bundleID: "com.example.app",
            topics: ["com.example.app"],
            environments: environments,
            validFor: .seconds(days * 86400)
        )
    }

    // MARK: Certificates

    @Test func `a certificate of the other environment gets two GOAWAYs and the close`() throws {
        let simulator = try simulator("{}")
        let client = try TestClient(
            port: simulator.productionPort,
            of: simulator,
            identity: provider([.sandbox])
        )
        try closing(of: client)
        let goAways = goAways(of: client)
        #expect(goAways.map(\.lastStreamID) == [0, 0])
        #expect(goAways.map(\.debugData) == [#"{"reason":"BadCertificateEnvironment"}"#, ""])
        #expect(simulator.statistics.requests == 0)
    }

    @Test func `a revoked certificate ends the connection`() throws {
        let identity = provider([.production])
        let open = try simulator("{}")
        let before = try TestClient(port: open.productionPort, of: open, identity: identity)
        #expect(try before.exchange(Fixture.headers(nil)).status == 200)
        let digest = SHA256.hexadecimal(of: try der(identity.certificateChainPEM))
        let strict = try simulator(#"{"revoked_certificates":["\#(digest)"]}"#)
        let after = try TestClient(port: strict.productionPort, of: strict, identity: identity)
        try closing(of: after)
        #expect(strict.statistics.requests == 0)
    }

    /// The bytes of the only certificate in a PEM text.
    private func der(_ pem: [UInt8]) throws -> [UInt8] {
        let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n")
        let text = lines.filter { !$0.hasPrefix("-") }.joined()
        return try #require(Base64.standard.decode(text.utf8))
    }

    @Test func `an expired certificate ends the connection`() throws {
        let simulator = try simulator("{}")
        let client = try TestClient(
            port: simulator.productionPort,
            of: simulator,
            identity: provider([.production], days: -1)
        )
        try closing(of: client)
        #expect(goAways(of: client).isEmpty)
    }

    /// Environments, days of validity, and the reason of the 403.
    @Test(
        arguments: [
            ([.sandbox], 30, .badCertificateEnvironment), ([.production], -1, .badCertificate),
            ([.production], 30, nil), ([.production, .sandbox], 30, nil), ([], 30, nil),
        ] as [(Set<APNsEnvironment>, Int64, APNsReason?)]
    )
    func `a bad certificate can get an answer instead`(
        environments: Set<APNsEnvironment>,
        days: Int64,
        reason: APNsReason?
    ) throws {
        let simulator = try simulator(#"{"strictness":{"answer_bad_certificates":true}}"#)
        let client = try TestClient(
            port: simulator.productionPort,
            of: simulator,
            identity: provider(environments, days: days)
        )
        let response = try client.exchange(Fixture.headers(nil))
        #expect(response.status == (reason == nil ? 200 : 403))
        #expect(APNsErrorBody(parsing: response.body).reason == reason.map(Reason.apns))
    }

    // MARK: Limits

    @Test func `errors lower the stream limit, successes restore it`() throws {
        let simulator = try simulator(
            #"{"throttle":{"step":2},"rules":[{"prefix":"bad0","is":"badDeviceToken"}]}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        let good = Fixture.headers(authorization)
        let bad = Fixture.headers(authorization, changing: [(":path", "/3/device/bad0")])
        #expect(try client.exchange(good).status == 200)
        var limits: [Int] = []
        for fields in [bad, bad, good, good] {
            _ = try client.exchange(fields)
            limits.append(client.connection.maxConcurrentStreams)
        }
        #expect(limits == [500, 250, 500, 500])
    }

    @Test func `too many errors end the connection after their answers`() throws {
        let simulator = try simulator(#"{"throttle":{"close_at":3}}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let wrong = Fixture.headers(
            try simulator.authorization(),
            changing: [("apns-priority", "7")]
        )
        for _ in 0..<3 { #expect(try client.exchange(wrong).status == 400) }
        try client.waitFor { if case .goAwayReceived = $0 { true } else { false } }
        #expect(goAways(of: client).map(\.lastStreamID) == [5])
        #expect(simulator.statistics.throttledConnections == 1)
    }

    @Test func `a stream over the limit can end the connection`() throws {
        let simulator = try simulator(
            #"""
            {"settings":{"proven_streams":2},"throttle":{"step":1},
            "strictness":{"goaway_over_stream_limit":true}}
            """#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        #expect(try client.exchange(Fixture.headers(authorization)).status == 200)
        // The first error halves the limit while the second request is in flight.
        let wrong = Fixture.headers(authorization, changing: [("apns-priority", "7")])
        let first = try client.send(wrong)
        let second = try client.send(wrong)
        #expect(try client.response(to: first).status == 400)
        #expect(try client.failure(of: second) == .aboveGoAway)
        let text = "Maximum active streams violated for this endpoint."
        #expect(
            client.events.contains(
                .goAwayReceived(
                    lastStreamID: 3,
                    errorCode: .refusedStream,
                    debugData: Array(text.utf8)
                )
            )
        )
    }

    @Test func `an idle connection gets GOAWAY with the reason`() async throws {
        let simulator = try simulator("{}")
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        #expect(try client.exchange(Fixture.headers(try simulator.authorization())).status == 200)
        // Not before the answer, which may take longer than the idle time.
        try await replaceScenario(of: simulator, by: #"{"idle_timeout_ms":50}"#)
        try closing(of: client)
        let goAways = goAways(of: client)
        #expect(goAways.map(\.lastStreamID) == [1])
        #expect(goAways.map(\.debugData) == [#"{"reason":"IdleTimeout"}"#])
    }

    @Test func `a connection with a slow answer is not idle`() async throws {
        let simulator = try simulator(#"{"latency_ms":400}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let request = try client.send(Fixture.headers(try simulator.authorization()))
        // The first valid token raises the limit at once, which shows that the request arrived.
        try client.waitFor { if case .streamLimitChanged = $0 { true } else { false } }
        try await replaceScenario(of: simulator, by: #"{"idle_timeout_ms":50}"#)
        #expect(try client.response(to: request).status == 200)
        // It may be idle by now, but was not before the answer.
        let beforeAnswer = client.events.prefix {
            if case .responseArrived = $0 { false } else { true }
        }
        #expect(!beforeAnswer.contains { if case .goAwayReceived = $0 { true } else { false } })
    }

    @Test func `the configured window limits the streams`() throws {
        let simulator = try simulator(
            #"{"connections":[{"is":"limit streams","streams":1}]}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization())
        #expect(try client.exchange(fields).status == 200)
        #expect(client.connection.maxConcurrentStreams == 1)
    }

    @Test func `the first SETTINGS are those configured`() throws {
        let simulator = try simulator(
            #"{"settings":{"unproven_streams":3,"proven_streams":7}}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        try client.waitUntilOpen()
        #expect(client.connection.maxConcurrentStreams == 3)
        let fields = Fixture.headers(try simulator.authorization())
        #expect(try client.exchange(fields).status == 200)
        #expect(client.connection.maxConcurrentStreams == 7)
    }

    // MARK: Broken connections

    @Test func `TLS is refused with an alert`() throws {
        let simulator = try simulator(#"{"connections":[{"is":"refuse tls"}]}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let event = try client.waitFor { if case .closed = $0 { true } else { false } }
        guard case .closed(.tls(let error)) = event else {
            Issue.record("\(event)")
            return
        }
        #expect("\(error)".contains("handshake failure"))
    }

    @Test(arguments: ["half-close", "garbage", "endless-headers", "close"])
    func `a broken connection is noticed`(fault: String) throws {
        let simulator = try simulator(#"{"default":"\#(fault)"}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let tag = try client.send(Fixture.headers(try simulator.authorization()))
        _ = try client.failure(of: tag)
        try closing(of: client)
        #expect(simulator.statistics.faults == 1)
    }

    @Test func `a stalled connection answers nothing, and others continue`() throws {
        let simulator = try simulator(#"{"rules":[{"token":"bb","is":"stall"}]}"#)
        let stalled = try TestClient(port: simulator.productionPort, of: simulator)
        let fine = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        let fields = Fixture.headers(authorization)
        #expect(try stalled.exchange(fields).status == 200)
        _ = try stalled.send(
            Fixture.headers(authorization, changing: [(":path", "/3/device/bb")])
        )
        stalled.connection.flush()
        for _ in 0..<1000 where simulator.statistics.faults == 0 {
            #expect(try fine.exchange(fields).status == 200)
        }
        #expect(simulator.statistics.faults == 1)
        let requests = simulator.statistics.requests
        _ = try stalled.send(fields)
        stalled.connection.flush()
        #expect(try fine.exchange(fields).status == 200)
        #expect(simulator.statistics.requests == requests + 1)
        // Its close is still noticed.
        stalled.connection.close()
        for _ in 0..<1000 where simulator.statistics.openConnections == 2 {
            _ = try fine.exchange(fields)
        }
        #expect(simulator.statistics.openConnections == 1)
    }

    @Test func `a graceful GOAWAY answers the request that triggered it`() throws {
        let simulator = try simulator(#"{"default":"goaway graceful Shutdown"}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        #expect(try client.exchange(Fixture.headers(try simulator.authorization())).status == 200)
        try client.waitFor { if case .goAwayReceived = $0 { true } else { false } }
        let goAways = goAways(of: client)
        #expect(goAways.map(\.lastStreamID) == [1])
        #expect(goAways.map(\.debugData) == [#"{"reason":"Shutdown"}"#])
    }

    @Test func `a storm affects every new connection`() throws {
        let simulator = try simulator(#"{"connections":[{"is":"goaway nothing"}]}"#)
        for _ in 0..<3 {
            let client = try TestClient(port: simulator.productionPort, of: simulator)
            try closing(of: client)
            #expect(goAways(of: client).map(\.lastStreamID) == [0])
        }
        #expect(simulator.statistics.connections == 3)
    }

    // MARK: The control endpoint's commands

    @Test func `a fault from the control endpoint affects the connections of its environment`()
        async throws
    {
        let simulator = try simulator("{}")
        let production = try TestClient(port: simulator.productionPort, of: simulator)
        let sandbox = try TestClient(port: simulator.sandboxPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization())
        #expect(try production.exchange(fields).status == 200)
        #expect(try sandbox.exchange(fields).status == 200)
        let fault = try #require(ConnectionFault("goaway Shutdown"))
        guard case .count(1) = await simulator.ask(.fault(fault, .sandbox)) else {
            Issue.record("not one connection")
            return
        }
        try closing(of: sandbox)
        #expect(goAways(of: sandbox).map(\.lastStreamID) == [1])
        #expect(try production.exchange(fields).status == 200)
    }

    @Test func `a scenario from the control endpoint applies to existing connections`() async throws
    {
        let simulator = try simulator("{}")
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization())
        #expect(try client.exchange(fields).status == 200)
        try await replaceScenario(of: simulator, by: #"{"default":"500 json"}"#)
        #expect(try client.exchange(fields).status == 500)
        guard case .notRemembered = await simulator.ask(.device("aa")) else {
            Issue.record("devices are remembered without configuration")
            return
        }
        simulator.stop()
        guard case .stopped = await simulator.ask(.channels) else {
            Issue.record("not stopped")
            return
        }
    }
}
