import APNsSimulator
import Testing
import Vocabulary

/// Broadcasts and channels: Apple page "Handling error responses from APNs".
@Suite struct ChannelTests {
    private let fixture: Fixture = {
        var fixture = Fixture()
        fixture.bundleIDs = ["com.example.app", "com.example.silent"]
        return fixture
    }()

    private static let scenario =
        #"{"max_channels":2,"apps_without_broadcast":["com.example.silent"]}"#
    private static let stored = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    private static let unstored = #"{"message-storage-policy":0,"push-type":"liveactivity"}"#

    /// An APNs with one channel that stores messages and one that does not.
    private struct World {
        var judge: RequestJudge
        let authorization: String
        var channels: [String] = []

        init(_ fixture: Fixture) throws {
            judge = try RequestJudge(
                keys: [fixture.registered()],
                scenario: ScenarioFile.parse(Array(ChannelTests.scenario.utf8))
            )
            authorization = try fixture.authorization()
            for wish in [ChannelTests.stored, ChannelTests.unstored] {
                let answer = try ask("POST", "/1/apps/com.example.app/channels", body: wish)
                #expect(answer.status == 201 && answer.content.isEmpty)
                channels.append(try #require(answer.channelID))
            }
        }

        mutating func ask(
            _ method: String,
            _ path: String,
            _ fields: [(String, String?)] = [],
            body: String = "",
            environment: APNsEnvironment = .production
        ) throws -> ChannelAnswer {
            var connection = ConnectionFacts(
                environment: environment,
                isForChannels: !path.hasPrefix("/4")
            )
            var all: [(String, String?)] = [
                (":method", method), (":path", path), ("authorization", authorization),
            ]
            for (name, value) in fields {
                all.removeAll { $0.0 == name }
                all.append((name, value))
            }
            let block = Fixture.block(
                all.compactMap { name, value in value.map { (name, resolve($0)) } }
            )
            let answer = judge.judge(
                RequestHead(block),
                of: block,
                body: Array(body.utf8),
                connection: &connection,
                now: Fixture.now
            ).answer
            guard case .channel(let answer) = answer else {
                Issue.record("\(answer)")
                return ChannelAnswer(0)
            }
            return answer
        }

        /// `STORED` and `UNSTORED` are replaced by the channels' IDs.
        private func resolve(_ value: String) -> String {
            switch value {
            case "STORED": channels[0]
            case "UNSTORED": channels[1]
            default: value
            }
        }
    }

    typealias Change = (fields: [(String, String?)], body: String, status: Int, reason: String?)

