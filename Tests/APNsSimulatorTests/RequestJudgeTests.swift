import APNsRules
import APNsSimulator
import Testing
import Vocabulary

@Suite struct RequestJudgeTests {
    private let fixture = Fixture()

    struct Change: Sendable, CustomTestStringConvertible {
        var fields: [(String, String?)]
        var bodyByteCount = 2
        var status = 400
        var reason: APNsReason?

        init(
            _ fields: [(String, String?)],
            bodyByteCount: Int = 2,
            _ status: Int = 200,
            _ reason: APNsReason? = nil
        ) {
            self.fields = fields
            self.bodyByteCount = bodyByteCount
            self.status = status
            self.reason = reason
        }

        var testDescription: String { "\(fields) \(bodyByteCount) \(status)" }
    }

    static let long = String(repeating: "a", count: 64)

    static let changes: [Change] = [
        Change([]),
        // Path and method.
        Change([(":path", "/3/device/")], 400, .missingDeviceToken),
        Change([(":path", "/3/device")], 400, .missingDeviceToken),
        Change([(":path", "/3/devices/aa")], 404, .badPath),
        Change([(":path", "/4/broadcasts")], 404, .badPath),
        Change([(":path", "/1/apps/com.example.app/channels")], 404, .badPath),
        Change([(":path", "/")], 404, .badPath),
        Change([(":path", nil)], 404, .badPath),
        Change([(":method", "GET")], 405, .methodNotAllowed),
        Change([(":method", "PUT")], 405, .methodNotAllowed),
        // Path comes before method.
        Change([(":method", "GET"), (":path", "/x")], 404, .badPath),
        // Authorization.
        Change([("authorization", nil)], 403, .missingProviderToken),
        Change([("authorization", "basic x")], 403, .missingProviderToken),
        Change([("authorization", "bearer")], 403, .missingProviderToken),
        Change([("authorization", "bearer ")], 403, .invalidProviderToken),
        Change([("authorization", "bearer a.b.c")], 403, .invalidProviderToken),
        // Topic and push type.
        Change([("apns-topic", nil)], 400, .missingTopic),
        Change([("apns-topic", "")], 400, .badTopic),
        Change([("apns-topic", "com.example app")], 400, .badTopic),
        Change([("apns-topic", "com.example.app.voip")], 400, .invalidPushType),
        Change([("apns-topic", "com.example.voip")]),
        Change([("apns-push-type", nil)]),
        Change([("apns-push-type", "Alert")], 400, .invalidPushType),
        Change([("apns-push-type", "")], 400, .invalidPushType),
        Change([("apns-push-type", "alarm")], 400, .invalidPushType),
        Change([("apns-push-type", "voip")], 400, .invalidPushType),
        Change([("apns-push-type", "mdm")]),
        // Priority.
        Change([("apns-priority", nil)]),
        Change([("apns-priority", "5")]),
        Change([("apns-priority", "1")]),
        Change([("apns-priority", "7")], 400, .badPriority),
        Change([("apns-priority", "010")], 400, .badPriority),
        Change([("apns-priority", "")], 400, .badPriority),
        Change([("apns-push-type", "background")], 400, .badPriority),
        Change([("apns-push-type", "background"), ("apns-priority", "1")], 400, .badPriority),
        Change([("apns-push-type", "background"), ("apns-priority", "5")]),
        Change([("apns-push-type", "background"), ("apns-priority", nil)]),
        // Expiration, collapse ID, ID.
        Change([("apns-expiration", "0")]),
        Change([("apns-expiration", "1700000000")]),
        Change([("apns-expiration", "")], 400, .badExpirationDate),
        Change([("apns-expiration", "-1")], 400, .badExpirationDate),
        Change([("apns-expiration", "soon")], 400, .badExpirationDate),
        Change([("apns-expiration", String(repeating: "9", count: 19))], 400, .badExpirationDate),
        Change([("apns-collapse-id", long)]),
        Change([("apns-collapse-id", long + "a")], 400, .badCollapseID),
        Change([("apns-collapse-id", "")], 400, .badCollapseID),
        Change([("apns-id", nil)]),
        Change([("apns-id", "123E4567-E89B-12D3-A456-4266554400A0")]),
        Change([("apns-id", "123e4567e89b12d3a4564266554400a0")], 400, .badMessageID),
        Change([("apns-id", "")], 400, .badMessageID),
        // Device token: any even number of digits.
        Change([(":path", "/3/device/0A")]),
        Change([(":path", "/3/device/" + String(repeating: "ab", count: 100))]),
        Change([(":path", "/3/device/abc")], 400, .badDeviceToken),
        Change([(":path", "/3/device/xy")], 400, .badDeviceToken),
        Change([(":path", "/3/device/aa/bb")], 400, .badDeviceToken),
        // Payload.
        Change([], bodyByteCount: 0, 400, .payloadEmpty),
        Change([], bodyByteCount: 1),
        Change([], bodyByteCount: 4096),
        Change([], bodyByteCount: 4097, 413, .payloadTooLarge),
        Change(
            [("apns-push-type", "voip"), ("apns-topic", "com.example.app.voip")],
            bodyByteCount: 5120
        ),
        Change(
            [("apns-push-type", "voip"), ("apns-topic", "com.example.app.voip")],
            bodyByteCount: 5121,
            413,
            .payloadTooLarge
        ),
        // The order of the checks.
        Change([("authorization", nil), ("apns-topic", nil)], 403, .missingProviderToken),
        Change([("apns-topic", nil), ("apns-priority", "7")], 400, .missingTopic),
        Change([("apns-priority", "7"), ("apns-expiration", "x")], 400, .badPriority),
        Change([("apns-expiration", "x"), ("apns-collapse-id", "")], 400, .badExpirationDate),
        Change([("apns-collapse-id", ""), ("apns-id", "")], 400, .badCollapseID),
        Change([("apns-id", ""), (":path", "/3/device/x")], 400, .badMessageID),
        Change([(":path", "/3/device/x")], bodyByteCount: 0, 400, .badDeviceToken),
    ]

