import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// An engine with two tiers, three partitions (one of a retry topic), and a clock.
struct Desk {
    static let source = PartitionID(index: 0)
    static let tier = PartitionID(index: 1)
    static let otherTier = PartitionID(index: 2)
    static let failure = APNsAnswer(status: 503, reason: .apns(.serviceUnavailable))
    static let startMilliseconds: Int64 = 1_700_000_000_000

    var engine: DeliveryEngine
    let reader: ArrivalReader
    var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: Self.startMilliseconds)
    )

    /// By default every event has one attempt per round; delays are in seconds.
    init(
        attempts: Int = 1,
        later delays: [Int] = [60, 900],
        giveUpAfter: Duration = .seconds(24 * 3600),
        eventAge: Duration? = nil,
        intake: IntakeGate.Limits = .init(events: 100, bytes: 1 << 20)
    ) throws {
        let scope = CredentialScope(
            name: "news",
            bundleIDs: ["com.example.News"],
            defaultEnvironment: .production
        )
        let settings = try EngineSettings(
            credentials: [scope],
            retry: RetryPolicy(attempts: attempts),
            later: RetryTiers(delays.map { .seconds($0) }),
            giveUpAfter: giveUpAfter,
            intake: intake,
            eventAge: eventAge
        )
        engine = DeliveryEngine(settings: settings, seed: 1)
        reader = ArrivalReader(settings)
        let partitions = [Self.source, Self.tier, Self.otherTier]
        engine.partitionsAssigned(partitions)
        engine.storedOffsetsFetched(
            [Self.source: nil, Self.tier: nil, Self.otherTier: nil],
            now: now
        )
        _ = turn()
        engine.connectionOpened(ConnectionID(rawValue: 1), maxConcurrentStreams: 100, now: now)
    }

    mutating func turn(after duration: Duration = .zero) -> TurnDecision {
        now.instant = now.instant + duration
        now.timestamp.milliseconds += duration.milliseconds
        return engine.turnEnded(now: now)
    }

    mutating func arrive(
        _ offset: Int64,
        of partition: PartitionID = source,
        history: RetryHistory? = nil,
        schema: SchemaReference? = nil,
        _ change: (inout Event) -> Void = { _ in }
    ) throws -> TurnDecision {
        var event = Event(
            id: "e\(offset)",
            // Only one event per device is in flight.
            deviceToken: try #require(DeviceToken(String(0x1000_0000 + offset, radix: 16))),
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2
        )
        change(&event)
        let record = Record(
            partition: partition,
            offset: Offset(offset),
            timestamp: nil,
            key: nil,
            value: [0x7B, 0x7D]
        )
        let decoded = schema.map { DecodedRecord.awaitingSchema(event, $0) } ?? .event(event)
        engine.recordArrived(record, decoded, history: history, by: reader, now: now)
        return turn()
    }

    /// A history whose event is due in this many seconds.
    func history(dueIn seconds: Int64, tier: Int = 0, firstFailedAgo: Int64 = 60) -> RetryHistory {
        func time(_ offset: Int64) -> Timestamp {
            Timestamp(milliseconds: now.timestamp.milliseconds + offset * 1000)
        }
        return RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 7),
                offset: Offset(99)
            ),
            timestamp: nil,
            receivedAt: time(-70),
            attempts: 5,
            firstFailedAt: time(-firstFailedAgo),
            dueAt: time(seconds),
            tier: tier,
            reason: "ServiceUnavailable"
        )
    }

    /// The delivery's attempt fails with a 503.
    mutating func fail(_ actions: TurnDecision, _ answer: APNsAnswer = failure) throws
        -> TurnDecision
    {
        engine.responseArrived(answer, for: try #require(Self.sent(actions)), now: now)
        return turn()
    }

    /// APNs accepts these, and Kafka their outcomes.
    mutating func accept(_ ids: [DeliveryID]) {
        for id in ids {
            engine.responseArrived(APNsAnswer(status: 200), for: id, now: now)
        }
        _ = turn()
        for id in ids { engine.published(PublicationTag(id, .outcome)) }
    }

    /// The commits among the actions.
    static func committed(_ actions: TurnDecision) -> [PartitionID: Offset] {
        var offsets: [PartitionID: Offset] = [:]
        for case .commit(let commits) in actions.group {
            for commit in commits { offsets[commit.partition] = commit.offset }
        }
        return offsets
    }

    static func sent(_ actions: TurnDecision) -> DeliveryID? {
        actions.sends.first?.delivery
    }

    static func published(_ actions: TurnDecision) -> (id: DeliveryID, records: Publications)? {
        actions.published.first
    }

    func deferral(_ actions: TurnDecision) -> Deferral? {
        actions.publications.first?.conclusion.deferral
    }

    func outcome(_ actions: TurnDecision) -> Outcome? {
        actions.outcomes.first
    }

    /// The first promise.
    var isAccountedFor: Bool {
        let counts = engine.counts
        return counts.consumed
            == counts.terminal + counts.tombstones + counts.released + counts.deferred
            + engine.inFlightEvents
    }
}

