import APNsRules
import APNsSimulator
import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import Shard
import SystemIO
import Telemetry
import TestThreads
import Testing
import Vocabulary

/// How records become requests to APNs, and answers become records in Kafka: whole shards, seen
/// from outside.
///
/// Each test waits about 3 s for its group: the mock cluster takes this long to admit the first
/// member (hard-coded in 2.0.2). The tests wait in parallel.
@Suite(.ownThread) struct APNsWiringTests {
    @Test func `A record becomes a request, an outcome and a committed offset`() throws {
        let bench = try ShardBench()
        try bench.write(
            """
            {"id":"order-1","device_token":"AA01","bundle_id":"com.example.app","push_type":"alert",\
            "priority":5,"expiration":4000000000,"collapse_id":"order",\
            "payload":{"aps":{"alert": "Hello"}},"metadata":{"tenant":"a"}}
            """,
            key: "customer"
        )
        let shard = try bench.start()
        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        try bench.stop(shard)

        let request = try #require(try bench.requests().first)
        #expect(request.token == "AA01")
        #expect(request.topic == "com.example.app")
        #expect(request.pushType == "alert")
        #expect(request.priority == 5)
        #expect(request.expiration == 4_000_000_000)
        #expect(request.collapseID == "order")
        let payload = Array(#"{"aps":{"alert": "Hello"}}"#.utf8)
        #expect(request.payloadSHA256 == SHA256.hexadecimal(of: payload))
        #expect(request.status == 200)

        let record = try #require(try bench.records(of: bench.settings.topics.results).first)
        #expect(record.keyText == "aa01")
        #expect(record.headerTexts == ["outcome": "accepted", "event-id": "order-1"])
        let outcome = try SeenOutcome(record)
        #expect(outcome.outcome == "accepted")
        #expect(outcome.apnsID == request.apnsID)
        #expect(outcome.source == .init(topic: bench.source.name, partition: 0, offset: 0))
        #expect(outcome.metadata == ["tenant": "a"])

        #expect(try bench.committed(in: bench.source) == 1)
        let status = shard.control.status
        #expect(status.hasEnded)
        #expect(status.counts == ShardCounts(consumed: 1, terminal: 1))
        let accounting = Accounting(consumed: 1, terminal: 1, inFlight: 0, deferred: 0)
        #expect(shard.metrics.accounting.read() == accounting)
        #expect(shard.metrics.attempts.value == 1)
        #expect(shard.metrics.connects.value == 1)
        #expect(shard.metrics.resultsProduced.value == 1)
        #expect(shard.metrics.commits[.ok].value >= 1)
        #expect(shard.metrics.requestDuration.reading.counts.reduce(0, +) == 1)
    }

    /// Each device's first request meets the fault, and its second one does not.
    @Test func `A request that fails temporarily is retried from memory`() throws {
        let steps: [Behavior.Step] = [
            .reason(.serviceUnavailable), .html(status: 502), .reset(.internalError),
            .reset(.refusedStream),
        ]
        let bench = try ShardBench(scenario(steps.map { Behavior(steps: [$0]) }))
        for index in steps.indices { try bench.write(event("\(index)", to: device(index))) }
        let shard = try bench.start()
        try bench.wait(for: "the outcomes") { try bench.outcomes().count == steps.count }
        try bench.stop(shard)

        #expect(try bench.outcomes().allSatisfy { $0.outcome == "accepted" })
        for index in steps.indices {
            let requests = try bench.requests().filter { $0.token == device(index) }
            #expect(requests.count == 2, "\(steps[index])")
            #expect(Set(requests.map(\.apnsID)).count == 1, "\(steps[index])")
        }
        #expect(shard.metrics.brokenStreams[.reset].value == 1)
        #expect(shard.metrics.brokenStreams[.refused].value == 1)
        #expect(try bench.committed(in: bench.source) == Int64(steps.count))
    }

    /// The connection has one stream, so the second request also proves that the first one ended.
    @Test func `A request without an answer is cancelled and sent again`() throws {
        var scenario = scenario([Behavior(steps: [.silence])])
        var wire = WireSettings()
        wire.provenStreams = 1
        scenario.settings = wire
        let bench = try ShardBench(scenario) {
            $0.engine.requestTimeout = .milliseconds(200)
            // On a busy machine, answers can be late, too.
            let delay = Duration.milliseconds(1)
            $0.engine.retry = RetryPolicy(attempts: 1000, baseDelay: delay, maxDelay: delay)
        }
        try bench.write(event("silent", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        try bench.stop(shard)

        #expect(try bench.outcomes().first?.outcome == "accepted")
        #expect(try bench.requests().count >= 2)
        #expect(shard.metrics.requestTimeouts.value >= 1)
        #expect(bench.apns.statistics.connections == 1)
    }

    /// Requests that the connection did not or may not have processed are sent on the next one.
    @Test func `A connection that ends is replaced, and its open requests are sent again`() throws {
        let faults: [ConnectionFault] = [
            .goAway(GoAway()), .close, .garbage, .endlessHeaders, .halfClose,
        ]
        let bench = try ShardBench(scenario(faults.map { Behavior(steps: [.connection($0)]) }))
        let shard = try bench.start()
        for index in faults.indices {
            try bench.write(event("\(index)", to: device(index)))
            try bench.wait(for: "the outcome") { try bench.outcomes().count == index + 1 }
        }
        try bench.stop(shard)

        #expect(try bench.outcomes().allSatisfy { $0.outcome == "accepted" })
        for index in faults.indices {
            let requests = try bench.requests().filter { $0.token == device(index) }
            #expect(requests.count == 2, "\(faults[index])")
        }
        #expect(bench.apns.statistics.connections == faults.count + 1)
        #expect(shard.metrics.goAways[.none].value == 1)
        #expect(shard.metrics.connects.value == UInt64(faults.count + 1))
    }

    /// One request is never answered, so the old connection does not end.
    @Test func `After a GOAWAY, new requests use another connection`() throws {
        let goAway = Behavior(steps: [.connection(.goAway(GoAway(.graceful)))])
        let bench = try ShardBench(scenario([.alive, Behavior(then: .silence), goAway])) {
            $0.engine.drainTimeout = .milliseconds(1)
        }
        try bench.write(event("0", to: device(0)))
        let shard = try bench.start()
        // Before its first answer a connection has one stream.
        try bench.wait(for: "the first outcome") { try bench.outcomes().count == 1 }
        for index in 1...2 { try bench.write(event("\(index)", to: device(index))) }
        try bench.wait(for: "the GOAWAY") { shard.metrics.goAways[.none].value == 1 }
        try bench.write(event("3", to: device(3)))
        try bench.wait(for: "the others' outcomes") {
            try bench.outcomes().count == 3 && shard.control.status.counts.terminal == 3
        }
        try bench.stop(shard)

        #expect(try bench.outcomes().allSatisfy { $0.outcome == "accepted" })
        #expect(try bench.requests().map(\.token) == (0...3).map(device))
        #expect(bench.apns.statistics.connections == 2)
        #expect(shard.control.status.counts.handedBack == 1)
    }

    @Test func `A quiet connection is pinged and kept as long as it answers`() throws {
        let bench = try ShardBench { $0.engine.pool.pingAfterIdle = .milliseconds(20) }
        try bench.write(event("first", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the second PING") { bench.apns.statistics.pings >= 2 }
        try bench.write(event("second", to: device(0)))
        try bench.wait(for: "the outcomes") { try bench.outcomes().count == 2 }
        try bench.stop(shard)
        #expect(bench.apns.statistics.connections == 1)
    }

    /// The token is about 40 minutes old, and APNs' clock is 40 minutes ahead.
    @Test func `An expired provider token is replaced, and the request is sent again`() throws {
        var scenario = Scenario()
        scenario.clockOffset = .seconds(40 * 60)
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        let keyID = try #require(
            (0..<1000).lazy.map { "KEY\(1_000_000 + $0)" }
                .first { keyID in
                    ProviderTokenIdentity(keyID: keyID, teamID: ShardBench.teamID).map { identity in
                        var schedule = ProviderTokenSchedule(identity)
                        _ = schedule.issueTime(now: now)
                        let age = schedule.age(now: now.timestamp) ?? .zero
                        return (.seconds(37 * 60)..<(.seconds(42 * 60))).contains(age)
                    } ?? false
                }
        )
        let bench = try ShardBench(scenario, keyID: keyID)
        var version = 0
        let source = try #require(bench.credentials.inUse(newerThan: &version)?.first?.token)
        let old = source.token(now: now)
        try bench.write(event("late", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        try bench.stop(shard)

        #expect(try bench.outcomes().first?.outcome == "accepted")
        #expect(try bench.requests().map(\.reason) == ["ExpiredProviderToken", nil])
        #expect(source.token(now: now) != old)
    }

    @Test func `A credential that APNs refuses is parked, and the shard reports it`() throws {
        let refused = Behavior(then: .reason(.invalidProviderToken))
        let bench = try ShardBench(scenario([refused])) {
            $0.engine.drainTimeout = .milliseconds(1)
        }
        try bench.write(event("refused", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the parked credential") {
            shard.control.status.routes.first?.trouble == "parked: InvalidProviderToken"
        }
        #expect(shard.metrics.parkedCredentials[0].value == 1)
        try bench.stop(shard)
        #expect(try bench.outcomes().isEmpty)
        #expect(shard.control.status.counts.terminal == 0)
    }

    /// The key itself is revoked: the other shard sent nothing, but closes its connection, too.
    @Test func `After APNs refuses a key for one shard, no shard in the process uses it`() throws {
        let refused = Behavior(then: .reason(.invalidProviderToken))
        let bench = try ShardBench(scenario([refused]), partitions: 2) {
            $0.engine.drainTimeout = .milliseconds(1)
            $0.kafka.properties["session.timeout.ms"] = ShardBench.changing
        }
        let first = try bench.start()
        try bench.wait(for: "all partitions") { first.metrics.assignedPartitions.value == 3 }
        let shards = [first, try bench.start()]
        try bench.wait(for: "partitions and a connection for each shard") {
            shards.allSatisfy { $0.metrics.assignedPartitions.value > 0 }
                && bench.apns.statistics.openConnections == shards.count
        }
        try bench.write(event("refused", to: device(0)))
        for shard in shards {
            try bench.wait(for: "the parked credential") {
                shard.control.status.routes.first?.trouble == "parked: InvalidProviderToken"
            }
        }
        try bench.wait(for: "the end of all connections") {
            bench.apns.statistics.openConnections == 0
        }
        for shard in shards { try bench.stop(shard) }
    }

    /// The old key is invalid for the second event, and a connection keeps its first key.
    @Test func `After a key change, new requests use the new key on a new connection`() throws {
        let bench = try ShardBench()
        try bench.write(event("old", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the first outcome") { try bench.outcomes().count == 1 }
        try bench.replaceKey()
        try bench.write(event("new", to: device(0), of: "com.example.news"))
        try bench.wait(for: "the second outcome") { try bench.outcomes().count == 2 }
        try bench.wait(for: "the old connection's end") {
            bench.apns.statistics.goAwaysReceived > 0
        }
        try bench.stop(shard)

        #expect(try bench.outcomes().map(\.outcome) == ["accepted", "accepted"])
        #expect(bench.apns.statistics.connections == 2)
        #expect(try bench.requests().count == 2)
    }
}

/// The token of a device, by its number.
func device(_ number: Int) -> String { "\(1000 + number)" }

/// The given devices, from number 0, behave this way, and all others accept.
func scenario(_ behaviors: [Behavior]) -> Scenario {
    var scenario = Scenario()
    for (number, behavior) in behaviors.enumerated() {
        let isNew = scenario.add(token: device(number), behavior)
        precondition(isNew, "each device has its own number")
    }
    return scenario
}

/// An event for a device.
func event(
    _ id: String,
    to device: String,
    of app: String = "com.example.app",
    _ more: String = ""
) -> String {
    """
    {"id":"\(id)","device_token":"\(device)","bundle_id":"\(app)","push_type":"alert",\
    "payload":{"aps":{"alert":"Hello"}}\(more)}
    """
}
