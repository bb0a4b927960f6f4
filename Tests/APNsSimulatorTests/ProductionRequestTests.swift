import APNsRules
import APNsSimulator
import Testing
import Vocabulary

/// The simulator accepts the requests of the service.
@Suite struct ProductionRequestTests {
    @Test(arguments: PushType.allCases)
    func `requests made by RequestHeaders are accepted`(type: PushType) throws {
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        var connection = ConnectionFacts(environment: .sandbox)
        let event = Event(
            id: "1",
            deviceToken: try #require(DeviceToken(Fixture.token)),
            destination: .bundleID("com.example.app"),
            pushType: type,
            payload: 0..<2,
            expiration: 0,
            collapseID: CollapseID("score")
        )
        var block = HeaderBlock()
        RequestHeaders(authority: "localhost").fill(
            &block,
            for: event,
            topic: APNsTopicRule.topic(of: event.destination, pushType: type),
            providerToken: Array(try fixture.authorization().utf8.dropFirst("bearer ".utf8.count))
        )
        let judgment = judge.judge(
            RequestHead(block),
            of: block,
            body: [UInt8](repeating: 0x20, count: type == .voip ? 5120 : 4096),
            connection: &connection,
            now: Fixture.now
        )
        #expect(judgment == Judgment(.accepted, provesConnection: true))
    }

    @Test(arguments: UInt64(1)...4)
    func `damaged requests get an answer and never trap`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let fixture = Fixture()
        var judge = try RequestJudge(keys: [fixture.registered()])
        let right = Fixture.headers(try fixture.authorization())
        var connection = ConnectionFacts(environment: .production)
        for _ in 0..<3000 {
            var fields = right.map { (Array($0.0.utf8), Array($0.1.utf8)) }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                damage(&fields, using: &random)
            }
            var block = HeaderBlock()
            for (name, value) in fields { block.append(name.span, value.span) }
            let isWhole = block == Fixture.block(right)
            let answer = judge.judge(
                RequestHead(block),
                of: block,
                body: Array("{}".utf8),
                connection: &connection,
                now: Fixture.now
            ).answer
            switch answer {
            case .accepted: break
            case .refused(let refusal): #expect((400...429).contains(refusal.status) && !isWhole)
            default: Issue.record("\(answer)")
            }
        }
    }

    private func damage(
        _ fields: inout [([UInt8], [UInt8])],
        using random: inout some RandomNumberGenerator
    ) {
        let place = Int.random(in: 0..<fields.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: fields.remove(at: place)
        case 1: fields.append(fields[place])
        case 2: fields[place].1 = []
        case 3: fields[place].1.append(UInt8.random(in: 0...255, using: &random))
        default:
            guard !fields[place].1.isEmpty else { return }
            let byte = Int.random(in: 0..<fields[place].1.count, using: &random)
            fields[place].1[byte] = UInt8.random(in: 0...255, using: &random)
        }
    }
}
