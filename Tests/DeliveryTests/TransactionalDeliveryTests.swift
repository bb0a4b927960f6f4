import APNsRules
import Delivery
import Testing
import Vocabulary

/// The engine with transactions: what is produced and settled, and when.
struct TransactionalDeliveryTests {
    @Test func `Nothing is produced before the producer is ready`() throws {
        var bench = try TransactionalBench()
        let id = try bench.conclude(1)
        let actions1 = bench.bench.turn(after: .seconds(5))
        #expect(actions1.publications.isEmpty)
        bench.succeed()
        let actions2 = bench.bench.turn()
        #expect(actions2.tags == [PublicationTag(id, .outcome)])
    }

    @Test func `Outcome and offset are in one transaction, and the event leaves after its commit`()
        throws
    {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        let actions3 = bench.bench.turn(after: .seconds(1))
        #expect(actions3.commits == nil, "it is not acknowledged")
        bench.bench.engine.published(PublicationTag(id, .outcome))
        let commits = try bench.nextCommits()
        #expect(commits.map(\.offset) == [Offset(2)])
        #expect(bench.bench.engine.delivery(id) != nil)
        #expect(bench.bench.engine.counts.terminal == 0)
        let done4 = bench.succeed()
        #expect(done4 == [id])
        #expect(bench.bench.engine.delivery(id) == nil)
        #expect(bench.bench.engine.counts.terminal == 1)
        #expect(bench.bench.engine.inFlightEvents == 0)
        let actions5 = bench.bench.turn(after: .seconds(1))
        #expect(actions5.commits == nil, "nothing is left to commit")
    }