@Suite struct DeferralTests {
    // MARK: Out

    @Test func `an event that failed all attempts goes to the first tier`() throws {
        var desk = try Desk()
        let actions = try desk.fail(try desk.arrive(0))
        #expect(Desk.published(actions)?.records == [.retry])
        #expect(desk.outcome(actions) == nil)
        let deferral = try #require(desk.deferral(actions))
        #expect(deferral.tier == 0)
        #expect(deferral.dueAt.milliseconds == Desk.startMilliseconds + 60_000)
        #expect(deferral.firstFailedAt.milliseconds == Desk.startMilliseconds)
        #expect(deferral.attempts == 1)
        #expect(deferral.reason == .apns(.serviceUnavailable))
    }

    @Test func `the offset settles when Kafka has the retry record, and counts as deferred`()
        throws
    {
        var desk = try Desk()
        let actions = try desk.fail(try desk.arrive(0))
        let id = try #require(Desk.published(actions)?.id)
        #expect(desk.isAccountedFor)
        desk.engine.publicationFailed(PublicationTag(id, .retry), now: desk.now)
        #expect(desk.turn(after: .seconds(2)).tags == [PublicationTag(id, .retry)])
        #expect(desk.engine.counts.deferred == 0)
        desk.engine.published(PublicationTag(id, .retry))
        #expect(desk.engine.counts.deferred == 1)
        #expect(desk.engine.counts.terminal == 0)
        #expect(desk.engine.inFlightEvents == 0)
        #expect(desk.isAccountedFor)
        desk.engine.commitFinished(failed: [])
        let commits = desk.turn(after: .seconds(1))
        #expect(Desk.committed(commits) == [Desk.source: Offset(1)])
    }

    @Test func `a new producer gets the retry record again`() throws {
        var desk = try Desk()
        let id = try #require(Desk.published(try desk.fail(try desk.arrive(0)))?.id)
        desk.engine.producerReplaced()
        #expect(desk.turn().tags == [PublicationTag(id, .retry)])
    }

    @Test func `a retry record that is too large for its topic ends the event`() throws {
        var desk = try Desk()
        let id = try #require(Desk.published(try desk.fail(try desk.arrive(0)))?.id)
        desk.engine.deferralRefused(id, now: desk.now)
        let actions = desk.turn()
        #expect(Desk.published(actions)?.records == [.outcome, .deadLetter])
        #expect(desk.outcome(actions)?.kind == .undeliverable)
        #expect(desk.outcome(actions)?.httpStatus == 503)
        // A late report about the retry record settles nothing.
        desk.engine.published(PublicationTag(id, .retry))
        #expect(desk.engine.counts.deferred == 0)
        desk.engine.published(PublicationTag(id, .outcome))
        desk.engine.published(PublicationTag(id, .deadLetter))
        #expect(desk.engine.counts.terminal == 1)
        #expect(desk.isAccountedFor)
    }

    @Test(
        arguments: [
            // No tiers; expired before, at and after the due time; by the first failure's age.
            ([], nil, 86_400, nil), ([60], 60, 86_400, nil), ([60], 61, 86_400, 0),
            ([60], nil, 60, nil), ([60], nil, 61, 0),
        ] as [([Int], Int64?, Int, Int?)]
    )
    func `nothing is deferred beyond its expiration or the time to give up`(
        later: [Int],
        expiration: Int64?,
        giveUpAfter: Int,
        tier: Int?
    ) throws {
        var desk = try Desk(later: later, giveUpAfter: .seconds(giveUpAfter))
        let actions = try desk.fail(
            try desk.arrive(0) { event in
                event.expiration = expiration.map { Desk.startMilliseconds / 1000 + $0 }
            }
        )
        #expect(desk.deferral(actions)?.tier == tier)
        guard tier == nil else { return }
        let outcome = try #require(desk.outcome(actions))
        #expect(outcome.kind == .undeliverable)
        #expect(outcome.reason == .apns(.serviceUnavailable))
        #expect(outcome.httpStatus == 503)
    }

