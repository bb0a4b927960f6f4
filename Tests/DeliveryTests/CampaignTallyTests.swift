import APNsRules
import Delivery
import Testing
import Vocabulary

/// The counts of campaigns: what is written to the tally topic, and when.
@Suite struct CampaignTallyTests {
    private static func name(_ text: String = "spring") throws -> CampaignName {
        try #require(CampaignName(text))
    }

    /// Delivers an event of the campaign that ends with this status; returns its outcome's record.
    private static func conclude(
        _ offset: Int64,
        status: Int = 200,
        of campaign: String? = "spring",
        _ bench: inout Bench
    ) throws -> PublicationTag {
        let name = try campaign.map { try Self.name($0) }
        let id = try #require(Bench.sent(try bench.arrive(offset) { $0.campaign = name }))
        let answer = APNsAnswer(
            status: status,
            reason: status == 410 ? .apns(.unregistered) : nil
        )
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        return PublicationTag(id, .outcome)
    }

    private static func counts(
        _ ended: [OutcomeKind: Int],
        sent: Int? = nil
    ) -> OutcomeCounts {
        OutcomeCounts(sent: sent ?? ended.values.reduce(0, +), ended)
    }

    // MARK: Without transactions

    private static func bench(writes: Bool = true) throws -> Bench {
        var bench = try Bench { $0.writesCampaignTally = writes }
        // The group's first position is committed, so that it does not interfere.
        let turn = bench.arrive(0, .tombstone) + bench.turn(after: .seconds(1))
        _ = try #require(turn.commits)
        bench.engine.commitFinished(failed: [])
        return bench
    }

