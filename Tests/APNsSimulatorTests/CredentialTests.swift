import APNsRules
import APNsSimulator
import HTTP2IO
import Testing
import Vocabulary

@Suite struct CredentialTests {
    private func answer(
        _ judge: inout RequestJudge,
        _ authorization: String?,
        _ connection: inout ConnectionFacts,
        topic: String = "com.example.app",
        minutes: Int64 = 0
    ) -> Answer {
        judge.judge(
            Fixture.headers(authorization, changing: [("apns-topic", topic)]),
            connection: &connection,
            now: Timestamp(milliseconds: Fixture.now.milliseconds + minutes * 60_000)
        ).answer
    }

    private static func refusal(_ status: Int, _ reason: APNsReason) -> Answer {
        .refused(Refusal(status, reason))
    }

    @Test(
        arguments: [
            (Int64(0), nil), (3600, nil), (3601, APNsReason.expiredProviderToken), (-3600, nil),
            (-3601, .invalidProviderToken), (.max / 1000, .expiredProviderToken),
        ] as [(Int64, APNsReason?)]
    )
    func `a provider token is valid for an hour`(age: Int64, reason: APNsReason?) throws {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let age = min(age, 1_600_000_000)
        let answer = answer(&judge, try fixture.authorization(age: age), &connection)
        #expect(answer == reason.map { Self.refusal(403, $0) } ?? .accepted)
        #expect(connection.isProven == (reason == nil))
    }

