import APNsSimulator
import Testing
import Vocabulary

/// The limits on errors, devices and time, and the order of the checks.
@Suite struct LimitTests {
    private let fixture = Fixture()

    private func judge(_ scenario: String) throws -> RequestJudge {
        try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(scenario.utf8))
        )
    }

    @Test(arguments: [
        (Answer.accepted, 9), (.refused(Refusal(400, .badTopic)), 11),
        (.refused(Refusal(400, .badDeviceToken)), 12), (.refused(Refusal(410, .unregistered)), 10),
        (.refused(Refusal(429, .tooManyRequests)), 11),
        (.refused(Refusal(503, .serviceUnavailable)), 10), (.silence, 10),
        (.bare(status: 404), 11), (.bare(status: 410), 10), (.html(status: 503), 10),
        (.channel(ChannelAnswer(400, reason: "BadChannelId")), 11),
        (.channel(ChannelAnswer(200, isBroadcast: true)), 9), (.channel(ChannelAnswer(201)), 9),
    ])
    func `errors count, except 410 and the server's own`(answer: Answer, score: Int) {
        #expect(ErrorThrottle().score(10, after: answer) == score)
        var off = ErrorThrottle()
        off.isOn = false
        #expect(off.score(10, after: answer) == 0)
    }

    @Test(arguments: [
        (0, UInt32(1000), false), (19, 1000, false), (20, 500, false), (40, 250, false),
        (180, 1, false), (199, 1, false), (200, 1, true), (Int.max, 1, true),
    ])
    func `the stream limit falls with the score`(score: Int, limit: UInt32, ends: Bool) {
        let throttle = ErrorThrottle()
        #expect(throttle.streamLimit(1000, at: score) == limit)
        #expect(throttle.endsConnection(at: score) == ends)
        #expect(throttle.streamLimit(0, at: score) == 0)
    }

    @Test func `a device has a limit of notifications`() throws {
        var judge = try judge(#"{"device_rate":{"burst":2,"per_second":0.5}}"#)
        var connection = ConnectionFacts(environment: .production)
        let fields = Fixture.headers(try fixture.authorization())
        func status(_ seconds: Int64, token: String = Fixture.token) -> Answer {
            var fields = fields
            fields[3].1 = "/3/device/" + token
            return judge.judge(
                fields,
                connection: &connection,
                now: Timestamp(milliseconds: Fixture.now.milliseconds + seconds * 1000)
            ).answer
        }
        let tooMany = Answer.refused(Refusal(429, .tooManyRequests))
        #expect((0..<3).map { _ in status(0) } == [.accepted, .accepted, tooMany])
        // Upper case is the same device; another device has its own bucket.
        #expect(status(0, token: Fixture.token.uppercased()) == tooMany)
        #expect(status(0, token: "aa") == .accepted)
        #expect([status(1), status(2), status(2)] == [tooMany, .accepted, tooMany])
    }

    @Test(arguments: [
        (TimeWindow(), [0, 1, 1_000_000], [true, true, true]),
        (
            TimeWindow(from: .milliseconds(10), until: .milliseconds(20)),
            [9, 10, 19, 20], [false, true, true, false]
        ),
        (
            TimeWindow(
                from: .milliseconds(10),
                until: .milliseconds(20),
                every: .milliseconds(100)
            ),
            [5, 15, 25, 105, 115, 10_015], [false, true, false, false, true, true]
        ),
    ])
    func `a time window applies during its times`(window: TimeWindow, times: [Int], holds: [Bool]) {
        #expect(times.map { window.contains(.milliseconds($0)) } == holds)
    }

    @Test func `faults affect their share of the requests, the same ones for the same seed`() throws
    {
        let text = #"{"seed":7,"faults":[{"is":"500 json","share":0.25},{"is":"reset","share":0}]}"#
        func faults() throws -> [Bool] {
            var judge = try judge(text)
            var connection = ConnectionFacts(environment: .production)
            let fields = Fixture.headers(try fixture.authorization())
            return (0..<2000).map { _ in
                judge.judge(fields, connection: &connection).answer != .accepted
            }
        }
        let first = try faults()
        #expect((400...600).contains(first.count(where: \.self)))
        #expect(try faults() == first)
    }

    @Test func `faults apply in their time and environment`() throws {
        var judge = try judge(
            #"""
            {"faults":[{"is":"503","from_ms":1000,"until_ms":2000,"environment":"sandbox",
            "delay_ms":7,"retry_after":3}]}
            """#
        )
        let fields = Fixture.headers(try fixture.authorization())
        var sandbox = ConnectionFacts(environment: .sandbox)
        var production = ConnectionFacts(environment: .production)
        func at(_ milliseconds: Int64, _ connection: inout ConnectionFacts) -> Judgment {
            judge.judge(
                fields,
                connection: &connection,
                now: Timestamp(milliseconds: Fixture.now.milliseconds + milliseconds)
            )
        }
        #expect(judge.elapsed(Fixture.now) == .zero)
        #expect(at(999, &sandbox).answer == .accepted)
        let hit = at(1000, &sandbox)
        #expect(hit.answer == .bare(status: 503, retryAfterSeconds: 3))
        #expect(hit.delay == .milliseconds(7))
        #expect(at(1500, &production).answer == .accepted)
        #expect(at(2000, &sandbox).answer == .accepted)
    }

    @Test func `checks run in the configured order`() throws {
        var names = Strictness.Check.allCases.map(\.rawValue)
        names.reverse()
        let order = names.map { "\"\($0)\"" }.joined(separator: ",")
        var judge = try judge("{\"strictness\":{\"check_order\":[\(order)]}}")
        var connection = ConnectionFacts(environment: .production)
        let wrong = Fixture.headers(nil, changing: [("apns-priority", "3"), (":method", "GET")])
        let expected: [(Int, APNsReason)] = [(0, .payloadEmpty), (2, .badPriority)]
        for (byteCount, reason) in expected {
            #expect(
                judge.judge(wrong, bodyByteCount: byteCount, connection: &connection).answer
                    == .refused(Refusal(400, reason))
            )
        }
        let right = Fixture.headers(try fixture.authorization())
        #expect(judge.judge(right, connection: &connection).answer == .accepted)
    }

    @Test(
        arguments: [
            (#"{"tokens_of_64_digits":true}"#, "aa", "{}", APNsReason.badDeviceToken),
            (#"{"tokens_of_64_digits":true}"#, Fixture.token, "{}", nil),
            (#"{"json_payload":true}"#, "aa", "[1]", .payloadEmpty),
            (#"{"json_payload":true}"#, "aa", "{\"a\":", .payloadEmpty),
            (#"{"json_payload":true}"#, "aa", "{}", nil), (#"{}"#, "aa", "x", nil),
        ] as [(String, String, String, APNsReason?)]
    )
    func `tokens and payloads are checked as strictly as configured`(
        switches: String,
        token: String,
        payload: String,
        reason: APNsReason?
    ) throws {
        var judge = try judge("{\"strictness\":\(switches)}")
        var connection = ConnectionFacts(environment: .production)
        let block = Fixture.block(
            Fixture.headers(
                try fixture.authorization(),
                changing: [(":path", "/3/device/" + token)]
            )
        )
        let answer = judge.judge(
            RequestHead(block),
            of: block,
            body: Array(payload.utf8),
            connection: &connection,
            now: Fixture.now
        ).answer
        #expect(answer == reason.map { .refused(Refusal(400, $0)) } ?? .accepted)
    }

    @Test func `a 410 can omit its time`() throws {
        var judge = try judge(
            #"{"default":{"is":"unregistered","since":5},"strictness":{"omit_timestamps":true}}"#
        )
        var connection = ConnectionFacts(environment: .production)
        let fields = Fixture.headers(try fixture.authorization())
        #expect(
            judge.judge(fields, connection: &connection).answer
                == .refused(Refusal(410, .unregistered))
        )
    }
}