    @Test func `a commit waits until the tally has the outcomes that it settles`() throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let turn = bench.turn(after: .seconds(1))
        let record = try #require(turn.tallies.first)
        #expect(turn.tallies.count == 1)
        #expect(record.campaign == (try Self.name()))
        #expect(record.partition == Bench.partition)
        #expect(record.counts == Self.counts([.accepted: 1]))
        #expect(turn.commits == nil)
        // What is counted meanwhile is not in the record, and its offset not in the commit.
        let next = try Self.conclude(2, &bench)
        _ = bench.turn()
        bench.engine.published(next)
        #expect(bench.turn(after: .milliseconds(500)).commits == nil)
        bench.engine.tallyWritten(record.batch)
        #expect(bench.turn().commits?.map(\.offset) == [Offset(2)])
        bench.engine.commitFinished(failed: [])
        let later = bench.turn(after: .seconds(2))
        let second = try #require(later.tallies.first)
        #expect(second.counts == Self.counts([.accepted: 2]))
        #expect(second.owner == record.owner)
        bench.engine.tallyWritten(second.batch)
        #expect(bench.turn().commits?.map(\.offset) == [Offset(3)])
    }

    @Test func `events without a campaign need no tally`() throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, of: nil, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let turn = bench.turn(after: .seconds(1))
        #expect(turn.tallies.isEmpty)
        #expect(turn.commits?.map(\.offset) == [Offset(2)])
        #expect(bench.engine.campaignProgress.isEmpty)
    }

    @Test func `without a topic, campaigns are counted but not written`() throws {
        var bench = try Self.bench(writes: false)
        let tag = try Self.conclude(1, &bench)
        let waiting = try bench.arrive(2) { $0.campaign = try? Self.name() }
        #expect(waiting.tallies.isEmpty)
        bench.engine.published(tag)
        let turn = bench.turn(after: .seconds(1))
        #expect(turn.tallies.isEmpty)
        #expect(turn.commits != nil)
        let progress = try #require(bench.engine.campaignProgress.first)
        #expect(progress.campaign == (try Self.name()))
        #expect(progress.counts == Self.counts([.accepted: 1]))
        #expect((progress.inFlight, progress.waiting) == (1, 0))
    }

    @Test func `a commit does not wait for a silent topic for long`() throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let held = bench.turn(after: .seconds(1))
        let batch = try #require(held.tallies.first).batch
        #expect(held.commits == nil)
        let deadline = try #require(bench.engine.nextDeadline(now: bench.now.instant))
        #expect(bench.turn(after: .milliseconds(4999)).commits == nil)
        #expect(deadline <= bench.now.instant + .milliseconds(1))
        #expect(bench.turn(after: .milliseconds(1)).commits?.map(\.offset) == [Offset(2)])
        bench.engine.commitFinished(failed: [])

        // The next commits do not wait until the topic answers.
        let next = try Self.conclude(2, &bench)
        _ = bench.turn()
        bench.engine.published(next)
        let turn = bench.turn(after: .seconds(1))
        #expect(turn.commits?.map(\.offset) == [Offset(3)])
        bench.engine.commitFinished(failed: [])
        // Nor does it get more than it has not answered.
        #expect(turn.tallies.isEmpty && bench.turn(after: .seconds(60)).tallies.isEmpty)
        bench.engine.tallyWritten(batch)
        #expect(bench.turn().tallies.first?.counts == Self.counts([.accepted: 2]))
        let last = try Self.conclude(3, &bench)
        _ = bench.turn()
        bench.engine.published(last)
        #expect(bench.turn(after: .seconds(1)).commits == nil)
    }

    @Test func `a topic that refuses records holds up no commit, and gets the whole counts later`()
        throws
    {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let record = try #require(bench.turn(after: .seconds(1)).tallies.first)
        bench.engine.tallyRefused(record.batch)
        #expect(bench.turn().commits?.map(\.offset) == [Offset(2)])
        bench.engine.commitFinished(failed: [])
        let next = try Self.conclude(2, status: 410, &bench)
        _ = bench.turn()
        bench.engine.published(next)
        bench.engine.published(PublicationTag(next.delivery, .tokenStatus))
        let turn = bench.turn(after: .milliseconds(900))
        #expect(turn.tallies.isEmpty)
        #expect(turn.commits?.map(\.offset) == [Offset(3)])
        // Each refusal doubles the wait: one second, then two.
        let again = try #require(bench.turn(after: .milliseconds(100)).tallies.first)
        #expect(again.counts == Self.counts([.accepted: 1, .unregistered: 1]))
        bench.engine.tallyRefused(again.batch)
        #expect(bench.turn(after: .milliseconds(1999)).tallies.isEmpty)
        let last = try #require(bench.turn(after: .milliseconds(1)).tallies.first)
        #expect(last.counts == again.counts)
        bench.engine.tallyWritten(last.batch)
        #expect(bench.turn(after: .seconds(600)).tallies.isEmpty)
    }

    @Test func `a new producer gets the records that the old one may have lost`() throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let record = try #require(bench.turn(after: .seconds(1)).tallies.first)
        bench.engine.producerReplaced()
        let turn = bench.turn()
        let again = try #require(turn.tallies.first)
        #expect(again.counts == record.counts)
        #expect(turn.commits == nil)
        bench.engine.tallyWritten(record.batch)
        #expect(bench.turn().commits == nil)
        bench.engine.tallyWritten(again.batch)
        #expect(bench.turn().commits != nil)
    }

    @Test(arguments: [false, true])
    func `a commit that waits is not made for lost partitions or replaced records`(
        isLost: Bool
    ) throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        let record = try #require(bench.turn(after: .seconds(1)).tallies.first)
        if isLost {
            bench.engine.partitionsRevoked(lost: true, now: bench.now)
        } else {
            bench.engine.partitionRestarted(Bench.partition)
        }
        bench.engine.tallyWritten(record.batch)
        #expect(bench.turn().commits == nil)
    }

    @Test func `a revocation waits for the tally, but only a second`() throws {
        var bench = try Self.bench()
        let tag = try Self.conclude(1, &bench)
        _ = bench.turn()
        bench.engine.published(tag)
        bench.engine.partitionsRevoked(lost: false, now: bench.now)
        let turn = bench.turn()
        #expect(turn.tallies.count == 1)
        #expect(turn.commits == nil)
        #expect(!turn.group.contains(.unassign))
        #expect(bench.turn(after: .milliseconds(999)).commits == nil)
        #expect(bench.turn(after: .milliseconds(1)).commits?.map(\.offset) == [Offset(2)])
        bench.engine.commitFinished(failed: [])
        #expect(bench.turn().group.contains(.unassign))
    }

    @Test func `counts are forgotten after an hour, and go on under a new owner`() throws {
        var bench = try Self.bench()
        var owners: Set<UInt64> = []
        for (offset, wait) in [(Int64(1), Duration.seconds(3000)), (2, .seconds(3700)), (3, .zero)]
        {
            let tag = try Self.conclude(offset, &bench)
            _ = bench.turn()
            bench.engine.published(tag)
            let record = try #require(bench.turn(after: .seconds(1)).tallies.first)
            #expect(record.counts.total == (offset == 2 ? 2 : 1))
            owners.insert(record.owner)
            bench.engine.tallyWritten(record.batch)
            _ = bench.turn()
            bench.engine.commitFinished(failed: [])
            _ = bench.turn(after: wait)
        }
        #expect(owners.count == 2)
    }

    @Test(arguments: [true, false])
    func `beyond the limit, counts leave memory if the topic has them`(isWritten: Bool) throws {
        var bench = try Self.bench()
        let limit = Int64(10_000)
        var records: [TallyRecord] = []
        for offset in 1...limit + 1 {
            let tag = try Self.conclude(offset, of: "campaign \(offset)", &bench)
            records += bench.turn().tallies
            bench.engine.published(tag)
            guard offset == limit else { continue }
            records += bench.turn(after: .seconds(2)).tallies
            // The first one precedes a commit, and stays unanswered.
            #expect(records.count == Int(limit) - 1)
            for record in records where isWritten { bench.engine.tallyWritten(record.batch) }
            for record in records where !isWritten { bench.engine.tallyRefused(record.batch) }
        }
        // A tenth goes at once, so that not each campaign has to be sorted.
        #expect(bench.engine.campaignProgress.count == (isWritten ? 9_001 : 10_000))
        #expect(bench.engine.untalliedOutcomes == (isWritten ? 0 : 1))
    }

    // MARK: With transactions

    private static func transactions() throws -> TransactionalBench {
        try TransactionalBench(isOpen: true) { $0.writesCampaignTally = true }
    }

    @Test func `the transaction that has the outcomes has their counts`() throws {
        var bench = try Self.transactions()
        var total = 0
        for offsets in [1...3, Int64(4)...4] {
            for offset in offsets {
                let tag = try Self.conclude(offset, &bench.bench)
                _ = bench.bench.turn()
                bench.bench.engine.published(tag)
            }
            total += offsets.count
            let turn = bench.bench.turn() + bench.bench.turn(after: .seconds(1))
            #expect(turn.commits?.map(\.offset) == [Offset(offsets.upperBound + 1)])
            #expect(turn.tallies.map(\.counts) == [Self.counts([.accepted: total])])
            bench.succeed()
            _ = bench.bench.turn()
            let progress = bench.bench.engine.campaignProgress
            #expect(progress.map(\.counts.total) == [total])
        }
        let idle = bench.bench.turn(after: .seconds(60))
        #expect(idle.tallies.isEmpty)
        #expect(idle.commits == nil)
    }

    @Test func `a record that a committed transaction may lack is written again`() throws {
        var bench = try Self.transactions()
        let tag = try Self.conclude(1, &bench.bench)
        _ = bench.bench.turn()
        bench.bench.engine.published(tag)
        let record = try #require(bench.bench.turn(after: .seconds(1)).tallies.first)
        bench.bench.engine.tallyRefused(record.batch)
        bench.succeed()
        #expect(bench.bench.engine.campaignProgress.map(\.counts.total) == [1])
        let begun = bench.bench.turn(after: .seconds(1))
        let again = begun + bench.bench.turn() + bench.bench.turn()
        #expect(again.tallies.map(\.counts) == [Self.counts([.accepted: 1])])
    }

    @Test func `the outcomes of an aborted transaction count once`() throws {
        var bench = try Self.transactions()
        let tag = try Self.conclude(1, &bench.bench)
        _ = bench.bench.turn()
        bench.bench.engine.published(tag)
        let first = bench.bench.turn(after: .seconds(1))
        #expect(first.tallies.map(\.counts) == [Self.counts([.accepted: 1])])
        bench.bench.engine.transactionCallFailed(
            .abortable,
            isInDoubt: false,
            now: bench.bench.now
        )
        #expect(bench.bench.turn().transactions == [.abort])
        #expect(bench.bench.engine.campaignProgress.map(\.counts.total) == [0])
        bench.succeed()
        _ = bench.bench.turn(after: .seconds(1))
        bench.bench.engine.published(tag)
        let second = bench.bench.turn() + bench.bench.turn(after: .seconds(1))
        #expect(second.tallies.map(\.counts) == [Self.counts([.accepted: 1])])
        bench.succeed()
        #expect(bench.bench.engine.campaignProgress.map(\.counts.total) == [1])
    }

    @Test
    func `a topic that refuses records stops no transaction, and gets the whole counts later`()
        throws
    {
        var bench = try Self.transactions()
        let tag = try Self.conclude(1, &bench.bench)
        _ = bench.bench.turn()
        bench.bench.engine.published(tag)
        let record = try #require(bench.bench.turn(after: .seconds(1)).tallies.first)
        for refusals in 1...2 {
            bench.bench.engine.tallyRefused(refusals == 1 ? record.batch : record.batch + 1)
            bench.bench.engine.transactionCallFailed(
                .abortable,
                isInDoubt: false,
                now: bench.bench.now
            )
            _ = bench.bench.turn()
            bench.succeed()
            _ = bench.bench.turn()
            let again = bench.bench.turn(after: .seconds(1))
            #expect(again.tags == [tag])
            bench.bench.engine.published(tag)
            guard refusals == 2 else {
                // The next try fails, too.
                let turn = bench.bench.turn() + bench.bench.turn(after: .seconds(1))
                #expect(turn.tallies.count == 1)
                continue
            }
            let turn = bench.bench.turn()
            #expect(turn.commits?.map(\.offset) == [Offset(2)])
            #expect(turn.tallies.isEmpty)
            #expect(bench.succeed() == [tag.delivery])
        }
        // Records of the turn that begins a transaction would precede it.
        let begun = bench.bench.turn(after: .seconds(2))
        #expect(begun.transactions == [.begin])
        #expect(begun.tallies.isEmpty)
        // A transaction of its own has the counts, once the topic is to be tried again.
        let late = bench.bench.turn() + bench.bench.turn()
        #expect(late.tallies.map(\.counts) == [Self.counts([.accepted: 1])])
        #expect(late.commits == [])
        bench.succeed()
        let idle = bench.bench.turn() + bench.bench.turn(after: .seconds(600))
        #expect(idle.tallies.isEmpty)
    }
}