    @Test func `The offsets cover only what is in the transaction`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let first = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.published(PublicationTag(first, .outcome))
        let commits = try bench.nextCommits()
        let second = try bench.conclude(2)
        let actions6 = bench.bench.turn(after: .seconds(1))
        #expect(actions6.publications.isEmpty, "it came too late")
        #expect(commits.map(\.offset) == [Offset(2)])
        bench.succeed()
        let tag = PublicationTag(second, .outcome)
        let actions7 = bench.bench.turn()
        #expect(actions7.tags == [tag])
        bench.bench.engine.published(tag)
        let actions8 = bench.bench.turn(after: .seconds(1))
        #expect(actions8.commits?.map(\.offset) == [Offset(3)])
    }

    @Test(arguments: [false, true])
    func `An aborted transaction is repeated with outcome and offset`(isRefusedByKafka: Bool) throws
    {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        let tag = PublicationTag(id, .outcome)
        if isRefusedByKafka {
            bench.bench.engine.publicationFailed(tag, now: bench.bench.now)
        } else {
            bench.bench.engine.published(tag)
            _ = try bench.nextCommits()
            bench.bench.engine.transactionCallFailed(
                .abortable,
                isInDoubt: false,
                now: bench.bench.now
            )
        }
        let actions9 = bench.bench.turn()
        #expect(actions9.transactions == [.abort])
        #expect(bench.bench.engine.delivery(id) != nil)
        bench.succeed()
        let actions10 = bench.bench.turn()
        #expect(actions10.transactions == [.begin])
        let actions11 = bench.bench.turn(after: .seconds(1))
        #expect(actions11.tags == [tag])
        let actions12 = bench.bench.turn(after: .seconds(1))
        #expect(actions12.commits == nil, "it is not acknowledged again")
        bench.bench.engine.published(tag)
        let actions13 = bench.bench.turn(after: .seconds(1))
        #expect(actions13.commits?.map(\.offset) == [Offset(2)])
        let done14 = bench.succeed()
        #expect(done14 == [id])
    }

    @Test func `An outcome refused for its size delays no other`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let refused = try bench.conclude(1)
        let other = try bench.conclude(2)
        _ = bench.bench.turn()
        for _ in 0..<2 {
            let tag = PublicationTag(refused, .outcome)
            bench.bench.engine.publicationFailed(tag, .record, now: bench.bench.now)
            _ = bench.bench.turn()
            bench.succeed()
            _ = bench.bench.turn(after: .seconds(1))
        }
        bench.bench.engine.published(PublicationTag(other, .outcome))
        let commits = try bench.nextCommits()
        #expect(commits.map(\.offset) == [Offset(1)], "the refused one is not settled")
        #expect(bench.succeed() == [other])
        #expect(bench.bench.engine.delivery(refused) != nil)
        let again = bench.bench.turn(after: .seconds(30))
        #expect(again.tags == [PublicationTag(refused, .outcome)])
        // Its limit was raised. Nothing else is to be committed.
        bench.bench.engine.published(PublicationTag(refused, .outcome))
        #expect(try bench.nextCommits().map(\.offset) == [Offset(3)])
    }

    @Test func `A refused batch loses no outcome, and the next commit does not wait`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let ids = try (1...5).map { try bench.conclude($0) }
        _ = bench.bench.turn()
        #expect(bench.bench.engine.transactions?.members == ids)
        let all = ids.map { PublicationTag($0, .outcome) }
        bench.bench.engine.publicationFailed(all[0], .batch, now: bench.bench.now)
        #expect(bench.bench.turn().transactions == [.abort])
        bench.bench.engine.publicationFailed(all[1], .batch, now: bench.bench.now)
        bench.succeed()
        var written: [[DeliveryID]] = []
        for _ in 0..<20 where written.joined().count < ids.count {
            let turn = bench.bench.turn(after: .milliseconds(50))
            for tag in turn.tags { bench.bench.engine.published(tag) }
            if turn.commits != nil { written.append(bench.succeed()) }
        }
        #expect(Array(written.joined()) == ids)
        #expect(written.first == Array(ids.prefix(2)))
    }

    @Test func `A topic that accepts nothing delays only events that need it`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let bad = bench.bench.arrive(
            1,
            .invalid(InvalidEvent(reason: .schemaViolation, violations: []))
        )
        let letter = try #require(bad.tags.first { $0.publication == .deadLetter })
        bench.bench.engine.publicationFailed(letter, .topic, now: bench.bench.now)
        #expect(bench.bench.turn().transactions == [.abort])
        bench.succeed()
        #expect(bench.bench.turn().tags.isEmpty)
        let good = try bench.conclude(2)
        #expect(bench.bench.turn().tags == [PublicationTag(good, .outcome)])
        bench.bench.engine.published(PublicationTag(good, .outcome))
        _ = try bench.nextCommits()
        #expect(bench.succeed() == [good])
        let probe = bench.bench.turn(after: .seconds(2))
        #expect(Set(probe.tags.map(\.delivery)) == [letter.delivery])
        for tag in probe.tags { bench.bench.engine.published(tag) }
        #expect(bench.bench.turn().commits?.map(\.offset) == [Offset(3)])
        #expect(bench.succeed() == [letter.delivery])
    }

    @Test func `A full partition is resumed when its transaction has emptied it`() throws {
        var bench = try TransactionalBench(isOpen: true)
        var actions = TurnDecision()
        // More than a commit's metadata can describe, with gaps between the offsets.
        for number in 1...1300 {
            actions += try bench.bench.arrive(Int64(number) * 20) { $0.expiration = 1 }
        }
        #expect(actions.group.contains(.pause([Bench.partition])))
        for tag in actions.tags { bench.bench.engine.published(tag) }
        _ = try bench.nextCommits()
        #expect(bench.succeed().count == 1300)
        let after = bench.bench.turn()
        #expect(after.group.contains(.resume([Bench.partition])))
    }

    @Test func `A report of an aborted transaction is ignored`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        let tag = PublicationTag(id, .outcome)
        bench.bench.engine.publicationFailed(tag, now: bench.bench.now)
        bench.bench.engine.published(tag)
        #expect(bench.bench.turn().transactions == [.abort])
        bench.succeed()
        _ = bench.bench.turn(after: .seconds(1))
        let actions15 = bench.bench.turn(after: .seconds(1))
        #expect(actions15.commits == nil)
        #expect(bench.bench.engine.delivery(id) != nil)
    }

    @Test func `Lost partitions remove their outcomes`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        let inFlight = try #require(Bench.sent(try bench.bench.arrive(2)))
        _ = bench.bench.turn()
        bench.bench.engine.partitionsRevoked(lost: true, now: bench.bench.now)
        #expect(bench.bench.engine.delivery(id) == nil)
        let actions16 = bench.bench.turn()
        #expect(actions16.transactions == [.abort])
        bench.succeed()
        let answer = APNsAnswer(status: 200, reason: nil)
        bench.bench.engine.responseArrived(answer, for: inFlight, now: bench.bench.now)
        #expect(bench.bench.engine.delivery(inFlight) == nil)
        let actions17 = bench.bench.turn(after: .seconds(2))
        #expect(actions17.publications.isEmpty)
        #expect(bench.bench.engine.counts.terminal == 0)
        #expect(bench.bench.engine.counts.released == 2)
    }

    @Test func `An event that returns with its partition is not a duplicate of itself`() throws {
        var bench = try TransactionalBench(isOpen: true)
        _ = try bench.conclude(1)
        bench.bench.engine.partitionsRevoked(lost: true, now: bench.bench.now)
        _ = bench.bench.turn()
        bench.bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        bench.bench.engine.storedOffsetsFetched([Bench.partition: nil], now: bench.bench.now)
        _ = bench.bench.turn()
        let again = try bench.bench.arrive(1)
        #expect(Bench.sent(again) != nil)
    }

    @Test func `A revocation waits for the transaction of finished events`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.partitionsRevoked(lost: false, now: bench.bench.now)
        let actions18 = bench.bench.turn()
        #expect(!actions18.group.contains(.unassign))
        bench.bench.engine.published(PublicationTag(id, .outcome))
        let actions19 = bench.bench.turn(after: .milliseconds(500))
        #expect(actions19.commits?.map(\.offset) == [Offset(2)])
        let done20 = bench.succeed()
        #expect(done20 == [id])
        let actions21 = bench.bench.turn()
        #expect(actions21.group.contains(.unassign))
    }

    @Test func `A revocation does not wait forever for a transaction`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.partitionsRevoked(lost: false, now: bench.bench.now)
        _ = bench.bench.turn()
        let actions = bench.bench.turn(after: .seconds(10)) + bench.bench.turn(after: .seconds(10))
        #expect(actions.group.contains(.unassign))
        #expect(actions.transactions == [.abort])
        #expect(bench.bench.engine.delivery(id) == nil)
    }

    @Test func `A position that Kafka does not report is requested again for half an hour`() throws
    {
        var bench = try Bench(isAssigned: false, isTransactional: true)
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        _ = bench.turn()
        #expect(bench.engine.offsetsMissingSince == nil)
        let start = bench.now.instant
        for _ in 0..<1799 {
            bench.engine.storedOffsetsFetched([:], now: bench.now)
            let turn = bench.turn(after: .seconds(1))
            #expect(turn.group == [.fetchStoredOffsets([Bench.partition])])
            #expect(turn.stop == nil)
        }
        #expect(bench.engine.offsetsMissingSince == start)
        bench.engine.storedOffsetsFetched([:], now: bench.now)
        #expect(bench.turn(after: .seconds(1)).stop == .offsetsUnknown)
    }

    @Test func `A position that Kafka reports late is used`() throws {
        var bench = try Bench(isAssigned: false, isTransactional: true)
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        _ = bench.turn()
        for _ in 0..<100 {
            bench.engine.storedOffsetsFetched([:], now: bench.now)
            _ = bench.turn(after: .seconds(1))
        }
        bench.engine.storedOffsetsFetched([Bench.partition: nil], now: bench.now)
        #expect(bench.engine.offsetsMissingSince == nil)
        #expect(bench.turn(after: .seconds(3600)).stop == nil)
    }

    @Test(arguments: [
        (TransactionFailure.fenced, false, TransactionEnd.fenced),
        (.unusable, true, .inDoubt),
    ])
    func `A repetition that could write twice stops the shard`(
        failure: TransactionFailure,
        isInDoubt: Bool,
        end: TransactionEnd
    ) throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.published(PublicationTag(id, .outcome))
        _ = try bench.nextCommits()
        bench.bench.engine.transactionCallFailed(
            failure,
            isInDoubt: isInDoubt,
            now: bench.bench.now
        )
        let actions = bench.bench.turn(after: .seconds(5))
        #expect(actions.stop == .transactionsEnded(end))
        #expect(actions.publications.isEmpty)
    }
}

