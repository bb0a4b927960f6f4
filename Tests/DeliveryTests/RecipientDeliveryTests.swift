import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// A record's recipients are delivered one by one, and settle its offset together.
@Suite struct RecipientDeliveryTests {
    private static let refused = APNsAnswer(status: 503, reason: .apns(.serviceUnavailable))

    /// An event with these tokens; nil is an invalid entry.
    private static func event(
        _ tokens: [String?],
        _ campaign: CampaignName?,
        notBefore: Timestamp? = nil,
        expiration: Int64? = nil
    ) -> FanOut {
        var list = RecipientList.Builder(bytes: 0..<8, count: tokens.count)
        for token in tokens {
            if let token {
                list.append(checked: token.utf8.span, bytes: 1..<7)
            } else {
                let refusal = RecipientList.Refusal(reason: .schemaViolation, violations: [])
                list.append(refusal, bytes: 1..<7)
            }
        }
        var common = FanOut.Common(
            id: "e",
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2,
            expiration: expiration
        )
        common.campaign = campaign
        common.notBefore = notBefore
        return FanOut(common, list.finished())
    }

    private static func distinctTokens(_ count: Int) -> [String?] {
        (0..<count).map { String(0x1000 + $0, radix: 16) }
    }

    /// A bench whose connection has answered, and so opens more than one stream; offset 0 is
    /// settled.
    private static func provenBench(
        attempts: Int = 5,
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws -> Bench {
        var bench = try Bench(attempts: attempts, change)
        try prove(&bench)
        return bench
    }

    private static func prove(_ bench: inout Bench, offset: Int64 = 0) throws {
        let id = try #require(Bench.sent(try bench.arrive(offset)))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        for record in bench.turn().publications { bench.engine.published(record.tag) }
        // The first commit is the group's own position, the second one that of the record.
        for _ in 0..<2 {
            bench.engine.commitFinished(failed: [])
            _ = bench.turn(after: .seconds(5))
        }
        bench.engine.commitFinished(failed: [])
    }

    /// The event arrives at this offset.
    private static func arrive(
        _ tokens: [String?],
        at offset: Int64 = 1,
        of campaign: CampaignName? = nil,
        notBefore: Timestamp? = nil,
        expiration: Int64? = nil,
        _ bench: inout Bench
    ) -> TurnDecision {
        let record = Record(
            partition: Bench.partition,
            offset: Offset(offset),
            timestamp: nil,
            key: nil,
            value: Array("{}".utf8)
        )
        let event = event(tokens, campaign, notBefore: notBefore, expiration: expiration)
        let decoded = DecodedRecord.fanOut(event, awaiting: nil)
        bench.engine.recordArrived(bench.reader.read(record, decoded, now: bench.now))
        return takeRecipients(&bench)
    }

    private static func takeRecipients(_ bench: inout Bench) -> TurnDecision {
        while let next = bench.engine.nextRecipient(now: bench.now.instant) {
            let arrival = bench.reader.read(recipient: next.index, of: next.arrival)
            bench.engine.recipientArrived(next, arrival, now: bench.now)
        }
        return bench.turn()
    }

    private static func commits(_ turn: TurnDecision) -> [Offset] {
        turn.group.flatMap { step in
            if case .commit(let commits) = step { commits.map(\.offset) } else { [Offset]() }
        }
    }

    @Test func `each recipient has an outcome if Kafka refuses the record that is to wait`() throws
    {
        var bench = try Self.provenBench { $0.later = RetryTiers([.seconds(60)]) }
        let time = Timestamp(milliseconds: bench.now.timestamp.milliseconds + 1000)
        let turn = Self.arrive(["1a", "1b", "1c"], notBefore: time, &bench)
        let record = try #require(turn.publications.first)
        #expect(record.tag.publication == .retry && turn.publications.count == 1)
        bench.engine.deferralRefused(record.tag.delivery, now: bench.now)
        let outcomes = Self.takeRecipients(&bench).publications
            .filter { $0.tag.publication == .outcome }
            .compactMap { $0.conclusion.outcome(of: $0.arrival) }
        #expect(outcomes.map(\.subject.recipient?.index) == [0, 1, 2])
        #expect(outcomes.allSatisfy { $0.reason == .local(.notDueYet) })
    }

    @Test(arguments: [true, false])
    func `recipients that wait for a pause make way for other records`(isOfBytes: Bool) throws {
        let name = try #require(CampaignName("spring"))
        var bench = try Self.provenBench {
            $0.later = RetryTiers([.seconds(60)])
            if isOfBytes { $0.intake = .init(events: 100, bytes: 10) }
        }
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: name, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        #expect(Self.arrive(["1a", "1b"], of: name, &bench).publications.isEmpty)
        if !isOfBytes { _ = try bench.arrive(2_200_000) }
        var deferred: [Deferral] = []
        for _ in 0..<10 {
            deferred += Self.takeRecipients(&bench).publications.compactMap(\.conclusion.deferral)
            deferred += bench.turn(after: .seconds(1)).publications
                .compactMap(\.conclusion.deferral)
        }
        #expect(deferred.map { $0.recipients.map(\.index) } == [[0, 1]])
    }

    @Test func `the end of a pause is a deadline if only recipients wait for it`() throws {
        let name = try #require(CampaignName("spring"))
        var bench = try Self.provenBench()
        let end = bench.now.instant + .seconds(20)
        let until = Timestamp(milliseconds: bench.now.timestamp.milliseconds + 20_000)
        var orders = CampaignOrders()
        let order = CampaignOrder(.paused, until: until)
        _ = orders.set(order, for: name, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        #expect(Self.arrive(["1a", "1b"], of: name, &bench).sends.isEmpty)
        #expect(bench.engine.awaitingCampaignCount == 0 && bench.engine.waitingRecipients == 2)
        for _ in 0..<100 where bench.now.instant < end {
            let next = try #require(bench.engine.nextDeadline(now: bench.now.instant))
            _ = bench.turn(after: next - bench.now.instant)
        }
        #expect(bench.now.instant == end)
        #expect(Self.takeRecipients(&bench).sends.count == 2)
    }

    @Test func `recipients that expire while their campaign is paused are not given up`() throws {
        let name = try #require(CampaignName("spring"))
        var bench = try Self.provenBench()
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: name, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        let expiration = bench.now.timestamp.seconds + 30
        let tokens: [String?] = ["1a", "1b"]
        let paused = Self.arrive(tokens, of: name, expiration: expiration, &bench)
        #expect(paused.publications.isEmpty && bench.engine.waitingRecipients == 2)
        _ = bench.turn(after: .seconds(31))
        bench.engine.campaignsOrdered(CampaignOrders(), share: 1, now: bench.now)
        _ = bench.turn()
        let turn = Self.takeRecipients(&bench)
        #expect(turn.outcomes.map(\.kind) == [.expired, .expired])
        let givenUp = turn.publications.filter { record in
            guard case .ended(let ending) = record.conclusion else { return false }
            return record.arrival.isGivenUp(ending)
        }
        #expect(givenUp.isEmpty)
    }

    @Test func `each recipient has an outcome, and the last one settles the record`() throws {
        var bench = try Self.provenBench()
        var turn = Self.arrive(["1a", "1A", nil, "1c"], &bench)
        #expect(turn.sends.map(\.arrival.recipient) == [0, 3])
        var records = turn.publications
        for send in turn.sends {
            bench.engine.responseArrived(
                APNsAnswer(status: 200),
                for: send.delivery,
                now: bench.now
            )
        }
        turn = bench.turn()
        records += turn.publications
        let outcomes = records.filter { $0.tag.publication == .outcome }
            .compactMap { $0.conclusion.outcome(of: $0.arrival) }
        let found = Dictionary(grouping: outcomes) { $0.subject.recipient?.index }
        #expect(
            found.mapValues { $0.map(\.kind) } == [
                0: [.accepted], 1: [.duplicate], 2: [.invalid], 3: [.accepted],
            ]
        )
        #expect(found[1]?.first?.reason == .local(.duplicateRecipient))
        #expect(outcomes.allSatisfy { $0.subject.recipient?.count == 4 })
        for record in records.dropLast() { bench.engine.published(record.tag) }
        #expect(Self.commits(bench.turn(after: .seconds(5))).allSatisfy { $0 == Offset(1) })
        records.last.map { _ = bench.engine.published($0.tag) }
        bench.engine.commitFinished(failed: [])
        #expect(Self.commits(bench.turn(after: .seconds(5))) == [Offset(2)])
        #expect(bench.engine.inFlightEvents == 0 && bench.engine.inFlightBytes == 0)
        #expect(bench.engine.counts.consumed == 5 && bench.engine.counts.terminal == 5)
    }

    @Test func `recipients that fail are retried in one record, with a history of each`() throws {
        var bench = try Self.provenBench(attempts: 1) { $0.later = RetryTiers([.seconds(60)]) }
        let turn = Self.arrive(Self.distinctTokens(4), &bench)
        for send in turn.sends {
            let isAccepted = send.arrival.recipient == 2
            let answer = isAccepted ? APNsAnswer(status: 200) : Self.refused
            bench.engine.responseArrived(answer, for: send.delivery, now: bench.now)
        }
        let first = bench.turn()
        #expect(first.publications.map(\.arrival.recipient) == [2])
        for record in first.publications { bench.engine.published(record.tag) }
        let second = bench.turn(after: .seconds(1))
        let record = try #require((first.publications + second.publications).last)
        let deferral = try #require(record.conclusion.deferral)
        #expect(deferral.recipients.map(\.index) == [0, 1, 3])
        let source = TopicPartition(topic: KafkaTopic("source"), partition: 0)
        let history = record.arrival.history(with: deferral, readFrom: source)
        #expect(
            history.recipients.map(\.place)
                == [0, 1, 3].map { RecipientPlace(index: $0, count: 4) }
        )
        #expect(history.recipients.map(\.attempts) == [1, 1, 1])
        bench.engine.published(record.tag)
        bench.engine.commitFinished(failed: [])
        #expect(Self.commits(bench.turn(after: .seconds(5))).last == Offset(2))
        #expect(bench.engine.counts.deferred == 3 && bench.engine.inFlightEvents == 0)
        #expect(bench.engine.inFlightBytes == 0)
    }

