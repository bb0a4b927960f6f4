import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// Kafka accepts the commits of some partitions, and refuses that of one.
@Suite struct RefusedCommitTests {
    private static let other = PartitionID(index: 1)

    /// Both partitions have an offset to commit.
    private func committing() throws -> Bench {
        var bench = try Bench(isAssigned: false)
        var table = Bench.table
        let other = table.intern(TopicPartition(topic: KafkaTopic("other"), partition: 0))
        #expect(other == Self.other)
        bench.engine.partitionsAssigned([Bench.partition, other], of: table)
        bench.engine.storedOffsetsFetched([Bench.partition: nil, other: nil], now: bench.now)
        _ = bench.turn()
        for partition in [Bench.partition, other] {
            bench.engine.endReached(partition, Offset(5))
        }
        let turn = bench.turn(after: .seconds(1))
        #expect(Bench.commits(turn).count == 2)
        return bench
    }

    private func refuse(_ bench: inout Bench) {
        bench.engine.commitRefused([Self.other], now: bench.now)
        bench.engine.commitFinished(failed: [Self.other])
    }

    @Test func `a commit that is refused for its partition is repeated with growing delays`()
        throws
    {
        var bench = try committing()
        for wait in [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            refuse(&bench)
            // In this turn the engine finds nothing else to commit.
            _ = bench.turn(after: .milliseconds(250))
            let due = try #require(bench.engine.nextDeadline(now: bench.now.instant))
            #expect(due <= bench.now.instant + .milliseconds(wait - 250))
            let early = bench.turn(after: .milliseconds(wait - 251))
            #expect(early.commits == nil)
            let repeated = bench.turn(after: .milliseconds(1))
            #expect(Bench.commits(repeated).map(\.partition) == [Self.other])
        }
        bench.engine.commitFinished(failed: [])
        let later = bench.turn(after: .seconds(100))
        #expect(later.commits == nil)
    }

    @Test func `a refused partition delays no other`() throws {
        var bench = try committing()
        let connection = ConnectionID(rawValue: 1)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        let id = try #require(Bench.sent(try bench.arrive(5)))
        refuse(&bench)
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.published(PublicationTag(id, .outcome))
        let turn = bench.turn(after: .milliseconds(250))
        #expect(Bench.commits(turn).map(\.partition) == [Bench.partition])
    }

    @Test func `a commit that failed as a whole is repeated like any other`() throws {
        var bench = try committing()
        bench.engine.commitFinished(failed: [Bench.partition, Self.other])
        let turn = bench.turn(after: .milliseconds(250))
        #expect(Bench.commits(turn).count == 2)
    }

    @Test(arguments: [true, false])
    func `a refused commit is tried once more before the partitions are revoked`(isTaken: Bool)
        throws
    {
        var bench = try committing()
        refuse(&bench)
        bench.engine.partitionsRevoked(lost: false, now: bench.now)
        let last = bench.turn(after: .milliseconds(250))
        #expect(Bench.commits(last).map(\.partition) == [Self.other])
        #expect(!last.group.contains(.unassign))
        if isTaken {
            bench.engine.commitFinished(failed: [])
        } else {
            refuse(&bench)
        }
        let end = bench.turn(after: .milliseconds(250))
        #expect(end.commits == nil)
        #expect(end.group.contains(.unassign))
    }
}
