import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// An engine with two assigned partitions, a clock, and the process's list of dead tokens.
final class HygieneBench {
    var engine: DeliveryEngine
    private let reader: ArrivalReader
    var list = SuppressionList(maxCount: 100)
    var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: 1_700_000_000_000)
    )
    private var nextOffset: Int64 = 0

    init(_ hygiene: HygieneSettings = .init(), streams: Int = 100) throws {
        let settings = try EngineSettings(
            credentials: [
                CredentialScope(
                    name: "news",
                    bundleIDs: ["com.example.News"],
                    defaultEnvironment: .production
                )
            ],
            retry: RetryPolicy(attempts: 1),
            hygiene: hygiene
        )
        engine = DeliveryEngine(settings: settings, seed: 1)
        reader = ArrivalReader(settings)
        assign()
        engine.connectionOpened(ConnectionID(rawValue: 1), maxConcurrentStreams: streams, now: now)
    }

    func assign() {
        let partitions = [PartitionID(index: 0), PartitionID(index: 1)]
        engine.partitionsAssigned(partitions)
        engine.storedOffsetsFetched([partitions[0]: nil, partitions[1]: nil], now: now)
        _ = turn()
    }

    /// Ends the turn and applies its changes to the list.
    func turn() -> TurnDecision {
        for token in engine.doubtfulTokens(now: now.instant) {
            engine.tokenHeard(token, deadSince: list[token], now: now.instant)
        }
        let turn: TurnDecision = engine.turnEnded(now: now)
        for word in turn.tokenWords {
            if let deadSince = word.deadSince {
                list.insert(word.token, since: deadSince)
            } else {
                list.remove(word.token)
            }
        }
        return turn
    }

    /// Delivers an event, by default a new one at the next offset of the first partition.
    func arrive(
        token: String = "00ff",
        id: EventID? = nil,
        registeredAt: Int64? = nil,
        partition: Int = 0,
        offset: Int64? = nil,
        campaign: CampaignName? = nil
    ) throws -> TurnDecision {
        let place = offset ?? nextOffset
        nextOffset = max(nextOffset, place + 1)
        let event = Event(
            id: id ?? "event-\(place)",
            deviceToken: try #require(DeviceToken(token)),
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2,
            tokenRegisteredAt: registeredAt.map(Timestamp.init(milliseconds:)),
            campaign: campaign
        )
        let record = Record(
            partition: PartitionID(index: partition),
            offset: Offset(place),
            timestamp: nil,
            key: nil,
            value: [0x7B, 0x7D]
        )
        let list = list
        engine.recordArrived(record, .event(event), by: reader, now: now) { list[$0] }
        return turn()
    }

    func answer(_ id: DeliveryID, _ status: Int, at milliseconds: Int64? = nil)
        -> TurnDecision
    {
        let reasons: [Int: APNsReason] = [
            410: .unregistered, 400: .badDeviceToken, 413: .payloadTooLarge,
        ]
        let answer = APNsAnswer(
            status: status,
            reason: reasons[status].map(Reason.apns),
            unregisteredAt: milliseconds.map(Timestamp.init(milliseconds:))
        )
        engine.responseArrived(answer, for: id, now: now)
        return turn()
    }

    /// The published outcome among the actions, and its records.
    func outcome(_ actions: TurnDecision) -> (Outcome, Publications)? {
        guard let outcome = actions.outcomes.first, let records = actions.published.first?.records
        else { return nil }
        return (outcome, records)
    }

    func kind(_ actions: TurnDecision) -> OutcomeKind? { outcome(actions)?.0.kind }

    static func sent(_ actions: TurnDecision) -> [DeliveryID] {
        actions.sends.map(\.delivery)
    }

    /// Sends an event with its own token and answers it.
    func tell(_ status: Int) throws -> Outcome {
        let sent = HygieneBench.sent(try arrive(token: String(nextOffset + 10_000_000)))
        let actions = answer(try #require(sent.first), status)
        return try #require(outcome(actions)).0
    }
}