    static let broadcasts: [Change] = [
        ([], "{}", 200, nil),
        ([("apns-channel-id", "UNSTORED"), ("apns-expiration", "0")], "{}", 200, nil),
        ([("apns-push-type", "LiveActivity")], "{}", 200, nil),
        ([("apns-channel-id", nil)], "{}", 400, "MissingChannelId"),
        ([("apns-channel-id", "?")], "{}", 400, "BadChannelId"),
        ([("apns-channel-id", "AAAA")], "{}", 400, "ChannelNotRegistered"),
        ([("apns-channel-id", "UNSTORED")], "{}", 400, "BadExpirationDate"),
        ([("apns-expiration", nil)], "{}", 400, "BadExpirationDate"),
        ([("apns-push-type", nil)], "{}", 400, "MissingPushType"),
        ([("apns-push-type", "alert")], "{}", 400, "InvalidPushType"),
        ([("apns-priority", nil)], "{}", 400, "BadPriority"),
        ([("apns-priority", "3")], "{}", 400, "BadPriority"),
        ([], "", 400, "PayloadEmpty"),
        ([], #"{"a":"\#(String(repeating: "x", count: 5112))"}"#, 200, nil),
        ([], "not json", 400, "BadRequestPayload"), ([], "[]", 400, "BadRequestPayload"),
        ([], String(repeating: "x", count: 5121), 413, "PayloadTooLarge"),
        ([("apns-request-id", "1")], "{}", 400, "BadMessageId"),
        ([("authorization", nil)], "{}", 403, "MissingProviderToken"),
        ([(":method", "GET")], "{}", 405, "MethodNotAllowed"),
        ([(":path", "/4/broadcasts/apps/com.example.other")], "{}", 403, "TopicMismatch"),
        ([(":path", "/4/broadcasts/apps/com.example.silent")], "{}", 400, "FeatureNotEnabled"),
        ([(":path", "/4/broadcasts/apps/com.example.app.voip")], "{}", 400, "TopicDisallowed"),
    ]

    @Test(arguments: broadcasts)
    func `a broadcast with one mistake gets its reason`(change: Change) throws {
        var world = try World(fixture)
        let right: [(String, String?)] = [
            ("apns-channel-id", "STORED"), ("apns-push-type", "liveactivity"),
            ("apns-priority", "5"), ("apns-expiration", "1800000000"),
        ]
        let changed = right.filter { field in !change.fields.contains { $0.0 == field.0 } }
        let answer = try world.ask(
            "POST",
            "/4/broadcasts/apps/com.example.app",
            changed + change.fields,
            body: change.body
        )
        #expect((answer.status, answer.reason) == (change.status, change.reason))
        #expect(answer.isBroadcast == (change.status == 200))
    }

    static let management: [(method: String, path: String, body: String, Int, String?)] = [
        ("POST", "channels", "", 400, "PayloadEmpty"),
        ("POST", "channels", "{", 400, "BadRequestPayload"),
        ("POST", "channels", "[]", 400, "BadRequestPayload"),
        ("POST", "channels", #"{"x":1}"#, 400, "BadRequestParams"),
        ("POST", "channels", #"{"message-storage-policy":1}"#, 400, "MissingPushType"),
        (
            "POST", "channels", #"{"message-storage-policy":1,"push-type":"alert"}"#, 400,
            "InvalidPushType"
        ),
        (
            "POST", "channels", #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, 400,
            "BadRequestParams"
        ),
        ("POST", "channels", stored, 400, "CannotCreateChannelConfig"),
        ("GET", "channels", "", 400, "MissingChannelId"),
        ("DELETE", "channels", "", 400, "MissingChannelId"),
        ("PUT", "channels", "", 405, "MethodNotAllowed"),
        ("POST", "all-channels", "", 405, "MethodNotAllowed"),
        ("GET", "all-channels", "", 200, nil),
    ]

    @Test(arguments: management)
    func `channels are managed as Apple documents`(
        method: String,
        path: String,
        body: String,
        status: Int,
        reason: String?
    ) throws {
        var world = try World(fixture)
        let answer = try world.ask(method, "/1/apps/com.example.app/\(path)", body: body)
        #expect((answer.status, answer.reason) == (status, reason))
    }

    @Test func `a channel can be read, listed and deleted in its own environment only`() throws {
        var world = try World(fixture)
        let path = "/1/apps/com.example.app/channels"
        let channel: [(String, String?)] = [("apns-channel-id", "STORED")]
        let read = try world.ask("GET", path, channel)
        #expect(read.content == Array(Self.stored.utf8))
        #expect(
            try world.ask("GET", path, channel, environment: .sandbox).reason
                == "ChannelNotRegistered"
        )
        let list = try world.ask("GET", "/1/apps/com.example.app/all-channels")
        let ids = world.channels.sorted().map { "\"\($0)\"" }.joined(separator: ",")
        #expect(String(decoding: list.content, as: UTF8.self) == "{\"channels\":[\(ids)]}")
        let deleted = try world.ask("DELETE", path, channel)
        #expect((deleted.status, deleted.content) == (204, []))
        #expect(try world.ask("GET", path, channel).reason == "ChannelNotRegistered")
        // Now there is room for another one.
        #expect(try world.ask("POST", path, body: Self.stored).status == 201)
    }

    @Test func `the newest broadcast is stored for eight hours if the policy allows it`() throws {
        var world = try World(fixture)
        for (channel, expiration) in [("STORED", "1800000000"), ("UNSTORED", "0")] {
            let fields: [(String, String?)] = [
                ("apns-channel-id", channel), ("apns-push-type", "liveactivity"),
                ("apns-priority", "10"), ("apns-expiration", expiration),
            ]
            let path = "/4/broadcasts/apps/com.example.app"
            #expect(try world.ask("POST", path, fields, body: "{}").status == 200)
        }
        let kept = Dictionary(
            uniqueKeysWithValues: world.judge.channels.all().map { ($0.id, $0.channel) }
        )
        let newest = try #require(kept[world.channels[0]]?.newest)
        #expect(newest.until.seconds == Fixture.now.seconds + 8 * 3600)
        #expect(newest.payload == Array("{}".utf8))
        #expect(kept[world.channels[1]]?.newest == nil)
        #expect(kept.values.allSatisfy { $0.broadcasts == 1 })
    }
}
