import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// Events of a campaign are sent, wait or end as its order says.
@Suite struct CampaignTests {
    private static let partition = Bench.partition

    private static func name(_ text: String = "spring") throws -> CampaignName {
        try #require(CampaignName(text))
    }

    private static func order(
        _ order: CampaignOrder?,
        share: Double = 1,
        _ bench: inout Bench
    ) throws {
        var orders = CampaignOrders()
        _ = orders.set(order, for: try name(), writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: share, now: bench.now)
    }

    /// A bench with retry topics whose connection has answered; offset 0 is settled.
    private static func bench(
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws -> Bench {
        var bench = try Bench {
            $0.later = RetryTiers([.seconds(60), .seconds(900)])
            change(&$0)
        }
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        for record in bench.turn().publications { bench.engine.published(record.tag) }
        return bench
    }

    private static func arrive(_ offset: Int64, _ bench: inout Bench) throws -> TurnDecision {
        let name = try name()
        return try bench.arrive(offset) { $0.campaign = name }
    }

    private static func kinds(_ turn: TurnDecision) -> [OutcomeKind] { turn.outcomes.map(\.kind) }

    private static func deferrals(_ turn: TurnDecision) -> [Deferral] {
        turn.publications.compactMap(\.conclusion.deferral)
    }

    @Test(arguments: [
        (CampaignOrder?.none, true, [OutcomeKind]()),
        (CampaignOrder(.running), true, []),
        (CampaignOrder(.paused), false, []),
        (CampaignOrder(.cancelled), false, [.cancelled]),
    ])
    func `an order holds for events that arrive after it`(
        order: CampaignOrder?,
        isSent: Bool,
        outcomes: [OutcomeKind]
    ) throws {
        var bench = try Self.bench()
        try Self.order(order, &bench)
        let turn = try Self.arrive(1, &bench)
        #expect(turn.sends.isEmpty != isSent)
        #expect(Self.kinds(turn) == outcomes)
        #expect(turn.publications.allSatisfy { $0.tag.publication == .outcome })
        // Other events go on.
        #expect(try bench.arrive(2).sends.count == 1)
    }

    @Test func `a cancelled campaign ends what waits, and what is on a stream ends as it ends`()
        throws
    {
        var bench = try Self.bench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        let onStream = try #require(Bench.sent(try Self.arrive(1, &bench)))
        for offset in Int64(2)...4 { #expect(try Self.arrive(offset, &bench).sends.isEmpty) }
        try Self.order(CampaignOrder(.cancelled), &bench)
        let turn = bench.turn()
        #expect(Self.kinds(turn) == [.cancelled, .cancelled, .cancelled])
        #expect(turn.outcomes.allSatisfy { $0.reason == .local(.campaignCancelled) })
        #expect(turn.outcomes.allSatisfy { $0.tokenAction == .keep })
        bench.engine.responseArrived(APNsAnswer(status: 200), for: onStream, now: bench.now)
        #expect(Self.kinds(bench.turn()) == [.accepted])
    }

    @Test func `an attempt that fails after the cancellation is the last`() throws {
        var bench = try Self.bench()
        let id = try #require(Bench.sent(try Self.arrive(1, &bench)))
        try Self.order(CampaignOrder(.cancelled), &bench)
        bench.engine.responseArrived(APNsAnswer(status: 503), for: id, now: bench.now)
        #expect(Self.kinds(bench.turn(after: .seconds(1))) == [.cancelled])
    }

    @Test(arguments: [CampaignOrder?.none, CampaignOrder(.running), CampaignOrder(.cancelled)])
    func `a pause holds what waits until the next order`(next: CampaignOrder?) throws {
        var bench = try Self.bench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        let first = try #require(Bench.sent(try bench.arrive(1)))
        for offset in Int64(2)...4 { _ = try Self.arrive(offset, &bench) }
        try Self.order(CampaignOrder(.paused), &bench)
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 10, now: bench.now)
        bench.engine.responseArrived(APNsAnswer(status: 200), for: first, now: bench.now)
        #expect(bench.turn(after: .seconds(50)).sends.isEmpty)
        #expect(bench.engine.awaitingCampaignCount == 3)
        try Self.order(next, &bench)
        let turn = bench.turn()
        #expect(turn.sends.count == (next?.state == .cancelled ? 0 : 3))
        #expect(
            Self.kinds(turn)
                == (next?.state == .cancelled ? Array(repeating: .cancelled, count: 3) : [])
        )
        #expect(bench.engine.awaitingCampaignCount == 0)
    }

    @Test(arguments: [true, false])
    func `a paused campaign delays no handover`(isShutdown: Bool) throws {
        var bench = try Self.bench()
        try Self.order(CampaignOrder(.paused), &bench)
        _ = try Self.arrive(1, &bench)
        #expect(bench.engine.awaitingCampaignCount == 1)
        if isShutdown {
            bench.engine.shutdownRequested(now: bench.now)
        } else {
            bench.engine.partitionsRevoked(lost: false, now: bench.now)
        }
        var steps: [GroupStep] = []
        // Until the last commit may be made, and less than an event that may be sent gets.
        for _ in 0..<5 {
            steps += bench.turn(after: .milliseconds(200)).group
            bench.engine.commitFinished(failed: [])
        }
        #expect(steps.contains(isShutdown ? .leave : .unassign))
    }