    @Test func `many recipients leave places for other events`() throws {
        var bench = try Self.provenBench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        _ = Self.arrive(Self.distinctTokens(1000), &bench)
        let taken = bench.engine.inFlightEvents
        #expect(taken >= 100 && taken <= 400)
        _ = try bench.arrive(2)
        #expect(bench.engine.inFlightEvents == taken + 1)
        #expect(bench.engine.waitingRecipients == 1000 - taken)
        _ = Self.takeRecipients(&bench)
        // A stream was opened meanwhile, which made room for one.
        #expect(bench.engine.inFlightEvents <= taken + 2)
    }

    @Test func `a backlog of other events does not keep recipients out of the queue`() throws {
        var bench = try Self.provenBench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        for offset in Int64(1)...300 { _ = try bench.arrive(offset) }
        let taken = bench.engine.inFlightEvents
        #expect(taken == 300)
        _ = Self.arrive(Self.distinctTokens(50), at: 301, &bench)
        #expect(bench.engine.inFlightEvents == taken + 50)
        #expect(bench.engine.waitingRecipients == 0)
    }

    @Test func `a backlog that takes every free place leaves some to recipients`() throws {
        var bench = try Self.provenBench { $0.intake = .init(events: 100, bytes: 1 << 30) }
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 10, now: bench.now)
        var offset: Int64 = 0
        var sent: [DeliveryID] = []
        func took(_ turn: TurnDecision, _ bench: inout Bench) {
            for record in turn.publications { bench.engine.published(record.tag) }
            sent += turn.sends.map(\.delivery)
        }
        for round in 0..<200 {
            for id in sent {
                bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
            }
            sent = []
            for _ in 0..<bench.engine.intakeBudget(now: bench.now.instant) {
                offset += 1
                took(try bench.arrive(offset), &bench)
            }
            if round == 9 {
                #expect(bench.engine.inFlightEvents > 70)
                offset += 1
                took(Self.arrive(Self.distinctTokens(200), at: offset, &bench), &bench)
                #expect(bench.engine.waitingRecipients >= 190)
            }
            took(Self.takeRecipients(&bench), &bench)
            took(bench.turn(after: .milliseconds(10)), &bench)
            #expect(bench.engine.inFlightEvents <= 100)
        }
        #expect(bench.engine.waitingRecipients == 0)
        // Both got their part: ten events are sent in each round.
        #expect(offset > 1000)
    }

    @Test func `the bytes in flight include what a record with few recipients takes`() throws {
        var bench = try Self.provenBench()
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        _ = Self.arrive(Self.distinctTokens(1000), &bench)
        let before = bench.engine.inFlightBytes
        for offset in Int64(2)...11 { _ = Self.arrive(["1a"], at: offset, &bench) }
        #expect(bench.engine.inFlightBytes >= before + 10 * 2048)
    }

    @Test func `recipients of a cancelled campaign end although their route is full`() throws {
        var bench = try Self.provenBench()
        let campaign = try #require(CampaignName("spring"))
        bench.engine.streamLimitChanged(ConnectionID(rawValue: 1), to: 1, now: bench.now)
        _ = Self.arrive(Self.distinctTokens(1000), &bench)
        // A stream was opened meanwhile, which made room for one.
        _ = Self.takeRecipients(&bench)
        let taken = bench.engine.inFlightEvents
        #expect(Self.arrive(["01", "02", "03"], at: 2, of: campaign, &bench).outcomes.isEmpty)
        #expect(bench.engine.inFlightEvents == taken)
        #expect(bench.engine.campaignProgress.map(\.waiting) == [3])
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.cancelled), for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        let turn = Self.takeRecipients(&bench)
        #expect(turn.outcomes.map(\.kind) == [.cancelled, .cancelled, .cancelled])
    }

    @Test func `of a campaign's record, only the recipients to be retried count as waiting`() throws
    {
        var bench = try Self.provenBench(attempts: 1) { $0.later = RetryTiers([.seconds(60)]) }
        let campaign = try #require(CampaignName("spring"))
        let turn = Self.arrive(Self.distinctTokens(4), of: campaign, &bench)
        for (index, send) in turn.sends.enumerated() {
            let answer = index == 2 ? APNsAnswer(status: 200) : Self.refused
            bench.engine.responseArrived(answer, for: send.delivery, now: bench.now)
        }
        for record in bench.turn().publications { bench.engine.published(record.tag) }
        _ = bench.turn(after: .seconds(1))
        #expect(bench.engine.campaignProgress.map(\.waiting) == [3])
    }

    @Test func `a partition that returns has its recipients sent in the order of its log`() throws {
        let name = try #require(CampaignName("spring"))
        var bench = try Self.provenBench()
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: name, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        for offset in [Int64(1), 2] {
            #expect(Self.arrive(["1a", "1b"], at: offset, of: name, &bench).sends.isEmpty)
        }
        _ = bench.partitionReturns(
            with: PartitionCommit(partition: Bench.partition, offset: Offset(1), metadata: "")
        )
        bench.engine.campaignsOrdered(CampaignOrders(), share: 1, now: bench.now)
        // Both are read in one turn, and take the places that they had, in another order.
        bench.hear(1, .fanOut(Self.event(["1a", "1b"], name), awaiting: nil))
        bench.hear(2, .fanOut(Self.event(["1c", "1d"], name), awaiting: nil))
        let sends = Self.takeRecipients(&bench).sends
        #expect(sends.map(\.arrival.record.offset) == [1, 1, 2, 2].map { Offset($0) })
    }

    /// Of ten recipients, the first six are settled when the process crashes.
    ///
    /// - Returns: a bench that has the partition next, and the record's committed state.
    private static func crash(
        notBefore: Timestamp? = nil,
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws -> Bench {
        var bench = try provenBench(change)
        let turn = arrive(distinctTokens(10), notBefore: notBefore, &bench)
        for send in turn.sends.prefix(6) {
            let answer = APNsAnswer(status: 200)
            bench.engine.responseArrived(answer, for: send.delivery, now: bench.now)
        }
        for record in bench.turn().publications { bench.engine.published(record.tag) }
        let commit = try #require(
            bench.turn(after: .seconds(5)).group.compactMap { step in
                if case .commit(let commits) = step { commits.first } else { nil }
            }.first
        )
        #expect(commit.offset == Offset(1))

        var next = try Bench(isAssigned: false, seed: 2, change)
        next.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        let stored = CommittedPosition(offset: commit.offset, metadata: commit.metadata)
        next.engine.storedOffsetsFetched([Bench.partition: stored], now: next.now)
        _ = next.turn()
        next.engine.connectionOpened(
            ConnectionID(rawValue: 1),
            maxConcurrentStreams: 100,
            now: next.now
        )
        next.engine.endSeen(Bench.partition, Offset(2))
        return next
    }

    @Test func `after a crash, only recipients that are not settled are sent again`() throws {
        var next = try Self.crash()
        let again = Self.arrive(Self.distinctTokens(10), &next)
        #expect(again.sends.map(\.arrival.recipient) == [6])
        let first = try #require(Bench.sent(again))
        next.engine.responseArrived(APNsAnswer(status: 200), for: first, now: next.now)
        #expect(next.turn().sends.map(\.arrival.recipient) == [7, 8, 9])
        #expect(next.engine.counts.consumed == 4)
    }

    /// The clock of the next process is five seconds behind.
    @Test func `recipients that are settled do not wait for their time once more`() throws {
        let start = try Bench().now.timestamp
        let time = Timestamp(milliseconds: start.milliseconds + 2000)
        var next = try Self.crash(notBefore: time) { $0.later = RetryTiers([.seconds(60)]) }
        var deferred = Self.arrive(Self.distinctTokens(10), notBefore: time, &next).publications
        deferred += next.turn(after: .seconds(1)).publications
        let groups = deferred.compactMap(\.conclusion.deferral)
        #expect(groups.map { $0.recipients.map(\.index) } == [[6, 7, 8, 9]])
        #expect(groups.map(\.dueAt) == [time])
        #expect(groups.flatMap(\.recipients).allSatisfy { $0.reason == .local(.notDueYet) })
        #expect(next.engine.counts.consumed == 4)
    }
}