@Suite struct SuppressionTests {
    @Test func `a dead token stays dead, whatever is wrong with it when it is tried again`()
        throws
    {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.kind(bench.answer(first, 410, at: 1000)) == .unregistered)
        let second = try #require(HygieneBench.sent(try bench.arrive(registeredAt: 2000)).first)
        #expect(HygieneBench.sent(try bench.arrive()).isEmpty)
        let turn = bench.answer(second, 400)
        #expect(HygieneBench.sent(turn).isEmpty)
        #expect(turn.outcomes.map(\.kind) == [.rejected, .suppressed])
    }

    @Test func `an answer counts more than the list, which hears of it after the turn`() throws {
        let bench = try HygieneBench()
        let campaign = try #require(CampaignName("spring"))
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        // It waits in no line, so the list is asked about its token when it may be sent again.
        #expect(HygieneBench.sent(try bench.arrive(campaign: campaign)).isEmpty)
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(HygieneBench.sent(try bench.arrive()).isEmpty)
        bench.engine.campaignsOrdered(CampaignOrders(), share: 1, now: bench.now)
        let turn = bench.answer(first, 410, at: 1000)
        #expect(HygieneBench.sent(turn).isEmpty)
        #expect(turn.outcomes.map(\.kind) == [.unregistered, .suppressed])
        #expect(bench.turn().outcomes.map(\.kind) == [.suppressed])
    }

    @Test func `the list is asked about a token while an event is in line, not while all wait`()
        throws
    {
        let bench = try HygieneBench()
        func askedCount() -> Int {
            bench.engine.doubtfulTokens(now: bench.now.instant).count
        }
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.kind(bench.answer(first, 400)) == .rejected)
        #expect(bench.list.count == 1)
        let campaign = try #require(CampaignName("spring"))
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        #expect(HygieneBench.sent(try bench.arrive(campaign: campaign)).isEmpty)
        #expect(askedCount() == 0)
        bench.engine.campaignsOrdered(CampaignOrders(), share: 1, now: bench.now)
        #expect(askedCount() == 1, "it is about to join its line")
        let second = try #require(HygieneBench.sent(bench.turn()).first)
        #expect(askedCount() == 1)
        _ = bench.answer(second, 200)
        #expect(askedCount() == 0)
    }

    @Test func `after 410 a token gets nothing until it is registered again`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.kind(bench.answer(first, 410, at: 1000)) == .unregistered)
        #expect(bench.list.count == 1)

        for registeredAt in [nil, 999, 1000] as [Int64?] {
            let actions = try bench.arrive(registeredAt: registeredAt)
            let (outcome, publications) = try #require(bench.outcome(actions))
            #expect(HygieneBench.sent(actions).isEmpty)
            #expect(outcome.kind == .suppressed)
            #expect(outcome.reason == .local(.tokenUnregistered))
            #expect(outcome.unregisteredAt == Timestamp(milliseconds: 1000))
            #expect(outcome.tokenAction == .keep)
            #expect(outcome.attempts == 0)
            #expect(publications == [.outcome])
        }
        try #expect(HygieneBench.sent(bench.arrive(registeredAt: 1001)).count == 1)
    }

    @Test func `an accepted notification removes the entry and the token's status`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410, at: 1000)
        let second = try #require(HygieneBench.sent(try bench.arrive(registeredAt: 1001)).first)
        let (outcome, publications) = try #require(bench.outcome(bench.answer(second, 200)))
        #expect(outcome.isTokenReadmitted)
        #expect(publications == [.outcome, .tokenStatus])
        #expect(bench.list.count == 0)
        let third = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.outcome(bench.answer(third, 200))?.1 == [.outcome])
    }

    private enum Refusal: CaseIterable {
        case before
        case after
        /// After Kafka has the newer one: librdkafka does not know which of them it has.
        case late
        case byLostProducer
    }

    /// The topic's newest record of a token says whether it is dead.
    @Test(arguments: Refusal.allCases)
    private func `a token status that Kafka refused is not written after a newer one`(
        refusal: Refusal
    ) throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410, at: 1000)
        let older = PublicationTag(first, .tokenStatus)
        bench.engine.published(PublicationTag(first, .outcome))
        if refusal == .before { bench.engine.publicationFailed(older, now: bench.now) }
        let second = try #require(HygieneBench.sent(try bench.arrive(registeredAt: 1001)).first)
        let newer = PublicationTag(second, .tokenStatus)
        var turns = [bench.answer(second, 200)]
        #expect(turns[0].publications.map(\.tag.publication) == [.outcome, .tokenStatus])
        bench.engine.published(PublicationTag(second, .outcome))
        switch refusal {
        case .before: bench.engine.publicationFailed(newer, now: bench.now)
        case .after: bench.engine.publicationFailed(older, now: bench.now)
        case .late:
            bench.engine.published(newer)
            bench.engine.publicationFailed(older, now: bench.now)
        case .byLostProducer: bench.engine.producerReplaced()
        }
        turns.append(bench.turn())
        let dropped = turns.flatMap(\.dropped)
        #expect(dropped.map(\.tag) == [older] && dropped.map(\.isOutdated) == [true])
        bench.now.instant = bench.now.instant + .seconds(60)
        let later = turns[1].publications + bench.turn().publications
        let isRepeated = refusal == .before || refusal == .byLostProducer
        #expect(later.map(\.tag) == (isRepeated ? [newer] : []))
        bench.engine.published(newer)
        _ = bench.turn()
        #expect(bench.engine.inFlightEvents == 0)
    }

    @Test func `another 410 updates the time`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410, at: 1000)
        let second = try #require(HygieneBench.sent(try bench.arrive(registeredAt: 2000)).first)
        _ = bench.answer(second, 410, at: 3000)
        try #expect(bench.kind(bench.arrive(registeredAt: 2000)) == .suppressed)
    }

    @Test func `for a 410 without a time the answer's time counts`() throws {
        let bench = try HygieneBench()
        let now = bench.now.timestamp.milliseconds
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410)
        try #expect(bench.kind(bench.arrive(registeredAt: now)) == .suppressed)
        try #expect(HygieneBench.sent(bench.arrive(registeredAt: now + 1)).count == 1)
    }

    @Test func `an event that waits for a stream when its token dies is not sent`() throws {
        let bench = try HygieneBench(streams: 1)
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        try #expect(HygieneBench.sent(bench.arrive()).isEmpty)
        try #expect(HygieneBench.sent(bench.arrive(token: "0a0b")).isEmpty)
        let actions = bench.answer(first, 410, at: 1000)
        // Without the waiting event of the same token, the other device's is next.
        let sent = try #require(HygieneBench.sent(actions).first)
        #expect(bench.engine.delivery(sent)?.event?.deviceToken?.hexadecimal == "0a0b")
        #expect(actions.outcomes.map(\.kind) == [.unregistered, .suppressed])
    }

    @Test func `dead tokens from other shards and earlier runs count as well`() throws {
        let bench = try HygieneBench()
        let key = HygieneSettings().hashKey
        let token = key.hash(
            of: try #require(DeviceToken("00FF")),
            topic: APNsTopic("com.example.News"),
            environment: .production
        )
        bench.list.insert(token, since: Timestamp(milliseconds: 1000))
        try #expect(bench.kind(bench.arrive()) == .suppressed)
        try #expect(HygieneBench.sent(bench.arrive(token: "00fe")).count == 1)
    }

    @Test func `a token that another shard found alive is no longer dead here`() throws {
        let bench = try HygieneBench(streams: 1)
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410, at: 1000)
        try #expect(bench.kind(bench.arrive()) == .suppressed)
        // Another member sends an event registered later, and APNs accepts it.
        bench.list = SuppressionList(maxCount: 100)
        let second = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.kind(bench.answer(second, 200)) == .accepted)
    }

    @Test func `an event that waits for a stream meanwhile is sent`() throws {
        let bench = try HygieneBench(streams: 1)
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        _ = bench.answer(first, 410, at: 1000)
        // An event of another device has the stream.
        let other = try #require(HygieneBench.sent(try bench.arrive(token: "0a0b")).first)
        try #expect(HygieneBench.sent(bench.arrive(registeredAt: 1001)).isEmpty)
        bench.list = SuppressionList(maxCount: 100)
        let actions = bench.answer(other, 200)
        let sent = try #require(HygieneBench.sent(actions).first)
        let answered = try #require(bench.outcome(bench.answer(sent, 200)))
        #expect(answered.0.kind == .accepted)
    }

    @Test func `suppression can be turned off`() throws {
        let bench = try HygieneBench(HygieneSettings(suppressesUnregistered: false))
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(bench.kind(bench.answer(first, 410, at: 1000)) == .unregistered)
        #expect(bench.list.count == 0)
        try #expect(HygieneBench.sent(bench.arrive()).count == 1)
    }
}

