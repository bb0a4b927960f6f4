import APNsRules
import APNsSimulator
import Glibc
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct APNsSimulatorTests {
    private func simulator(_ scenario: String = "{}") throws -> RunningSimulator {
        var configuration = SimulatorConfiguration()
        configuration.scenario = try ScenarioFile.parse(Array(scenario.utf8))
        return try APNsSimulator(configuration).start()
    }

    @Test func `a good request gets 200, its own apns-id and no body`() throws {
        let simulator = try simulator()
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let response = try client.exchange(Fixture.headers(try simulator.authorization()))
        #expect(response.status == 200)
        #expect(response.text(of: "apns-id") == "123e4567-e89b-12d3-a456-4266554400a0")
        #expect(response.value(of: "apns-unique-id") == nil)
        #expect(response.body.isEmpty)
    }

    @Test func `a missing apns-id is generated in upper case, and the sandbox adds a unique ID`()
        throws
    {
        let simulator = try simulator()
        let client = try TestClient(port: simulator.sandboxPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization(), changing: [("apns-id", nil)])
        let first = try client.exchange(fields)
        let second = try client.exchange(fields)
        let id = try #require(first.text(of: "apns-id"))
        #expect(id == id.uppercased() && APNsID(id) != nil)
        #expect(second.text(of: "apns-id") != id)
        #expect(APNsID(try #require(first.text(of: "apns-unique-id"))) != nil)
    }

    @Test func `an error has its reason as JSON, and 410 its time in milliseconds`() throws {
        let simulator = try simulator(
            #"{"default":{"is":"unregistered","since":1700000000123}}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let response = try client.exchange(Fixture.headers(try simulator.authorization()))
        #expect(response.status == 410)
        #expect(response.text(of: "content-type") == "application/json")
        #expect(
            response.body == Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
        )
        let body = APNsErrorBody(parsing: response.body)
        #expect(body.reason == .apns(.unregistered))
        let time = Timestamp(milliseconds: 1_700_000_000_123)
        #expect(body.inactiveSince(now: time) == .at(time))
    }

    @Test func `one stream is allowed until the first valid token, then a thousand`() throws {
        let simulator = try simulator()
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        try client.waitUntilOpen()
        #expect(client.connection.maxConcurrentStreams == 1)
        let refused = try client.exchange(Fixture.headers(nil))
        #expect(refused.status == 403)
        #expect(client.connection.maxConcurrentStreams == 1)
        let response = try client.exchange(Fixture.headers(try simulator.authorization()))
        #expect(response.status == 200)
        #expect(client.connection.maxConcurrentStreams == 1000)
    }

    @Test func `a client certificate allows a thousand streams at once`() throws {
        let simulator = try simulator()
        let identity = EphemeralAuthority()
            .providerIdentity(bundleID: "com.example.app", topics: [])
        let client = try TestClient(
            port: simulator.productionPort,
            of: simulator,
            identity: identity
        )
        // Both SETTINGS may arrive together.
        try client.waitFor { event in
            event == .streamLimitChanged(1000) || event == .opened(maxConcurrentStreams: 1000)
        }
        #expect(try client.exchange(Fixture.headers(nil)).status == 200)
        let other = Fixture.headers(nil, changing: [("apns-topic", "com.example.other")])
        let response = try client.exchange(other)
        #expect(APNsErrorBody(parsing: response.body).reason == .apns(.topicDisallowed))
    }

    @Test func `each fault has the effect of its name`() throws {
        let simulator = try simulator(
            #"{"default":{"is":"flaky","steps":["503 html","500","reset","refused","ok"]}}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization())
        let html = try client.exchange(fields)
        #expect(html.status == 503 && html.body.starts(with: "<html>".utf8))
        #expect(APNsErrorBody(parsing: html.body).reason == nil)
        let bare = try client.exchange(fields)
        #expect(bare.status == 500 && bare.body.isEmpty)
        #expect(try client.failure(of: client.send(fields)) == .reset(.internalError))
        #expect(try client.failure(of: client.send(fields)) == .refused)
        #expect(try client.exchange(fields).status == 200)
        #expect(simulator.statistics.faults == 4)
    }

    @Test func `Retry-After is sent with 429`() throws {
        let simulator = try simulator(
            #"{"default":{"is":"rateLimited","requests":1,"retry_after":7}}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let fields = Fixture.headers(try simulator.authorization())
        let response = try client.exchange(fields)
        #expect(response.status == 429)
        #expect(response.text(of: "retry-after") == "7")
        #expect(try client.exchange(fields).status == 200)
    }

    @Test func `GOAWAY excludes its request and gives the reason`() throws {
        let simulator = try simulator(#"{"default":"goaway Shutdown"}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let tag = try client.send(Fixture.headers(try simulator.authorization()))
        #expect(try client.failure(of: tag) == .aboveGoAway)
        let debugData = Array(#"{"reason":"Shutdown"}"#.utf8)
        #expect(
            client.events.contains(
                .goAwayReceived(lastStreamID: 0, errorCode: .noError, debugData: debugData)
            )
        )
    }

    @Test(arguments: 0..<6)
    func `GOAWAY never excludes an accepted request`(place: Int) throws {
        let simulator = try simulator(#"{"rules":[{"token":"bb","is":"goaway"}]}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        #expect(try client.exchange(Fixture.headers(authorization)).status == 200)
        let tags = try (0..<6).map { number in
            let path = "/3/device/" + (number == place ? "bb" : "aa")
            let changes = [(":path", path), ("apns-id", nil)]
            return try client.send(Fixture.headers(authorization, changing: changes))
        }
        try client.waitFor { if case .goAwayReceived = $0 { true } else { false } }
        var accepted = 1
        for tag in tags {
            switch try client.end(of: tag) {
            case .success(let response): accepted += response.status == 200 ? 1 : 0
            case .failure(let failure): #expect(failure.isCertainlyUnprocessed)
            }
        }
        #expect(simulator.statistics.accepted == accepted)
    }

    @Test func `a closed connection gives no answer`() throws {
        let simulator = try simulator(#"{"default":"close"}"#)
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let tag = try client.send(Fixture.headers(try simulator.authorization()))
        #expect(try client.failure(of: tag) == .connectionClosed)
    }

    @Test func `a delayed token delays no other token, and a silent one gets no answer`() throws {
        let simulator = try simulator(
            #"""
            {"rules":[{"token":"aa","is":"alive","delay_ms":50},
            {"token":"bb","is":"silence"},{"token":"cc","is":"alive"}]}
            """#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        func fields(_ token: String) -> [(String, String)] {
            Fixture.headers(authorization, changing: [(":path", "/3/device/" + token)])
        }
        #expect(try client.exchange(fields("cc")).status == 200)
        let slow = try client.send(fields("aa"))
        let silent = try client.send(fields("bb"))
        let fast = try client.send(fields("cc"))
        #expect(try client.response(to: slow).status == 200)
        let order = client.events.compactMap { event -> UInt64? in
            if case .responseArrived(let tag, _) = event { tag } else { nil }
        }
        #expect(order.suffix(2) == [fast, slow])
        #expect(!order.contains(silent))
    }

    @Test func `requests are counted, including duplicates of accepted IDs`() throws {
        let simulator = try simulator(
            #"{"rules":[{"token":"bb","is":"flaky","steps":["500","ServiceUnavailable"]}]}"#
        )
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        let retried = Fixture.headers(authorization, changing: [(":path", "/3/device/bb")])
        // The second was not accepted, so the third is not a duplicate; the fourth is.
        for status in [500, 503, 200, 200] {
            #expect(try client.exchange(retried).status == status)
        }
        let noID = Fixture.headers(authorization, changing: [("apns-id", nil)])
        for _ in 0..<2 { #expect(try client.exchange(noID).status == 200) }
        let statistics = simulator.statistics
        #expect(statistics.requests == 6)
        #expect(statistics.accepted == 4)
        #expect(statistics.duplicates == 1)
        #expect(statistics.refused == [.serviceUnavailable: 1])
        #expect(statistics.faults == 1)
        #expect(statistics.connections == 1 && statistics.openConnections == 1)
        #expect(statistics.maxOpenStreams == 1)
    }

    @Test func `a thousand streams at once are all answered`() throws {
        let simulator = try simulator(#"{"latency_ms":1}"#)
        let client = try TestClient(port: simulator.sandboxPort, of: simulator)
        let authorization = try simulator.authorization()
        #expect(try client.exchange(Fixture.headers(authorization)).status == 200)
        let tags = try (0..<1000).map { number in
            try client.send(
                Fixture.headers(authorization, changing: [("apns-collapse-id", "\(number)")])
            )
        }
        for tag in tags { #expect(try client.response(to: tag).status == 200) }
        #expect(simulator.statistics.accepted == 1001)
        #expect((1...1000).contains(simulator.statistics.maxOpenStreams))
    }

    @Test func `the connection of a client that left is not open`() throws {
        let simulator = try simulator()
        let fields = Fixture.headers(try simulator.authorization())
        let first = try TestClient(port: simulator.productionPort, of: simulator)
        let second = try TestClient(port: simulator.sandboxPort, of: simulator)
        #expect(try first.exchange(fields).status == 200)
        #expect(try second.exchange(fields).status == 200)
        #expect(simulator.statistics.openConnections == 2)
        first.connection.close()
        // Each answer is one iteration of the simulator's loop; one of the first sees the close.
        for _ in 0..<1000 where simulator.statistics.openConnections == 2 {
            _ = try second.exchange(fields)
        }
        #expect(simulator.statistics.openConnections == 1)
        #expect(simulator.statistics.connections == 2)
    }

    @Test func `a stopped simulator closes its connections and can be stopped again`() throws {
        let simulator = try simulator()
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        try client.waitUntilOpen()
        simulator.stop()
        try client.waitFor { if case .closed = $0 { true } else { false } }
        simulator.stop()
        #expect(simulator.statistics.openConnections == 0)
    }

    @Test func `only requested environments listen`() throws {
        var configuration = SimulatorConfiguration()
        configuration.sandbox = nil
        let simulator = try APNsSimulator(configuration).start()
        #expect(simulator.sandboxPort == nil)
        #expect(simulator.productionPort != nil)
    }

    @Test func `the given certificate and keys are used`() throws {
        let authority = EphemeralAuthority()
        let fixture = Fixture()
        var configuration = SimulatorConfiguration()
        configuration.identity = authority.serverIdentity()
        configuration.keys = [try fixture.registered()]
        let simulator = try APNsSimulator(configuration).start()
        #expect(simulator.caPEM == nil && simulator.signingKey == nil)
        configuration.keys?[0].publicKeyPEM = Array("no key".utf8)
        #expect(throws: SimulatorError.key("is not a public key in PEM")) {
            try APNsSimulator(configuration).start()
        }
    }

    @Test func `the request log has one line of JSON per request`() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var configuration = SimulatorConfiguration()
        configuration.requestLog = ends[1]
        configuration.scenario = try ScenarioFile.parse(
            Array(#"{"rules":[{"token":"bb","is":"notForTopic"}]}"#.utf8)
        )
        let simulator = try APNsSimulator(configuration).start()
        let client = try TestClient(port: simulator.sandboxPort, of: simulator)
        let authorization = try simulator.authorization()
        for token in ["aa", "bb"] {
            _ = try client.exchange(
                Fixture.headers(authorization, changing: [(":path", "/3/device/" + token)])
            )
        }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(ends[0], &buffer, buffer.count)
        let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
        let id = "123e4567-e89b-12d3-a456-4266554400a0"
        let expected = [
            (#""token":"aa""#, #""status":200,"reason":null}"#),
            (#""token":"bb""#, #""status":400,"reason":"DeviceTokenNotForTopic"}"#),
        ]
        #expect(lines.count == 2)
        for (line, (token, end)) in zip(lines, expected) {
            #expect(line.hasPrefix(#"{"time":"#))
            #expect(line.contains(#""environment":"sandbox",\#(token),"apns-id":"\#(id)""#))
            #expect(line.contains(#""topic":"com.example.app","push_type":"alert""#))
            #expect(line.contains(#""payload_sha256":""#))
            #expect(line.hasSuffix(end))
        }
    }

    @Test func `the timing log has one line of JSON per answer`() throws {
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var configuration = SimulatorConfiguration()
        configuration.timingLog = ends[1]
        configuration.scenario = try ScenarioFile.parse(
            Array(
                #"""
                {"rules":[{"token":"aa","is":"silence"},{"token":"bb","is":"reset"},
                {"token":"cc","is":"notForTopic"},{"token":"dd","is":"alive","delay_ms":30}]}
                """#.utf8
            )
        )
        let simulator = try APNsSimulator(configuration).start()
        let client = try TestClient(port: simulator.productionPort, of: simulator)
        let authorization = try simulator.authorization()
        func headers(_ token: String) -> [(String, String)] {
            Fixture.headers(authorization, changing: [(":path", "/3/device/" + token)])
        }
        // The first request proves the token, so that a stream can stay open.
        _ = try client.exchange(headers("cc"))
        _ = try client.send(headers("aa"))
        _ = try client.end(of: client.send(headers("bb")))
        _ = try client.exchange(headers("dd"))
        var text = ""
        // The last line is written after its answer.
        while text.count(where: { $0 == "\n" }) < 2 {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = unsafe read(ends[0], &buffer, buffer.count)
            try #require(count > 0)
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count == 2)
        for (line, (token, least)) in zip(lines, [("cc", 0), ("dd", 30_000)]) {
            let begin = #"{"token":"\#(token)","held_us":"#
            #expect(line.hasPrefix(begin) && line.hasSuffix("}"))
            let held = try #require(Int(line.dropFirst(begin.count).dropLast()))
            #expect(held >= least)
        }
    }
}
