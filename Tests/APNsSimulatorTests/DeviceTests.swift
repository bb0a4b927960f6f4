import APNsSimulator
import Testing
import Vocabulary

/// What a device would have received.
@Suite struct DeviceTests {
    private let fixture = Fixture()
    private static let token = Array("aa".utf8)

    private struct Push {
        var text: String
        var changes: [(String, String?)] = []
        var atSecond: Int64 = 0
    }

    private func send(
        _ pushes: [Push],
        isOffline: Bool,
        backAtSecond: Int64? = nil
    ) throws -> DeviceState {
        let rule = #"{"default":{"is":"alive","offline":\#(isOffline)}}"#
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(rule.utf8))
        )
        judge.devices = DeviceStore(maxDevices: 1)
        var connection = ConnectionFacts(environment: .production)
        let authorization = try fixture.authorization()
        func time(_ second: Int64) -> Timestamp {
            Timestamp(milliseconds: Fixture.now.milliseconds + second * 1000)
        }
        for push in pushes {
            let changes = [(":path", "/3/device/AA")] + push.changes
            let block = Fixture.block(Fixture.headers(authorization, changing: changes))
            let answer = judge.judge(
                RequestHead(block),
                of: block,
                body: Array(push.text.utf8),
                connection: &connection,
                now: time(push.atSecond)
            ).answer
            #expect(answer == .accepted)
        }
        if let backAtSecond {
            judge.devices?.setOffline(Self.token, false, now: time(backAtSecond))
        }
        return try #require(judge.devices?.state(of: Self.token))
    }

    private func texts(_ list: some Sequence<DeviceNotification>) -> [String] {
        list.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    @Test func `an online device gets everything and shows the newest of each collapse ID`() throws
    {
        let collapse: [(String, String?)] = [("apns-collapse-id", "score")]
        let other: [(String, String?)] = [
            ("apns-collapse-id", "score"), ("apns-topic", "com.example.other"),
        ]
        let state = try send(
            [
                Push(text: "1", changes: collapse), Push(text: "2"),
                Push(text: "3", changes: other), Push(text: "4", changes: collapse),
            ],
            isOffline: false
        )
        #expect(texts(state.received) == ["1", "2", "3", "4"])
        #expect(texts(state.displayed) == ["2", "3", "4"])
        #expect(state.stored.isEmpty && state.lostCount == 0)
    }

    @Test func `only the newest notification of each app is stored`() throws {
        let other: [(String, String?)] = [("apns-topic", "com.example.other")]
        let state = try send(
            [Push(text: "1"), Push(text: "2", changes: other), Push(text: "3")],
            isOffline: true,
            backAtSecond: 1
        )
        #expect(texts(state.received) == ["3", "2"])
        #expect(state.lostCount == 1 && state.stored.isEmpty && !state.isOffline)
    }

    /// Expiration, when the device comes back, and whether it gets the notification.
    @Test(
        arguments: [
            ("0", Int64(0), false), ("1700000010", 9, true), ("1700000010", 10, false),
            ("1699999999", 0, false), (nil, 30 * 86400 - 1, true), (nil, 30 * 86400, false),
            ("1800000000", 30 * 86400, false),
        ] as [(String?, Int64, Bool)]
    )
    func `stored notifications expire`(expiration: String?, back: Int64, isReceived: Bool) throws {
        let state = try send(
            [Push(text: "1", changes: [("apns-expiration", expiration)])],
            isOffline: true,
            backAtSecond: back
        )
        #expect(texts(state.received) == (isReceived ? ["1"] : []))
        #expect(state.lostCount == (isReceived ? 0 : 1))
    }

    @Test(arguments: [(0.0, 0...0), (0.5, 30...70), (1.0, 100...100)])
    func `a share of stored notifications is lost`(share: Double, lost: ClosedRange<Int>) throws {
        var judge = try RequestJudge(
            keys: [fixture.registered()],
            scenario: ScenarioFile.parse(Array(#"{"storage_loss":\#(share)}"#.utf8))
        )
        judge.devices = DeviceStore(maxDevices: 1)
        judge.setOffline(Self.token, true, now: Fixture.now)
        var connection = ConnectionFacts(environment: .production)
        let authorization = try fixture.authorization()
        for _ in 0..<100 {
            let fields = Fixture.headers(authorization, changing: [(":path", "/3/device/aa")])
            let block = Fixture.block(fields)
            _ = judge.judge(
                RequestHead(block),
                of: block,
                body: Array("{}".utf8),
                connection: &connection,
                now: Fixture.now
            )
            judge.setOffline(Self.token, false, now: Fixture.now)
            judge.setOffline(Self.token, true, now: Fixture.now)
        }
        let state = try #require(judge.devices?.state(of: Self.token))
        #expect(lost.contains(state.lostCount))
        #expect(state.received.count == 100 - state.lostCount)
    }

    @Test func `devices beyond the limit are not remembered`() {
        var store = DeviceStore(maxDevices: 1)
        store.setOffline(Array("aa".utf8), true, now: Fixture.now)
        store.setOffline(Array("bb".utf8), true, now: Fixture.now)
        #expect(store.state(of: Array("aa".utf8))?.isOffline == true)
        #expect(store.state(of: Array("bb".utf8)) == nil)
        store.forget()
        #expect(store.state(of: Array("aa".utf8)) == nil)
    }
}