@Suite struct StandingWordTests {
    @Test func `the status of a working token is withdrawn`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        let refused = try #require(bench.outcome(bench.answer(first, 400)))
        #expect(refused.1.contains(.tokenStatus))
        // The token is not dead: the next event is sent, and its result is kept from then on.
        let second = try #require(HygieneBench.sent(try bench.arrive()).first)
        let (accepted, publications) = try #require(bench.outcome(bench.answer(second, 200)))
        #expect(accepted.isTokenReadmitted)
        #expect(publications == [.outcome, .tokenStatus])
        let third = try #require(HygieneBench.sent(try bench.arrive()).first)
        #expect(try #require(bench.outcome(bench.answer(third, 200))).1 == [.outcome])
    }

    @Test func `events wait behind one that may show that the token is alive`() throws {
        for lives in [true, false] {
            let bench = try HygieneBench()
            let first = try #require(HygieneBench.sent(try bench.arrive()).first)
            _ = bench.answer(first, 410, at: 1000)
            let anew = try #require(HygieneBench.sent(try bench.arrive(registeredAt: 2000)).first)
            #expect(bench.outcome(try bench.arrive()) == nil, "not suppressed yet")
            let actions = bench.answer(anew, lives ? 200 : 410, at: 3000)
            let following = bench.turn()
            #expect(HygieneBench.sent(actions + following).count == (lives ? 1 : 0))
            #expect(bench.list.deadCount == (lives ? 0 : 1))
        }
    }
}