    @Test func `a token that was valid expires on its own connection`() throws {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let token = try fixture.authorization()
        #expect(answer(&judge, token, &connection) == .accepted)
        #expect(answer(&judge, token, &connection, minutes: 60) == .accepted)
        #expect(
            answer(&judge, token, &connection, minutes: 61)
                == Self.refusal(403, .expiredProviderToken)
        )
    }

    @Test(arguments: [
        (#"{"alg":"ES256","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, true),
        (
            #"{"typ":"JWT","alg":"ES256","kid":"ABC123DEFG"}"#,
            #"{"iat":1700000000,"iss":"DEF123GHIJ","x":1}"#, true
        ),
        (#"{"alg":"ES384","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, false),
        (#"{"alg":"none","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, false),
        (#"{"alg":"ES256"}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, false),
        (#"{"alg":"ES256","kid":"XBC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":1700000000}"#, false),
        (#"{"alg":"ES256","kid":"ABC123DEFG"}"#, #"{"iss":"XEF123GHIJ","iat":1700000000}"#, false),
        (#"{"alg":"ES256","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ"}"#, false),
        (
            #"{"alg":"ES256","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":"1700000000"}"#,
            false
        ),
        (#"["ES256"]"#, #"{}"#, false),
        ("no JSON", "none", false),
    ])
    func `a provider token is checked strictly`(header: String, claims: String, isRight: Bool)
        throws
    {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        var input: [UInt8] = []
        Base64.url.append(Array(header.utf8), to: &input)
        input.append(UInt8(ascii: "."))
        Base64.url.append(Array(claims.utf8), to: &input)
        let token = try Fixture.sign(input, with: fixture.pem)
        #expect(
            answer(&judge, token, &connection)
                == (isRight ? .accepted : Self.refusal(403, .invalidProviderToken))
        )
    }

    @Test func `a changed signature, or one of another key, is invalid`() throws {
        let fixture = Fixture()
        let stranger = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let invalid = Self.refusal(403, .invalidProviderToken)
        #expect(answer(&judge, try stranger.authorization(), &connection) == invalid)
        let token = try fixture.authorization()
        #expect(answer(&judge, token + "A", &connection) == invalid)
        let other = token.hasSuffix("AAAA") ? "BAAA" : "AAAA"
        #expect(answer(&judge, token.dropLast(4) + other, &connection) == invalid)
        #expect(answer(&judge, token, &connection) == .accepted)
    }

    @Test func `a key of one environment is refused in the other`() throws {
        var fixture = Fixture()
        fixture.environments = [.sandbox]
        var judge = try RequestJudge(keys: [fixture.registered()])
        let token = try fixture.authorization()
        var production = ConnectionFacts(environment: .production)
        var sandbox = ConnectionFacts(environment: .sandbox)
        #expect(
            answer(&judge, token, &production) == Self.refusal(403, .badEnvironmentKeyIdInToken)
        )
        #expect(answer(&judge, token, &sandbox) == .accepted)
    }

    @Test func `a connection stays with its team and key`() throws {
        let first = Fixture()
        var sameTeam = Fixture()
        sameTeam.keyID = "KEY4567890"
        var otherTeam = Fixture()
        otherTeam.keyID = "KEYABCDEFG"
        otherTeam.teamID = "TEAM567890"
        var judge = try RequestJudge(
            keys: [first.registered(), sameTeam.registered(), otherTeam.registered()]
        )
        var connection = ConnectionFacts(environment: .production)
        #expect(answer(&judge, try first.authorization(), &connection) == .accepted)
        #expect(
            answer(&judge, try sameTeam.authorization(), &connection, minutes: 30)
                == Self.refusal(403, .unrelatedKeyIdInToken)
        )
        #expect(
            answer(&judge, try otherTeam.authorization(), &connection, minutes: 30)
                == Self.refusal(403, .invalidProviderToken)
        )
        var fresh = ConnectionFacts(environment: .production)
        #expect(answer(&judge, try sameTeam.authorization(), &fresh) == .accepted)
    }

    @Test func `a provider token may follow one issued 20 minutes before it`() throws {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let first = try fixture.authorization(age: 1200)
        let tooSoon = try fixture.authorization(age: 1)
        let second = try fixture.authorization(age: 0)
        let refusal = Self.refusal(429, .tooManyProviderTokenUpdates)
        #expect(answer(&judge, first, &connection) == .accepted)
        #expect(answer(&judge, tooSoon, &connection) == refusal)
        #expect(answer(&judge, first, &connection) == .accepted)
        #expect(answer(&judge, second, &connection) == .accepted)
        // Alternating tokens are what two token-issuing processes look like.
        #expect(answer(&judge, first, &connection) == refusal)
        var lenient = Strictness()
        lenient.tokenUpdates = .off
        judge = try RequestJudge(keys: [fixture.registered()], strictness: lenient)
        #expect(answer(&judge, first, &connection) == .accepted)
    }

    @Test func `a topic-specific key cannot push to other topics`() throws {
        var fixture = Fixture()
        fixture.bundleIDs = ["com.example.app"]
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let token = try fixture.authorization()
        #expect(answer(&judge, token, &connection) == .accepted)
        #expect(
            answer(&judge, token, &connection, topic: "com.example.other")
                == Self.refusal(400, .topicDisallowed)
        )
    }

    private static func certificate(_ topics: [String]) -> CertificateFacts {
        CertificateFacts(
            notBefore: Timestamp(milliseconds: 0),
            notAfter: Timestamp(milliseconds: .max),
            bundleID: "com.example.app",
            topics: topics
        )
    }

    @Test func `with a certificate the provider token is ignored`() throws {
        var judge = try RequestJudge(keys: [])
        var connection = ConnectionFacts(
            environment: .production,
            certificate: Self.certificate(["com.example.app"])
        )
        #expect(connection.isProven)
        #expect(answer(&judge, nil, &connection) == .accepted)
        #expect(answer(&judge, "bearer nonsense", &connection) == .accepted)
        #expect(
            answer(&judge, nil, &connection, topic: "com.example.other")
                == Self.refusal(400, .topicDisallowed)
        )
        let fields = Fixture.headers(nil, changing: [("apns-topic", nil)])
        #expect(judge.judge(fields, connection: &connection).answer == .accepted)
    }

    @Test(arguments: PushType.allCases)
    func `with a certificate, a push that needs a provider token gets DeviceTokenNotForTopic`(
        type: PushType
    ) throws {
        let topic = APNsTopicRule.topic(bundleID: "com.example.app", pushType: type).name
        let certificate = Self.certificate([topic])
        var judge = try RequestJudge(keys: [])
        var connection = ConnectionFacts(environment: .production, certificate: certificate)
        let fields = Fixture.headers(
            nil,
            changing: [
                ("apns-topic", topic), ("apns-push-type", type.rawValue), ("apns-priority", nil),
            ]
        )
        let isRefused = [.location, .liveactivity].contains(type)
        #expect(
            judge.judge(fields, connection: &connection).answer
                == (isRefused ? Self.refusal(400, .deviceTokenNotForTopic) : .accepted)
        )
    }

    @Test func `a certificate with several topics needs an explicit topic`() throws {
        var judge = try RequestJudge(keys: [])
        var connection = ConnectionFacts(
            environment: .production,
            certificate: Self.certificate(["com.example.app", "com.example.app.voip"])
        )
        let fields = Fixture.headers(nil, changing: [("apns-topic", nil)])
        #expect(
            judge.judge(fields, connection: &connection).answer
                == Self.refusal(400, .missingTopic)
        )
        #expect(
            answer(&judge, nil, &connection, topic: "com.example.app.complication")
                == Self.refusal(400, .topicDisallowed)
        )
    }

    @Test
    func `the first valid token proves the connection, even if the request is wrong otherwise`()
        throws
    {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let missing = judge.judge(Fixture.headers(nil), connection: &connection)
        #expect(!missing.provesConnection && !connection.isProven)
        let wrong = Fixture.headers(
            try fixture.authorization(),
            changing: [("apns-priority", "7")]
        )
        #expect(judge.judge(wrong, connection: &connection).provesConnection)
        #expect(!judge.judge(wrong, connection: &connection).provesConnection)
    }
}