    @Test func `an event for now or never still goes to a retry topic until its time`() throws {
        var desk = try Desk()
        let time = Timestamp(milliseconds: Desk.startMilliseconds + 900_000)
        let early = try desk.arrive(0) {
            $0.expiration = 0
            $0.notBefore = time
        }
        #expect(desk.deferral(early)?.dueAt == time)
    }

    @Test func `the wait that APNs asks for decides the tier`() throws {
        var desk = try Desk()
        var answer = Desk.failure
        answer.retryAfter = .seconds(61)
        let actions = try desk.fail(try desk.arrive(0), answer)
        #expect(desk.deferral(actions)?.tier == 1)
    }

    // MARK: Reading retry records

    @Test func `a record that is not due pauses its partition and waits`() throws {
        var desk = try Desk()
        let actions = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        #expect(Desk.sent(actions) == nil)
        #expect(actions.group.contains(.pause([Desk.tier])))
        #expect(desk.engine.heldEvents == 1)
        #expect(desk.engine.inFlightEvents == 1)
        #expect(desk.isAccountedFor)
        // Other partitions continue.
        #expect(Desk.sent(try desk.arrive(0)) != nil)
        let early = desk.turn(after: .milliseconds(29_999))
        #expect(!early.group.contains(.resume([Desk.tier])))
        let due = desk.turn(after: .milliseconds(1))
        #expect(Desk.sent(due) != nil)
        #expect(due.group.contains(.resume([Desk.tier])))
        #expect(desk.engine.heldEvents == 0)
        #expect(desk.engine.inFlightEvents == 2)
    }