    @Test(arguments: changes)
    func `a request with one mistake gets APNs' reason`(change: Change) throws {
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            bundleIDs: ["com.example.voip"]
        )
        var connection = ConnectionFacts(environment: .production)
        let answer = judge.judge(
            Fixture.headers(try fixture.authorization(), changing: change.fields),
            bodyByteCount: change.bodyByteCount,
            connection: &connection
        ).answer
        let expected = change.reason.map { Answer.refused(Refusal(change.status, $0)) }
        #expect(answer == expected ?? .accepted)
    }

    @Test(arguments: [
        "apns-id", "apns-topic", "apns-priority", "apns-push-type", "authorization",
        "apns-expiration", "apns-collapse-id",
    ])
    func `a repeated header is a duplicate`(name: String) throws {
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let fields = Fixture.headers(try fixture.authorization()) + [(name, "1"), (name, "1")]
        #expect(
            judge.judge(fields, connection: &connection).answer
                == .refused(Refusal(400, .duplicateHeaders))
        )
    }

    @Test func `headers that APNs does not define are ignored`() throws {
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let extras = [
            ("accept", "*/*"), ("accept", "x"), ("user-agent", "y"), ("content-length", "2"),
            ("apns-xx", "a"), ("authorizatiom", "b"), ("apns-push-typo", "c"),
        ]
        let fields = Fixture.headers(try fixture.authorization()) + extras
        #expect(judge.judge(fields, connection: &connection).answer == .accepted)
    }

    @Test(arguments: PushType.allCases)
    func `each push type accepts only its own topic`(type: PushType) throws {
        var judge = try RequestJudge(keys: [fixture.registered()])
        let authorization = try fixture.authorization()
        for other in PushType.allCases {
            var connection = ConnectionFacts(environment: .production)
            let topic = APNsTopicRule.topic(bundleID: "com.example.app", pushType: other).name
            let fields = Fixture.headers(
                authorization,
                changing: [
                    ("apns-push-type", type.rawValue), ("apns-topic", topic),
                    ("apns-priority", "5"),
                ]
            )
            let isRight =
                type == .mdm || APNsTopicRule.suffix(for: type) == APNsTopicRule.suffix(for: other)
            #expect(
                judge.judge(fields, connection: &connection).answer
                    == (isRight ? .accepted : .refused(Refusal(400, .invalidPushType)))
            )
        }
    }

    @Test func `a topic that was valid for one type is checked again for another`() throws {
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .production)
        let authorization = try fixture.authorization()
        let right = Fixture.headers(authorization)
        let wrong = Fixture.headers(authorization, changing: [("apns-push-type", "voip")])
        #expect(judge.judge(right, connection: &connection).answer == .accepted)
        #expect(
            judge.judge(wrong, connection: &connection).answer
                == .refused(Refusal(400, .invalidPushType))
        )
        #expect(judge.judge(right, connection: &connection).answer == .accepted)
    }

    @Test func `the push type can be required`() throws {
        var strictness = Strictness()
        strictness.requiresPushType = true
        var judge = try RequestJudge(keys: [fixture.registered()], strictness: strictness)
        var connection = ConnectionFacts(environment: .production)
        let fields = Fixture.headers(
            try fixture.authorization(),
            changing: [("apns-push-type", nil)]
        )
        #expect(
            judge.judge(fields, connection: &connection).answer
                == .refused(Refusal(400, .invalidPushType))
        )
    }
}
