import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// How an assignment begins and ends.
@Suite struct GroupReleaseTests {
    @Test func `stored offsets are requested six times, half a second apart, then not used`()
        throws
    {
        var bench = try Bench(isAssigned: false)
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        let fetch = GroupStep.fetchStoredOffsets([Bench.partition])
        let first = bench.turn()
        #expect(first.group.contains(fetch))
        for _ in 2...6 {
            bench.engine.storedOffsetsFetched([:], now: bench.now)
            let due = bench.engine.nextDeadline(now: bench.now.instant)
            #expect(due == bench.now.instant + .milliseconds(500))
            let early = bench.turn(after: .milliseconds(499))
            #expect(!early.group.contains(fetch))
            let actions = bench.turn(after: .milliseconds(1))
            #expect(actions.group.contains(fetch))
        }
        bench.engine.storedOffsetsFetched([:], now: bench.now)
        let last = bench.turn(after: .seconds(1))
        #expect(Bench.start(last) == .stored)
        #expect(!last.group.contains(fetch))
    }

    @Test(arguments: [true, false])
    func `a partition without an answer is requested again with the others`(
        isTransactional: Bool
    ) throws {
        var bench = try Bench(isAssigned: false, isTransactional: isTransactional)
        var table = Bench.table
        let other = table.intern(TopicPartition(topic: KafkaTopic("other"), partition: 0))
        bench.engine.partitionsAssigned([Bench.partition, other], of: table)
        let known = [Bench.partition: CommittedPosition?(CommittedPosition(offset: Offset(5)))]
        let fetch = GroupStep.fetchStoredOffsets([Bench.partition, other])
        for _ in 1...5 {
            bench.engine.storedOffsetsFetched(known, now: bench.now)
            #expect(bench.turn(after: .seconds(1)).group.contains(fetch))
        }
        // Earlier answers are kept.
        bench.engine.storedOffsetsFetched([:], now: bench.now)
        let last = bench.turn(after: .seconds(1))
        #expect(last.group.contains(fetch) == isTransactional)
        let starts = [
            PartitionStart(partition: Bench.partition, position: .at(Offset(5))),
            PartitionStart(partition: other, position: .stored),
        ]
        #expect(last.group.contains(.assign(starts)) == !isTransactional)
    }

    @Test(arguments: [true, false])
    func `an assignment that replaces an unrevoked one starts over`(
        isFetching: Bool
    ) throws {
        var bench = try Bench(isAssigned: !isFetching)
        if isFetching {
            bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        } else {
            _ = try bench.arrive(0)
            bench.engine.commitFinished(failed: [])
        }
        _ = bench.turn()
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table, now: bench.now)
        let asked = bench.turn()
        #expect(asked.group.contains(.fetchStoredOffsets([Bench.partition])))
        #expect(!asked.group.contains(.unassign))
        let stored = CommittedPosition(offset: Offset(5))
        bench.engine.storedOffsetsFetched([Bench.partition: stored], now: bench.now)
        #expect(Bench.start(bench.turn()) == .at(Offset(5)))
    }

    @Test func `an assignment that arrives while leaving the group is ignored`() throws {
        var bench = try Bench(isAssigned: false)
        bench.engine.shutdownRequested(now: bench.now)
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table, now: bench.now)
        #expect(bench.turn().group == [.unassign, .leave])
    }

    @Test(
        arguments: [
            (revokedAt: nil, leavesAt: 10), (1, 3), (9, 10),
        ] as [(revokedAt: Int?, leavesAt: Int)]
    )
    func `a rebalance does not wait for the whole drain of a shutdown`(
        revokedAt: Int?,
        leavesAt: Int
    ) throws {
        var bench = try Bench()
        _ = try bench.arrive(0)
        bench.engine.commitFinished(failed: [])
        bench.engine.shutdownRequested(now: bench.now)
        let draining = bench.turn(after: .seconds(revokedAt ?? 0))
        #expect(!draining.group.contains(.leave))
        if revokedAt != nil { bench.engine.partitionsRevoked(lost: false, now: bench.now) }
        let rest = Duration.seconds(leavesAt - (revokedAt ?? 0))
        let early = bench.turn(after: rest - .milliseconds(1))
        #expect(!early.group.contains(.leave))
        let actions = bench.turn(after: .milliseconds(1))
        #expect(actions.group.contains(.leave))
    }

    @Test(arguments: [true, false])
    func `no request starts that could not be answered before the partitions are revoked`(
        isLate: Bool
    ) throws {
        var bench = try Bench()
        let proof = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.commitFinished(failed: [])
        // Only one stream opens until the first answer.
        let soon = bench.now.timestamp.seconds + 2
        _ = try bench.arrive(1) { $0.expiration = soon }
        bench.engine.partitionsRevoked(lost: false, now: bench.now)
        _ = bench.turn(after: .milliseconds(isLate ? 1500 : 1499))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: proof, now: bench.now)
        let next = bench.turn()
        #expect((Bench.sent(next) == nil) == isLate)
        // Other waiting events are handed to the next owner at once.
        bench.engine.published(PublicationTag(proof, .outcome))
        let last = bench.turn()
        #expect(Bench.commits(last).map(\.offset) == [Offset(1)])
        if isLate {
            // Nor while the last commit is in flight: all waiting events are checked once a second,
            // and by then it has expired.
            let meanwhile = bench.turn(after: .seconds(1))
            #expect(Bench.sent(meanwhile) == nil)
            #expect(bench.published(meanwhile) == nil)
        }
        bench.engine.commitFinished(failed: [])
        #expect(bench.turn().group.contains(.unassign) == isLate)
    }

    @Test(arguments: [true, false])
    func `while open requests finish, finished events are committed`(isShutdown: Bool) throws {
        var bench = try Bench()
        let proof = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.commitFinished(failed: [])
        _ = bench.finish(proof)
        bench.engine.commitFinished(failed: [])
        let id = try #require(Bench.sent(try bench.arrive(1)))
        _ = try bench.arrive(2)
        if isShutdown {
            bench.engine.shutdownRequested(now: bench.now)
        } else {
            bench.engine.partitionsRevoked(lost: false, now: bench.now)
        }
        _ = bench.turn()
        let commits = Bench.commits(bench.finish(id)).map(\.offset)
        #expect(commits == [Offset(2)])
        #expect(bench.engine.inFlightEvents == 1)
        #expect(bench.engine.assignedPartitions == [Bench.partition])
    }
}