    @Test(arguments: [0, -1, -86_400] as [Int64])
    func `a record that is due is sent at once`(dueIn: Int64) throws {
        var desk = try Desk()
        let actions = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: dueIn))
        #expect(Desk.sent(actions) != nil)
        #expect(!actions.group.contains(.pause([Desk.tier])))
    }

    @Test func `neither clock nor forger makes a partition wait longer than its tier`() throws {
        var desk = try Desk()
        let forged = desk.history(dueIn: 1 << 40)
        _ = try desk.arrive(0, of: Desk.tier, history: forged)
        #expect(Desk.sent(desk.turn(after: .milliseconds(60_999))) == nil)
        #expect(Desk.sent(desk.turn(after: .milliseconds(1))) != nil)
    }

    @Test func `a retry record whose schema is unknown waits until it is due anyway`() throws {
        var desk = try Desk()
        let schema = SchemaReference.id(7)
        let held = desk.history(dueIn: 30)
        let stopped = try desk.arrive(0, of: Desk.tier, history: held, schema: schema)
        #expect(stopped.group.contains(.pause([Desk.tier])))
        #expect(!desk.turn(after: .seconds(29)).schemaFetches.contains(schema))
        #expect(desk.turn(after: .seconds(1)).schemaFetches.contains(schema))
    }

    @Test func `forged records do not add up their waits`() throws {
        var desk = try Desk()
        for offset in 0..<3 {
            var forged = desk.history(dueIn: 1 << 40)
            // Written one minute ago, so the tier's delay is over.
            forged.writtenAt = desk.now.timestamp.advanced(seconds: -61)
            let actions = try desk.arrive(Int64(offset), of: Desk.tier, history: forged)
            #expect(desk.engine.heldEvents == 0)
            #expect(!actions.group.contains(.pause([Desk.tier])))
        }
    }

    @Test func `a jump of the wall clock does not release waiting records`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        desk.now.timestamp.milliseconds += 3_600_000
        #expect(Desk.sent(desk.turn(after: .seconds(1))) == nil)
    }

    @Test func `the outcome counts all rounds, and its times start at the first`() throws {
        var desk = try Desk()
        let actions = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 0))
        let id = try #require(Desk.sent(actions))
        desk.engine.responseArrived(APNsAnswer(status: 200), for: id, now: desk.now)
        let concluded = desk.turn()
        let outcome = try #require(desk.outcome(concluded))
        #expect(outcome.kind == .accepted)
        #expect(outcome.attempts == 6)
        #expect(outcome.receivedAt.milliseconds == Desk.startMilliseconds - 70_000)
        let source = TopicPartition(topic: KafkaTopic("news.retry.1m"), partition: 0)
        let origin = desk.engine.delivery(id)?.arrival.origin(readFrom: source)
        #expect(origin?.partition.topic == KafkaTopic("news"))
        #expect(origin?.offset == Offset(99))
    }

    @Test func `the next round waits in the next tier and keeps the history`() throws {
        var desk = try Desk()
        let history = desk.history(dueIn: 0)
        let actions = try desk.fail(try desk.arrive(4, of: Desk.tier, history: history))
        let deferral = try #require(desk.deferral(actions))
        #expect(deferral.tier == 1)
        let source = TopicPartition(topic: KafkaTopic("news.retry.1m"), partition: 0)
        let arrival = try #require(actions.publications.first?.arrival)
        let next = arrival.history(with: deferral, readFrom: source)
        var expected = history
        expected.attempts = 6
        expected.tier = 1
        expected.dueAt = Timestamp(milliseconds: Desk.startMilliseconds + 900_000)
        #expect(next == expected)
    }

    @Test func `a round without an attempt counts as none`() throws {
        var desk = try Desk()
        var history = desk.history(dueIn: 0, tier: 1)
        history.reason = LocalReason.campaignPaused.rawValue
        let actions = try desk.fail(try desk.arrive(4, of: Desk.tier, history: history))
        #expect(desk.deferral(actions)?.tier == 0)
    }

    @Test func `the time to give up stands still while an event waits for its time`() throws {
        let topics = RetryTopics(sources: [KafkaTopic("news")], delayNames: ["1m", "15m"])
        let topic = TopicPartition(topic: KafkaTopic("news.retry.15m"), partition: 0)
        var desk = try Desk(giveUpAfter: .seconds(600))
        let time = Timestamp(milliseconds: Desk.startMilliseconds + 900_000)
        let waiting = try desk.arrive(0) { $0.notBefore = time }
        let arrival = try #require(waiting.publications.first?.arrival)
        let deferral = try #require(desk.deferral(waiting))
        let purpose = try #require(topics.purpose(of: topic.topic))
        // The record is read as soon as it is written.
        let history = RetryHistory(
            headers: arrival.history(with: deferral, readFrom: topic)
                .headers(over: [], tierName: "15m"),
            writtenAt: desk.now.timestamp,
            of: purpose,
            in: topics,
            now: desk.now.timestamp
        )
        _ = try desk.arrive(1, of: Desk.otherTier, history: history)
        #expect(desk.turn(after: .seconds(899)).sends.isEmpty)
        #expect(desk.turn(after: .seconds(1)).sends.count == 1)
    }

    /// Before, it had waited in a retry topic for its campaign, or after a failed attempt.
    @Test(arguments: [Reason.local(.campaignPaused), .apns(.serviceUnavailable)])
    func `the time to give up stands still while an event waits in memory for its campaign`(
        reason: Reason
    ) throws {
        let name = try #require(CampaignName("spring"))
        var orders = CampaignOrders()
        var desk = try Desk(later: [5], giveUpAfter: .seconds(40))
        _ = orders.set(CampaignOrder(.paused), for: name, writtenAt: desk.now.timestamp)
        desk.engine.campaignsOrdered(orders, share: 1, now: desk.now)
        var history = desk.history(dueIn: 0, firstFailedAgo: 10)
        history.reason = reason.text
        _ = try desk.arrive(0, of: Desk.tier, history: history) { $0.campaign = name }
        _ = desk.turn(after: .seconds(50))
        desk.engine.campaignsOrdered(CampaignOrders(), share: 1, now: desk.now)
        let deferral = try #require(desk.deferral(try desk.fail(desk.turn())))
        #expect(deferral.tier == 0)
        guard reason == .local(.campaignPaused) else {
            // Ten seconds have passed in which it did not wait for its campaign.
            let ago = desk.now.timestamp.milliseconds - deferral.firstFailedAt.milliseconds
            #expect(ago == 10_000)
            return
        }
        // The next process reads the record again.
        let again = try desk.arrive(1, of: Desk.otherTier, history: history) { $0.campaign = name }
        #expect(desk.deferral(try desk.fail(again))?.tier == 0)
    }

    @Test(arguments: [(firstFailedAgo: 99 as Int64, isOver: false), (100, true)])
    func `the time to give up starts at the first failure of all rounds`(
        firstFailedAgo: Int64,
        isOver: Bool
    ) throws {
        var desk = try Desk(later: [60], giveUpAfter: .seconds(160))
        let history = desk.history(dueIn: 0, firstFailedAgo: firstFailedAgo)
        let actions = try desk.fail(try desk.arrive(0, of: Desk.tier, history: history))
        #expect((desk.deferral(actions) == nil) == isOver)
        #expect((desk.outcome(actions)?.kind == .undeliverable) == isOver)
        if isOver { #expect(desk.outcome(actions)?.attempts == 6) }
    }

    /// The retry topic was not read for a while, or was read in time.
    @Test(
        arguments: [(firstFailedAgo: 86_400 as Int64, isOver: false), (86_401, true)],
        // A wait for a time gives no more time, once it is over.
        [Reason.apns(.serviceUnavailable), .local(.notDueYet)]
    )
    func `an event that returns after the time to give up is not sent`(
        time: (firstFailedAgo: Int64, isOver: Bool),
        reason: Reason
    ) throws {
        var desk = try Desk()
        var history = desk.history(dueIn: -60, firstFailedAgo: time.firstFailedAgo)
        history.reason = reason.text
        let actions = try desk.arrive(0, of: Desk.tier, history: history)
        #expect((Desk.sent(actions) == nil) == time.isOver)
        guard time.isOver else { return }
        let outcome = try #require(desk.outcome(actions))
        #expect(outcome.kind == .undeliverable)
        #expect(outcome.reason == reason)
        #expect(outcome.attempts == 5)
    }

    @Test func `an event that expires while it waits is not sent`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30)) {
            $0.expiration = Desk.startMilliseconds / 1000 + 20
        }
        let actions = desk.turn(after: .seconds(30))
        #expect(Desk.sent(actions) == nil)
        #expect(desk.outcome(actions)?.kind == .expired)
    }

    @Test func `a partition continues when its last waiting record is due`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 10))
        // Records from the same batch, before the pause.
        let second = try desk.arrive(1, of: Desk.tier, history: desk.history(dueIn: 20))
        #expect(!second.group.contains(.pause([Desk.tier])))
        let first = desk.turn(after: .seconds(10))
        #expect(Desk.sent(first) != nil)
        #expect(!first.group.contains(.resume([Desk.tier])))
        #expect(desk.turn(after: .seconds(10)).group.contains(.resume([Desk.tier])))
    }

    @Test func `a partition pauses for part of its tier's delay, the record waits for all of it`()
        throws
    {
        // A sixtieth of a minute.
        var desk = try Desk()
        var soon = desk.history(dueIn: 0)
        soon.dueAt.milliseconds += 10
        _ = try desk.arrive(0, of: Desk.tier, history: soon)
        let due = desk.turn(after: .milliseconds(10))
        #expect(Desk.sent(due) != nil)
        #expect(!due.group.contains(.resume([Desk.tier])))
        #expect(desk.engine.nextDeadline(now: desk.now.instant) != nil)
        #expect(!desk.turn(after: .milliseconds(989)).group.contains(.resume([Desk.tier])))
        #expect(desk.turn(after: .milliseconds(1)).group.contains(.resume([Desk.tier])))
    }

    // MARK: Together with other reasons to pause

    @Test func `waiting records take no room from records that can be sent`() throws {
        var desk = try Desk(intake: .init(events: 2, bytes: 1 << 20))
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        _ = try desk.arrive(0, of: Desk.otherTier, history: desk.history(dueIn: 30))
        _ = desk.turn(after: .seconds(10))
        #expect(!desk.engine.isPaused(Desk.source))
        #expect(desk.engine.intakeBudget(now: desk.now.instant) > 0)
        #expect(desk.engine.inFlightEvents == 2)
        #expect(desk.isAccountedFor)
    }

    @Test func `a full intake and a tier do not resume each other's partitions`() throws {
        var desk = try Desk(intake: .init(events: 2, bytes: 1 << 20))
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 20)) { $0.id = "tier" }
        _ = try desk.arrive(0, of: Desk.otherTier, history: desk.history(dueIn: 50))
        // The connection has only one stream until APNs has answered.
        desk.accept([try #require(Desk.sent(try desk.arrive(0)))])
        let sent = [try desk.arrive(1), try desk.arrive(2)].compactMap(Desk.sent)
        // At the hard limit, every partition is paused.
        _ = desk.turn(after: .seconds(1))
        _ = desk.turn(after: .seconds(1))
        #expect(desk.engine.isPaused(Desk.source))
        // A due record waits for room, and requests no turn before there is any.
        let full = desk.turn(after: .seconds(18))
        #expect(Desk.sent(full) == nil)
        #expect(!full.group.contains { if case .resume = $0 { true } else { false } })
        let next = try #require(desk.engine.nextDeadline(now: desk.now.instant))
        #expect(next > desk.now.instant)
        desk.accept(sent)
        let due = desk.turn()
        #expect(due.group.contains(.resume([Desk.source, Desk.tier])))
        #expect(Desk.sent(due) != nil)
        #expect(desk.turn(after: .seconds(30)).group.contains(.resume([Desk.otherTier])))
        #expect(desk.isAccountedFor)
    }

    // MARK: Rebalance and shutdown

    @Test func `a retry topic is read from its beginning, wherever a group starts`() throws {
        var settings = try EngineSettings(credentials: [], retry: RetryPolicy())
        settings.start = .latest
        var engine = DeliveryEngine(settings: settings, seed: 1)
        engine.partitionsAssigned([Desk.source, Desk.tier], ofRetryTopics: [Desk.tier])
        let now = Moment(instant: Instant(nanoseconds: 0), timestamp: Timestamp(milliseconds: 0))
        engine.storedOffsetsFetched([Desk.source: nil, Desk.tier: nil], now: now)
        let actions: TurnDecision = engine.turnEnded(now: now)
        let starts = [
            PartitionStart(partition: Desk.source, position: .end),
            PartitionStart(partition: Desk.tier, position: .beginning),
        ]
        #expect(actions.group.contains(.assign(starts)))
    }

    @Test func `shutdown does not wait for records that are not due`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        desk.engine.commitFinished(failed: [])
        desk.engine.shutdownRequested(now: desk.now)
        #expect(desk.engine.inFlightEvents == 0)
        #expect(desk.engine.counts.released == 1)
        #expect(desk.isAccountedFor)
        #expect(desk.turn().group.contains(.leave))
    }

    @Test func `a rebalance hands back records that are not due, unsettled`() throws {
        var desk = try Desk()
        _ = try desk.arrive(5, of: Desk.tier, history: desk.history(dueIn: 30))
        desk.engine.commitFinished(failed: [])
        desk.engine.partitionsRevoked(lost: false, now: desk.now)
        let actions = desk.turn()
        #expect(actions.group.contains(.unassign))
        #expect(Desk.committed(actions)[Desk.tier] != Offset(6))
        #expect(desk.isAccountedFor)
        // The same record again, in the next assignment.
        desk.engine.partitionsAssigned([Desk.tier])
        desk.engine.storedOffsetsFetched(
            [Desk.tier: CommittedPosition(offset: Offset(5))],
            now: desk.now
        )
        _ = desk.turn()
        let again = try desk.arrive(5, of: Desk.tier, history: desk.history(dueIn: 30))
        #expect(again.group.contains(.pause([Desk.tier])))
        #expect(Desk.sent(desk.turn(after: .seconds(30))) != nil)
        #expect(desk.isAccountedFor)
    }

    @Test func `a lost assignment releases waiting records`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        desk.engine.partitionsRevoked(lost: true, now: desk.now)
        #expect(desk.engine.heldEvents == 0)
        #expect(desk.engine.inFlightEvents == 0)
        #expect(Desk.sent(desk.turn(after: .seconds(30))) == nil)
        #expect(desk.isAccountedFor)
    }

    @Test func `a delivery of an earlier assignment is handed back, not deferred`() throws {
        var desk = try Desk()
        let actions = try desk.arrive(0)
        desk.engine.partitionsRevoked(lost: true, now: desk.now)
        #expect(Desk.published(try desk.fail(actions)) == nil)
        #expect(desk.engine.counts.released == 1)
        #expect(desk.isAccountedFor)
    }
}