/// A bench whose producer is ready, or not yet.
struct TransactionalBench {
    var bench: Bench

    init(isOpen: Bool = false, _ change: (inout EngineSettings) -> Void = { _ in }) throws {
        bench = try Bench(isTransactional: true, change)
        guard isOpen else { return }
        succeed()
        // Commits the group's first position, so that it does not interfere.
        let actions = bench.arrive(0, .tombstone)
        _ = try #require(actions.commits)
        succeed()
        _ = bench.turn()
    }

    /// Delivers an event that is accepted.
    mutating func conclude(_ offset: Int64) throws -> DeliveryID {
        let id = try #require(Bench.sent(try bench.arrive(offset)))
        let answer = APNsAnswer(status: 200, reason: nil)
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        return id
    }

    /// The offsets that the next turn commits.
    mutating func nextCommits() throws -> [PartitionCommit] {
        let actions = bench.turn() + bench.turn(after: .seconds(1))
        return try #require(actions.commits)
    }

    /// Completes the call in flight; returns the records that are committed.
    @discardableResult
    mutating func succeed() -> [DeliveryID] {
        bench.engine.transactionCallSucceeded().map(\.written.delivery)
    }
}

extension TurnDecision {
    /// The records that are produced.
    var tags: [PublicationTag] { publications.map(\.tag) }
}