    @Test func `a pause with an end ends by itself`() throws {
        var bench = try Self.bench()
        let end = Timestamp(milliseconds: bench.now.timestamp.milliseconds + 20_000)
        try Self.order(CampaignOrder(.paused, until: end), &bench)
        #expect(try Self.arrive(1, &bench).sends.isEmpty)
        #expect(
            bench.engine.nextDeadline(now: bench.now.instant).map { $0 - bench.now.instant }
                ?? .zero <= .seconds(20)
        )
        #expect(bench.turn(after: .seconds(19)).sends.isEmpty)
        #expect(bench.turn(after: .seconds(1)).sends.count == 1)
    }

    @Test(arguments: [(100.0, 1.0), (100.0, 0.25), (2.0, 0.5)])
    func `a pace passes the shard's part of it`(perSecond: Double, share: Double) throws {
        var bench = try Self.bench()
        try Self.order(CampaignOrder(.running, perSecond: perSecond), share: share, &bench)
        var sent = 0
        for offset in Int64(1)...60 { sent += try Self.arrive(offset, &bench).sends.count }
        for _ in 0..<100 { sent += bench.turn(after: .milliseconds(10)).sends.count }
        let own = perSecond * share
        #expect(Double(sent) >= min(own, 60) - 1)
        #expect(Double(sent) <= own + max(1, own / 10) + 1)
    }

    @Test func `what does not fit in memory waits in a retry topic, and does not age`() throws {
        var bench = try Self.bench { $0.campaignShare = 2.0 / Double($0.intake.events) }
        try Self.order(CampaignOrder(.paused), &bench)
        for offset in Int64(1)...2 { #expect(try Self.arrive(offset, &bench).publications.isEmpty) }
        let turn = try Self.arrive(3, &bench)
        let deferral = try #require(Self.deferrals(turn).first)
        #expect(deferral.reason == .local(.campaignPaused) && deferral.tier == 0)
        #expect(deferral.firstFailedAt == deferral.dueAt && deferral.attempts == 0)
        // After a long pause, the longer delay: the event comes back soon enough.
        _ = bench.turn(after: .seconds(1000))
        let later = try #require(Self.deferrals(try Self.arrive(4, &bench)).first)
        #expect(later.tier == 1)
    }

    /// Of 12,000 events, 30 fit in memory, and the shortest retry topic delays by a minute.
    @Test func `a pace is kept if most of a send does not fit in memory`() throws {
        let pace = 50
        var bench = try Self.bench { $0.campaignShare = 30.0 / Double($0.intake.events) }
        try Self.order(CampaignOrder(.running, perSecond: Double(pace)), &bench)
        var away: [(history: RetryHistory, event: Event)] = []
        var (offset, sent) = (Int64(0), [Int]())
        func arrive(_ event: Event, _ history: RetryHistory?, _ bench: inout Bench) {
            offset += 1
            bench.hear(offset, .event(event), history: history)
        }
        for tick in 0..<2600 {
            for number in 0..<(tick < 120 ? 100 : 0) {
                let token = String(0x10_0000 + tick * 100 + number, radix: 16)
                var event = Event(
                    id: EventID(token),
                    deviceToken: try #require(DeviceToken(token)),
                    destination: .bundleID("com.example.News"),
                    pushType: .alert,
                    payload: 0..<2
                )
                event.campaign = try Self.name()
                arrive(event, nil, &bench)
            }
            // As a partition does: what is due comes when everything before it is.
            let due = away.prefix { $0.history.dueAt <= bench.now.timestamp }
            away.removeFirst(due.count)
            for one in due { arrive(one.event, one.history, &bench) }
            let turn = bench.turn(after: .milliseconds(100))
            sent.append(turn.sends.count)
            for send in turn.sends {
                let answer = APNsAnswer(status: 200)
                bench.engine.responseArrived(answer, for: send.delivery, now: bench.now)
            }
            let records = turn.publications + bench.turn().publications
            for record in records {
                if let deferral = record.conclusion.deferral {
                    let topic = TopicPartition(topic: KafkaTopic("news"), partition: 0)
                    let history = record.arrival.history(with: deferral, readFrom: topic)
                    away.append((history, try #require(record.arrival.event)))
                }
                bench.engine.published(record.tag)
            }
            bench.engine.commitFinished(failed: [])
        }
        #expect(sent.reduce(0, +) == 12_000 && away.isEmpty)
        // In each ten seconds but the last, what the pace allows.
        for start in stride(from: 0, to: 2300, by: 100) {
            let count = sent[start..<start + 100].reduce(0, +)
            #expect((pace * 9...pace * 10 + pace / 10).contains(count), "from \(start): \(count)")
        }
    }

    @Test func `a pace ordered during a send holds for what waits for a stream`() throws {
        var bench = try Self.bench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        for offset in Int64(1)...40 { _ = try Self.arrive(offset, &bench) }
        try Self.order(CampaignOrder(.running, perSecond: 20), &bench)
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 100, now: bench.now)
        var sent = bench.turn().sends.count
        #expect(sent == 2)
        for _ in 0..<100 { sent += bench.turn(after: .milliseconds(10)).sends.count }
        #expect((20...22).contains(sent))
    }

    @Test func `what waits for a pause is put off before it keeps its partition from being read`()
        throws
    {
        var bench = try Self.bench()
        try Self.order(CampaignOrder(.paused), &bench)
        #expect(try Self.arrive(1, &bench).publications.isEmpty)
        // More settled offsets than a commit can tell.
        let turn = try bench.arrive(2_200_000)
        #expect(turn.group.contains(.pause([Self.partition])))
        let swept = bench.turn(after: .seconds(1))
        #expect(Self.deferrals(swept).map(\.reason) == [.local(.campaignPaused)])
        for record in swept.publications { bench.engine.published(record.tag) }
        #expect(bench.turn().group.contains(.resume([Self.partition])))
    }

    @Test(arguments: [CampaignOrder(.paused), CampaignOrder(.running, perSecond: 0.1)])
    func `what waits for its campaign makes way if the limit in flight is reached`(
        order: CampaignOrder
    ) throws {
        var bench = try Self.bench {
            $0.intake = .init(events: 20, bytes: 1 << 20)
            $0.campaignShare = 0.4
        }
        try Self.order(order, &bench)
        // A pace passes one at once.
        for offset in Int64(1)...9 { _ = try Self.arrive(offset, &bench) }
        for offset in Int64(10)...20 { _ = try bench.arrive(offset) }
        _ = bench.turn()
        let start = bench.now.timestamp
        let deferrals = Self.deferrals(bench.turn(after: .seconds(1)))
        #expect(deferrals.count >= 8)
        guard order.state == .running else { return }
        // Nobody is left before the first of them.
        let first = try #require(deferrals.map(\.dueAt).min())
        #expect(first.milliseconds - start.milliseconds <= 11_000)
    }

    /// Two fit in memory, and one may be sent in two seconds.
    @Test func `what made way keeps its turns, and what arrives later has later ones`() throws {
        var bench = try Self.bench {
            $0.intake = .init(events: 20, bytes: 1 << 20)
            $0.campaignShare = 0.1
        }
        try Self.order(CampaignOrder(.running, perSecond: 0.5), &bench)
        var deferrals: [Deferral] = []
        // The first is sent, and the next two wait.
        for offset in Int64(1)...6 {
            deferrals += Self.deferrals(try Self.arrive(offset, &bench))
        }
        for offset in Int64(7)...20 { _ = try bench.arrive(offset) }
        var turn = bench.turn(after: .seconds(1))
        #expect(bench.engine.awaitingCampaignCount == 0)
        deferrals += Self.deferrals(turn)
        for record in turn.publications { bench.engine.published(record.tag) }
        for offset in Int64(21)...23 {
            turn = try Self.arrive(offset, &bench)
            deferrals += Self.deferrals(turn)
        }
        let turns = deferrals.map(\.dueAt.milliseconds)
        #expect(turns.count >= 6 && turns == turns.sorted() && Set(turns).count == turns.count)
    }

    @Test(arguments: [
        (30, 0, 30), (60, 0, 60), (600, 0, 60), (900, 1, 900), (80_000, 1, 900),
    ])
    func `an event waits in a retry topic until its time`(
        ahead: Int64,
        tier: Int,
        due: Int64
    ) throws {
        var bench = try Self.bench()
        let now = bench.now.timestamp.milliseconds
        let turn = try bench.arrive(1) {
            $0.notBefore = Timestamp(milliseconds: now + ahead * 1000)
        }
        let deferral = try #require(Self.deferrals(turn).first)
        #expect(deferral.tier == tier)
        #expect(deferral.dueAt == Timestamp(milliseconds: now + due * 1000))
        #expect(deferral.reason == .local(.notDueYet) && turn.sends.isEmpty)
    }

    @Test
    func `an event whose time is too far ahead is invalid, and one without retry topics ends`()
        throws
    {
        var bench = try Self.bench()
        let now = bench.now.timestamp.milliseconds
        let far = try bench.arrive(1) { $0.notBefore = Timestamp(milliseconds: now + 86_400_001) }
        #expect(far.outcomes.first?.reason == .local(.notBeforeTooFar))
        #expect(Self.kinds(far) == [.invalid])
        #expect(
            try bench.arrive(2) { $0.notBefore = Timestamp(milliseconds: now) }.sends.count == 1
        )
        var without = try Self.bench { $0.later = RetryTiers() }
        let ended = try without.arrive(1) { $0.notBefore = Timestamp(milliseconds: now + 1000) }
        #expect(Self.kinds(ended) == [.undeliverable])
        #expect(ended.outcomes.first?.reason == .local(.notDueYet))
    }
}
