import APNsSimulator
import HTTP2IO
import Testing
import Vocabulary

@Suite struct ScenarioTests {
    private let fixture = Fixture()

    /// The answers to consecutive requests for one token.
    private func answers(
        _ scenario: String,
        token: String = Fixture.token,
        environment: APNsEnvironment = .production,
        count: Int = 1
    ) throws -> [Judgment] {
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(scenario.utf8))
        )
        var connection = ConnectionFacts(environment: environment)
        let fields = Fixture.headers(
            try fixture.authorization(),
            changing: [(":path", "/3/device/" + token)]
        )
        return (0..<count).map { _ in judge.judge(fields, connection: &connection) }
    }

    static let kinds: [(String, [Answer])] = [
        (#""alive""#, [.accepted, .accepted]),
        (#"{"is":"alive"}"#, [.accepted]),
        (
            #"{"is":"unregistered","since":1699999999123}"#,
            [
                .refused(
                    Refusal(
                        410,
                        .unregistered,
                        timestamp: Timestamp(milliseconds: 1_699_999_999_123)
                    )
                )
            ]
        ),
        (
            #"{"is":"expired","since":5}"#,
            [.refused(Refusal(410, .expiredToken, timestamp: Timestamp(milliseconds: 5)))]
        ),
        (#""badDeviceToken""#, [.refused(Refusal(400, .badDeviceToken))]),
        (#""wrongEnvironment""#, [.refused(Refusal(400, .badDeviceToken))]),
        (
            #"{"is":"wrongEnvironment","environment":"sandbox"}"#,
            [.refused(Refusal(400, .badDeviceToken))]
        ),
        (#"{"is":"wrongEnvironment","environment":"production"}"#, [.accepted]),
        (#""notForTopic""#, [.refused(Refusal(400, .deviceTokenNotForTopic))]),
        (
            #"{"is":"rateLimited","requests":2,"retry_after":3}"#,
            [
                .refused(Refusal(429, .tooManyRequests, retryAfterSeconds: 3)),
                .refused(Refusal(429, .tooManyRequests, retryAfterSeconds: 3)), .accepted,
                .accepted,
            ]
        ),
        (
            #"""
            {"is":"flaky","steps":["ServiceUnavailable","503 html","500","reset","refused","goaway",
            "goaway Shutdown","silence","close","ok","TooManyRequests"]}
            """#,
            [
                .refused(Refusal(503, .serviceUnavailable)), .html(status: 503), .bare(status: 500),
                .reset(.internalError), .reset(.refusedStream), .connection(.goAway(GoAway())),
                .connection(.goAway(GoAway(.leavingOut, .shutdown))), .silence,
                .connection(.close), .accepted, .refused(Refusal(429, .tooManyRequests)), .accepted,
                .accepted,
            ]
        ),
        (
            #"{"is":"flaky","steps":["500","ok"],"repeat":true}"#,
            [.bare(status: 500), .accepted, .bare(status: 500), .accepted]
        ),
        (
            #"""
            {"is":"flaky","steps":["reset CANCEL","reset STREAM_CLOSED","goaway graceful",
            "goaway nothing Shutdown","stall","half-close","garbage","endless-headers","500 json",
            "503 json"],
            "retry_after":9}
            """#,
            [
                .reset(.cancel), .reset(.streamClosed),
                .connection(.goAway(GoAway(.graceful))),
                .connection(.goAway(GoAway(.nothing, .shutdown))), .connection(.stall),
                .connection(.halfClose), .connection(.garbage), .connection(.endlessHeaders),
                .refused(Refusal(500, .internalServerError, retryAfterSeconds: 9)),
                .refused(Refusal(503, .serviceUnavailable, retryAfterSeconds: 9)),
            ]
        ),
        (#""InternalServerError""#, [.refused(Refusal(500, .internalServerError))]),
        (#""silence""#, [.silence, .silence]),
    ]

    @Test(arguments: kinds)
    func `each kind of token answers as described`(kind: String, expected: [Answer]) throws {
        let whole = try answers(#"{"default":\#(kind)}"#, count: expected.count)
        #expect(whole.map(\.answer) == expected)
    }

    @Test(arguments: APNsReason.allCases)
    func `every reason can be configured and has its status`(reason: APNsReason) throws {
        let answer = try answers(#"{"default":"\#(reason.rawValue)"}"#)[0].answer
        guard case .refused(let refusal) = answer else {
            Issue.record("\(reason) got \(answer) instead of a reason")
            return
        }
        #expect(refusal.reason == reason)
        #expect((400...599).contains(refusal.status))
    }

    static let rules = #"""
        {"default":"badDeviceToken","latency_ms":5,"rules":[
          {"prefix":"00","is":"notForTopic"},
          {"prefix":"00FC","is":"alive","delay_ms":20},
          {"token":"00fcAA","is":"InternalServerError"}]}
        """#

    @Test(arguments: [
        ("00fcaa", Answer.refused(Refusal(500, .internalServerError)), 5),
        ("00FCaa", .refused(Refusal(500, .internalServerError)), 5),
        ("00fcbb", .accepted, 25),
        ("00ab", .refused(Refusal(400, .deviceTokenNotForTopic)), 5),
        ("01", .refused(Refusal(400, .badDeviceToken)), 5),
    ])
    func `the most specific rule wins`(token: String, answer: Answer, delay: Int) throws {
        let judgment = try answers(Self.rules, token: token)[0]
        #expect(judgment.answer == answer)
        #expect(judgment.delay == .milliseconds(delay))
    }

    @Test(arguments: [
        ("", "scenario"), ("[]", "scenario: not an object"), (#"{"x":1}"#, "scenario.x"),
        (#"{"rules":{}}"#, "rules: not an array"), (#"{"rules":[{}]}"#, "rules[0].is"),
        (#"{"rules":[{"is":"alive"}]}"#, "rules[0]: needs"),
        (#"{"rules":[{"is":"alive","token":"aa","prefix":"a"}]}"#, "rules[0]: needs"),
        (#"{"rules":[{"is":"alive","token":"a"}]}"#, "rules[0].token"),
        (#"{"rules":[{"is":"alive","prefix":"x"}]}"#, "rules[0].prefix"),
        (
            #"{"rules":[{"is":"alive","token":"aa"},{"is":"alive","token":"AA"}]}"#,
            "rules[1]: duplicate rule"
        ),
        (#"{"default":"dead"}"#, "default.is: \"dead\""),
        (#"{"default":{"is":"alive","colour":1}}"#, "default.colour"),
        (#"{"default":{"is":"alive","environment":"mars"}}"#, "default.environment"),
        (#"{"default":{"is":"alive","delay_ms":-1}}"#, "default.delay_ms"),
        (#"{"default":{"is":"alive","delay_ms":3600001}}"#, "default.delay_ms"),
        (#"{"default":{"is":"rateLimited","requests":0}}"#, "default.requests"),
        (#"{"default":{"is":"rateLimited","requests":10001}}"#, "default.requests"),
        (#"{"default":{"is":"flaky"}}"#, "default.steps"),
        (#"{"default":{"is":"flaky","steps":[]}}"#, "default.steps"),
        (#"{"default":{"is":"flaky","steps":["ok",5]}}"#, "default.steps[1]"),
        (#"{"default":{"is":"flaky","steps":["299"]}}"#, "default.steps[0]"),
        (#"{"latency_ms":"1"}"#, "scenario.latency_ms"),
        (#"{"faults":[{"share":1}]}"#, "faults[0].is"),
        (#"{"faults":[{"is":"ok","share":2}]}"#, "faults[0].share"),
        (#"{"connections":[{"is":"ok"}]}"#, "connections[0].is"),
        (#"{"connections":[{"is":"limit streams","streams":-1}]}"#, "connections[0].streams"),
        (#"{"strictness":{"token_updates":"ip"}}"#, "strictness.token_updates"),
        (#"{"strictness":{"check_order":["path"]}}"#, "strictness.check_order"),
        (#"{"strictness":{"json_payload":1}}"#, "strictness.json_payload"),
        (#"{"settings":{"max_frame_size":1}}"#, "settings.max_frame_size"),
        (#"{"throttle":{"step":0}}"#, "throttle.step"),
        (#"{"device_rate":{"burst":0}}"#, "device_rate.burst"),
        (#"{"teams":[]}"#, "scenario.teams"), (#"{"teams":{"A":1}}"#, "teams.A"),
        (#"{"revoked_certificates":["00"]}"#, "scenario.revoked_certificates"),
        (#"{"clock_offset_s":1e9}"#, "scenario.clock_offset_s"),
        (#"{"default":"goaway Nonsense"}"#, "default.is"),
        (#"{"default":"reset NONSENSE"}"#, "default.is"),
    ])
    func `a mistake is named by its place`(text: String, place: String) {
        let error = #expect(throws: ScenarioError.self) {
            try ScenarioFile.parse(Array(text.utf8))
        }
        #expect(error?.description.hasPrefix(place) == true, "\(error?.description ?? "none")")
    }

    @Test func `a dead token is reported before the payload is checked`() throws {
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(#"{"default":"badDeviceToken"}"#.utf8))
        )
        var connection = ConnectionFacts(environment: .production)
        let answer = judge.judge(
            Fixture.headers(try fixture.authorization()),
            bodyByteCount: 0,
            connection: &connection
        ).answer
        #expect(answer == .refused(Refusal(400, .badDeviceToken)))
    }
}
