import APNsRules
import Delivery
import Testing
import Vocabulary

/// The effects of an aborted transaction, and how an assignment ends with an open one.
@Suite struct TransactionalReleaseTests {
    @Test func `an outcome lost with its assignment makes no other record a duplicate`()
        throws
    {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        let event = try #require(bench.bench.engine.delivery(id)?.event)
        bench.bench.engine.partitionsRevoked(lost: true, now: bench.bench.now)
        _ = bench.bench.turn()
        bench.bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        bench.bench.engine.storedOffsetsFetched([Bench.partition: nil], now: bench.bench.now)
        _ = bench.bench.turn()
        let elsewhere = bench.bench.arrive(2, .event(event))
        #expect(Bench.sent(elsewhere) != nil)
    }

    /// Before the commit starts, Kafka has nothing to decide.
    @Test(arguments: [(isCommitting: false, leavesAtOnce: true), (true, false)])
    func `the transaction of a lost assignment blocks the shard only while Kafka decides about it`(
        isCommitting: Bool,
        leavesAtOnce: Bool
    ) throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        if isCommitting { bench.bench.engine.published(PublicationTag(id, .outcome)) }
        let actions = bench.bench.turn(after: .seconds(1))
        #expect((actions.commits != nil) == isCommitting)
        bench.bench.engine.partitionsRevoked(lost: true, now: bench.bench.now)
        bench.bench.engine.shutdownRequested(now: bench.bench.now)
        let leaving = bench.bench.turn()
        #expect(leaving.group.contains(.leave) == leavesAtOnce)
        let done = bench.succeed()
        #expect(done == [])
        _ = bench.bench.turn()
        #expect(bench.bench.engine.hasLeftGroup)
    }

    @Test func `an offset whose transaction had no outcome is committed in the next one`() throws {
        var bench = try TransactionalBench(isOpen: true)
        _ = bench.bench.arrive(1, .tombstone)
        let offsets = try bench.nextCommits().map(\.offset)
        #expect(offsets == [Offset(2)])
        bench.bench.engine.transactionCallFailed(
            .abortable,
            isInDoubt: false,
            now: bench.bench.now
        )
        let undone = bench.bench.turn()
        #expect(undone.transactions == [.abort])
        bench.succeed()
        let again = try bench.nextCommits().map(\.offset)
        #expect(again == offsets)
    }

    @Test func `offsets committed by a transaction are not committed again`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.published(PublicationTag(id, .outcome))
        _ = try bench.nextCommits()
        bench.succeed()
        // A record triggers a check, but no commit before it settles.
        _ = try bench.bench.arrive(2)
        let actions = bench.bench.turn(after: .seconds(1))
        #expect(actions.commits == nil)
        #expect(bench.bench.engine.inFlightEvents == 1)
    }

    /// After a revocation, the three seconds of the last commit, not those of the drain before it.
    @Test(arguments: [(isShutdown: true, limit: 10_000), (false, 3_000)])
    func `a release does not wait to drain finished events, but for their commit`(
        isShutdown: Bool,
        limit: Int64
    ) throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        if isShutdown {
            bench.bench.engine.shutdownRequested(now: bench.bench.now)
        } else {
            bench.bench.engine.partitionsRevoked(lost: false, now: bench.bench.now)
        }
        _ = bench.bench.turn()
        _ = bench.bench.turn(after: .milliseconds(limit - 1))
        #expect(bench.bench.engine.assignedPartitions == [Bench.partition])
        let actions = bench.bench.turn(after: .milliseconds(1))
        #expect(actions.group.contains(isShutdown ? GroupStep.leave : .unassign))
        #expect(bench.bench.engine.delivery(id) == nil)
    }

    @Test func `the group does not wait for the rest of the drain`() throws {
        var bench = try TransactionalBench(isOpen: true)
        _ = try bench.conclude(1)
        bench.bench.engine.shutdownRequested(now: bench.bench.now)
        _ = bench.bench.turn()
        _ = bench.bench.turn(after: .seconds(2))
        bench.bench.engine.partitionsRevoked(lost: false, now: bench.bench.now)
        _ = bench.bench.turn(after: .milliseconds(2_999))
        #expect(bench.bench.engine.assignedPartitions == [Bench.partition])
        let actions = bench.bench.turn(after: .milliseconds(1))
        #expect(actions.group.contains(GroupStep.leave))
    }
}