@Suite struct DuplicateTests {
    @Test func `the same notification from another position is a duplicate`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive(id: "e")).first)
        for isAnswered in [false, true] {
            if isAnswered { _ = bench.answer(first, 200) }
            let actions = try bench.arrive(id: "e", partition: 1)
            let (outcome, publications) = try #require(bench.outcome(actions))
            #expect(HygieneBench.sent(actions).isEmpty)
            #expect(outcome.kind == .duplicate)
            #expect(outcome.reason == .local(.duplicateEvent))
            #expect(publications == [.outcome])
        }
        try #expect(HygieneBench.sent(bench.arrive(token: "0a0b", id: "e")).count == 1)
    }

    @Test(arguments: [400, 410, 413, 500])
    func `a notification that was not accepted can be tried again`(status: Int) throws {
        let bench = try HygieneBench(HygieneSettings(suppressesUnregistered: false))
        let first = try #require(HygieneBench.sent(try bench.arrive(id: "e")).first)
        #expect(bench.kind(bench.answer(first, status)) != .accepted)
        try #expect(HygieneBench.sent(bench.arrive(id: "e")).count == 1)
    }

    @Test func `an event that is read again after a rebalance is not a duplicate`() throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive(id: "e", offset: 0)).first)
        _ = bench.answer(first, 200)
        // The commits are gone when the partition returns: it is read from its beginning.
        bench.engine.commitFinished(failed: [])
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        bench.assign()
        try #expect(HygieneBench.sent(bench.arrive(id: "e", offset: 0)).count == 1)
    }

    @Test func `an event that was handed back does not count as sent`() throws {
        let bench = try HygieneBench(streams: 1)
        try #expect(HygieneBench.sent(bench.arrive()).count == 1)
        try #expect(HygieneBench.sent(bench.arrive(id: "e", partition: 1)).isEmpty)
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        bench.assign()
        // The waiting event was handed back, so another record of the same notification is sent.
        try #expect(bench.kind(bench.arrive(id: "e", offset: 50)) != .duplicate)
    }

    @Test func `deduplication can be turned off`() throws {
        let bench = try HygieneBench(HygieneSettings(dedupWindow: 0))
        let first = try #require(HygieneBench.sent(try bench.arrive(id: "e")).first)
        _ = bench.answer(first, 200)
        try #expect(HygieneBench.sent(bench.arrive(id: "e")).count == 1)
    }
}

@Suite struct HeldTokenTests {
    @Test func `if every token fails, all but the first are held and none is suppressed`()
        throws
    {
        let bench = try HygieneBench()
        var removals = 0
        for _ in 0..<150 where try bench.tell(410).tokenAction == .remove { removals += 1 }
        #expect((100...150).contains(removals))
        let route = Route(credential: 0, environment: .production)
        #expect(bench.engine.tokenFuse(of: route)?.isBlown == true)
        let known = bench.list.count
        for status in [410, 400] {
            let outcome = try bench.tell(status)
            #expect(outcome.tokenAction == .hold)
            #expect(outcome.concernsTokenStatus)
        }
        #expect(bench.list.count == known)
        let other = Route(credential: 0, environment: .sandbox)
        #expect(bench.engine.tokenFuse(of: other)?.isBlown == false)
    }

    @Test func `answers that say nothing about the token do not count`() throws {
        let bench = try HygieneBench()
        for _ in 0..<300 { _ = try bench.tell(413) }
        let route = Route(credential: 0, environment: .production)
        #expect(bench.engine.tokenFuse(of: route)?.share == 0)
    }

    @Test func `without a fuse every answer counts`() throws {
        let bench = try HygieneBench(HygieneSettings(fuse: nil))
        for _ in 0..<300 {
            let action = try bench.tell(410).tokenAction
            #expect(action == .remove)
        }
    }
}

extension Outcome {
    /// The kinds whose token-status record is published, without the encoder's module.
    fileprivate var concernsTokenStatus: Bool { kind == .unregistered || kind == .rejected }
}
