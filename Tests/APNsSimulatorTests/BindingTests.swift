import APNsSimulator
import Testing
import Vocabulary

/// What the first provider token ties a connection to, and how often tokens may change.
@Suite struct BindingTests {
    private static func refusal(_ status: Int, _ reason: APNsReason) -> Answer {
        .refused(Refusal(status, reason))
    }

    private func key(
        _ keyID: String,
        team: String = "DEF123GHIJ",
        bundleIDs: Set<String>? = nil
    ) -> Fixture {
        var fixture = Fixture()
        (fixture.keyID, fixture.teamID, fixture.bundleIDs) = (keyID, team, bundleIDs)
        return fixture
    }

    private func answer(
        _ judge: inout RequestJudge,
        _ authorization: String,
        _ connection: inout ConnectionFacts,
        topic: String = "com.example.app"
    ) -> Answer {
        judge.judge(
            Fixture.headers(authorization, changing: [("apns-topic", topic)]),
            connection: &connection
        ).answer
    }

    @Test func `related topic-specific keys share a connection, each for its own topics`() throws {
        let first = key("KEYAAAAAAA", bundleIDs: ["com.example.app"])
        let second = key("KEYBBBBBBB", bundleIDs: ["com.example.other"])
        let stranger = key("KEYCCCCCCC", bundleIDs: ["com.example.app"])
        var related = try second.registered()
        related.relatedKeyID = first.keyID
        var judge = try RequestJudge(
            keys: [first.registered(), related, stranger.registered()]
        )
        var connection = ConnectionFacts(environment: .production)
        #expect(answer(&judge, try first.authorization(), &connection) == .accepted)
        let token = try second.authorization()
        #expect(
            answer(&judge, token, &connection, topic: "com.example.other") == .accepted
        )
        #expect(answer(&judge, token, &connection) == Self.refusal(400, .topicDisallowed))
        #expect(
            answer(&judge, try stranger.authorization(), &connection)
                == Self.refusal(403, .unrelatedKeyIdInToken)
        )
    }

    @Test func `a connection knows the topics that its team had when it was tied to the team`()
        throws
    {
        let fixture = Fixture()
        let few = #"{"teams":{"DEF123GHIJ":["com.example.app"]}}"#
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(few.utf8))
        )
        let token = try fixture.authorization()
        var connection = ConnectionFacts(environment: .production)
        #expect(answer(&judge, token, &connection) == .accepted)
        #expect(
            answer(&judge, token, &connection, topic: "com.example.app.new")
                == Self.refusal(400, .topicDisallowed)
        )
        let more = #"{"teams":{"DEF123GHIJ":["com.example.app","com.example.app.new"]}}"#
        judge = judge.beginning(try ScenarioFile.parse(Array(more.utf8)), Strictness())
        #expect(
            answer(&judge, token, &connection, topic: "com.example.app.new")
                == Self.refusal(400, .topicDisallowed)
        )
        var fresh = ConnectionFacts(environment: .production)
        #expect(answer(&judge, token, &fresh, topic: "com.example.app.new") == .accepted)
    }

    /// Whether a second token is refused: of the same key on the same connection, of the same key
    /// on another one, of another key of the team on another one.
    @Test(arguments: [
        (Strictness.TokenUpdateScope.off, [false, false, false]),
        (.connection, [true, false, false]),
        (.key, [true, true, false]),
        (.team, [true, true, true]),
    ])
    func `provider tokens are counted in their scope`(
        scope: Strictness.TokenUpdateScope,
        isRefused: [Bool]
    ) throws {
        let first = key("KEYAAAAAAA")
        let second = key("KEYBBBBBBB")
        var strictness = Strictness()
        strictness.tokenUpdates = scope
        for (index, fixture) in [first, first, second].enumerated() {
            var judge = try RequestJudge(
                keys: [first.registered(), second.registered()],
                strictness: strictness
            )
            var connection = ConnectionFacts(environment: .production)
            #expect(answer(&judge, try first.authorization(age: 600), &connection) == .accepted)
            var other = ConnectionFacts(environment: .production)
            let token = try fixture.authorization(age: 1)
            let found =
                index == 0
                ? answer(&judge, token, &connection) : answer(&judge, token, &other)
            #expect(
                found
                    == (isRefused[index]
                        ? Self.refusal(429, .tooManyProviderTokenUpdates) : .accepted)
            )
        }
    }

    /// Senders with one key whose clocks differ, and senders that create tokens at any time.
    @Test func `a key has one token per slot on all connections`() throws {
        let fixture = key("KEYAAAAAAA")
        var judge = try RequestJudge(keys: [fixture.registered()])
        let ages: [Int64] = [2400, 600, 2400, 600, 599, 601, 1801]
        let found = try ages.map { age in
            var connection = ConnectionFacts(environment: .production)
            return answer(&judge, try fixture.authorization(age: age), &connection)
        }
        let refusal = Self.refusal(429, .tooManyProviderTokenUpdates)
        #expect(
            found == [.accepted, .accepted, .accepted, .accepted, refusal, refusal, refusal]
        )
    }

    @Test func `connections that are tied to nothing accept any key`() throws {
        let first = key("KEYAAAAAAA")
        let second = key("KEYBBBBBBB", team: "TEAM567890")
        var strictness = Strictness()
        strictness.bindsConnections = false
        var judge = try RequestJudge(
            keys: [first.registered(), second.registered()],
            strictness: strictness
        )
        var connection = ConnectionFacts(environment: .production)
        #expect(answer(&judge, try first.authorization(), &connection) == .accepted)
        #expect(answer(&judge, try second.authorization(), &connection) == .accepted)
    }

    @Test(arguments: [
        (#"{"text_issue_times":true}"#, #"{"iss":"DEF123GHIJ","iat":"1700000000"}"#, true),
        (#"{}"#, #"{"iss":"DEF123GHIJ","iat":"1700000000"}"#, false),
        (#"{"refuse_extra_token_members":true}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, true),
        (
            #"{"refuse_extra_token_members":true}"#,
            #"{"iss":"DEF123GHIJ","iat":1700000000,"x":1}"#, false
        ),
        (#"{}"#, #"{"iss":"DEF123GHIJ","iat":1700000000,"x":1}"#, true),
        (#"{"max_future_s":60}"#, #"{"iss":"DEF123GHIJ","iat":1700000060}"#, true),
        (#"{"max_future_s":60}"#, #"{"iss":"DEF123GHIJ","iat":1700000061}"#, false),
    ])
    func `tokens are checked as strictly as configured`(
        switches: String,
        claims: String,
        isRight: Bool
    ) throws {
        let fixture = Fixture()
        let scenario = try ScenarioFile.parse(Array("{\"strictness\":\(switches)}".utf8))
        var judge = try RequestJudge(keys: [fixture.registered()], scenario: scenario)
        var input: [UInt8] = []
        Base64.url.append(Array(#"{"alg":"ES256","kid":"ABC123DEFG"}"#.utf8), to: &input)
        input.append(UInt8(ascii: "."))
        Base64.url.append(Array(claims.utf8), to: &input)
        var connection = ConnectionFacts(environment: .production)
        let token = try Fixture.sign(input, with: fixture.pem)
        #expect(
            answer(&judge, token, &connection)
                == (isRight ? .accepted : Self.refusal(403, .invalidProviderToken))
        )
    }
}
