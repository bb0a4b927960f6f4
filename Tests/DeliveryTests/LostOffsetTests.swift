import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// Offsets that Kafka does not have.
@Suite struct LostOffsetTests {
    struct Row: Sendable {
        var offset: Int64
        var log: Range<Int64> = 10..<20
        var oldestBefore: Int64?
        var cause: LostOffset.Cause
        /// For each policy; nil means that the process ends.
        var end: Int64
        var beginning: Int64
        var stop: Int64?
    }

    @Test(arguments: [
        Row(offset: 0, cause: .deleted, end: 10, beginning: 10, stop: 10),
        Row(offset: 9, cause: .deleted, end: 10, beginning: 10, stop: 10),
        Row(offset: 9, log: 10..<10, cause: .deleted, end: 10, beginning: 10, stop: 10),
        // The leader changed, or the log has grown.
        Row(offset: 10, cause: .none, end: 10, beginning: 10, stop: 10),
        Row(offset: 20, cause: .none, end: 20, beginning: 20, stop: 20),
        Row(offset: 0, log: 0..<0, oldestBefore: 5, cause: .none, end: 0, beginning: 0, stop: 0),
        Row(offset: 21, cause: .cut, end: 20, beginning: 10),
        Row(offset: 21, oldestBefore: 10, cause: .cut, end: 20, beginning: 10),
        // A replica that deletes later, or a restored disk.
        Row(offset: 21, oldestBefore: 15, cause: .cut, end: 20, beginning: 10),
        Row(offset: 5, log: 0..<0, cause: .cut, end: 0, beginning: 0),
        Row(offset: 5, log: 0..<2, oldestBefore: 0, cause: .cut, end: 2, beginning: 0),
        // Only a recreated topic starts at 0 again.
        Row(offset: 5, log: 0..<2, oldestBefore: 1, cause: .replaced, end: 0, beginning: 0),
        Row(offset: 5, log: 1..<2, oldestBefore: 2, cause: .cut, end: 2, beginning: 1),
    ])
    func `the reaction depends on what the log contains`(row: Row) {
        let policies: [(LostOffset.Policy, Int64?)] = [
            (.end, row.end), (.beginning, row.beginning), (.stop, row.stop),
        ]
        for (policy, start) in policies {
            let lost = LostOffset(
                Offset(row.offset),
                in: row.log,
                oldestBefore: row.oldestBefore,
                policy
            )
            #expect(lost.cause == row.cause)
            #expect(lost.start == start.map { .at(Offset($0)) }, "\(policy)")
        }
    }

    // MARK: The engine

    /// Reads 0 to 9, leaves 4 unsettled, and commits.
    private func committed(_ change: (inout EngineSettings) -> Void = { _ in }) throws
        -> (Bench, stuck: DeliveryID, PartitionCommit)
    {
        var bench = try Bench(change)
        var stuck: DeliveryID?
        var commits: [PartitionCommit] = []
        for offset: Int64 in 0..<10 {
            var turn = try bench.arrive(offset)
            commits += Bench.commits(turn)
            bench.engine.commitFinished(failed: [])
            let id = try #require(Bench.sent(turn))
            guard offset != 4 else {
                stuck = id
                continue
            }
            turn = bench.finish(id)
            commits += Bench.commits(turn)
            bench.engine.commitFinished(failed: [])
        }
        commits += Bench.commits(bench.turn(after: .seconds(1)))
        bench.engine.commitFinished(failed: [])
        return (bench, try #require(stuck), try #require(commits.last))
    }

    @Test(arguments: [7, 3, 0] as [Int64])
    func `after a truncation, records at the same offsets are new`(end: Int64) throws {
        var (bench, stuck, before) = try committed()
        #expect(before.offset == Offset(4))
        let lost = bench.engine.offsetLost(
            Bench.partition,
            Offset(10),
            in: 0..<end,
            oldestBefore: 0
        )
        #expect(lost.start == .at(Offset(end)))
        #expect(bench.engine.position(of: Bench.partition) == Offset(end))
        // The position is committed before a record arrives, and nothing after it is called
        // settled. The rest of the log and events in flight are read again after a crash.
        let commit = try #require(Bench.commits(bench.turn(after: .seconds(1))).first)
        let isStuckLeft = end > 4
        #expect(commit.offset == Offset(isStuckLeft ? 4 : end))
        bench.engine.commitFinished(failed: [])
        let metadata = try CommitMetadata(
            commit.metadata,
            base: commit.offset,
            of: TopicPartition(topic: KafkaTopic("source"), partition: 0)
        )
        #expect(metadata.settled == SettledOffsets(base: commit.offset))
        // What was in hand of the part that is gone moves nothing.
        let next = Bench.commits(bench.finish(stuck)).map(\.offset)
        #expect(next == (isStuckLeft ? [Offset(end)] : []))
        for offset in end..<12 {
            #expect(Bench.sent(try bench.arrive(offset)) != nil, "\(offset)")
        }
        let counts = bench.engine.counts
        #expect(counts.skippedSettled == 0)
        #expect(
            counts.consumed == counts.terminal + counts.released + bench.engine.inFlightEvents
        )
    }

    @Test func `offsets that the metadata calls settled are new after a truncation`() throws {
        let (_, _, commit) = try committed()
        var bench = try Bench(isAssigned: false, seed: 2)
        #expect(Bench.start(bench.partitionComes(with: commit)) == .at(Offset(4)))
        let connection = ConnectionID(rawValue: 1)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        _ = bench.engine.offsetLost(Bench.partition, Offset(4), in: 0..<2, oldestBefore: nil)
        bench.engine.endSeen(Bench.partition, Offset(10))
        for offset: Int64 in 2..<10 {
            let id = try #require(Bench.sent(try bench.arrive(offset)), "\(offset)")
            _ = bench.finish(id)
        }
        #expect(bench.engine.counts.skippedSettled == 0)
    }

    // MARK: A log that was cut and filled again

    @Test func `what the metadata calls settled is new once its last record is another one`() throws
    {
        let (_, _, commit) = try committed()
        for isChanged in [false, true] {
            var bench = try Bench(isAssigned: false, seed: 2)
            let begun = try #require(Bench.wholeStart(bench.partitionComes(with: commit)))
            #expect(begun.position == .at(Offset(4)))
            #expect(begun.after?.offset == Offset(3))
            #expect(begun.lastKnown?.offset == Offset(9))
            let connection = ConnectionID(rawValue: 1)
            bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
            bench.engine.endSeen(Bench.partition, Offset(20))
            if isChanged {
                let ignored = bench.engine.partitionChanged(Bench.partition, from: Offset(4))
                #expect(ignored.problem == .replaced)
                #expect(bench.engine.position(of: Bench.partition) == Offset(4))
                let commits = Bench.commits(bench.turn(after: .seconds(1)))
                #expect(commits.map(\.offset) == [Offset(4)], "the map is gone from Kafka, too")
            }
            var sent: [Int64] = []
            for offset: Int64 in 4..<12 {
                guard let id = Bench.sent(try bench.arrive(offset)) else { continue }
                _ = bench.finish(id)
                sent.append(offset)
            }
            #expect(sent == (isChanged ? Array(4..<12) : [4, 10, 11]))
        }
    }

    @Test func `what is remembered is new once its last record is another one`() throws {
        var (bench, stuck, commit) = try committed()
        // It waits for another attempt, and is let go.
        bench.engine.responseArrived(APNsAnswer(status: 503), for: stuck, now: bench.now)
        let begun = try #require(Bench.wholeStart(bench.partitionReturns(with: commit)))
        #expect(begun.position == .at(Offset(4)))
        #expect(begun.lastKnown?.offset == Offset(9))
        bench.engine.partitionChanged(Bench.partition, from: Offset(4))
        for offset: Int64 in 4..<10 {
            _ = bench.finish(try #require(Bench.sent(try bench.arrive(offset)), "\(offset)"))
        }
        #expect(bench.engine.counts.skippedSettled == 0)
    }

    @Test func `an offset that Kafka has changes nothing`() throws {
        var (bench, stuck, _) = try committed()
        let lost = bench.engine.offsetLost(
            Bench.partition,
            Offset(10),
            in: 0..<12,
            oldestBefore: 0
        )
        #expect(lost.start == .at(Offset(10)))
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        #expect(Bench.commits(bench.finish(stuck)).map(\.offset) == [Offset(10)])
    }

    @Test func `if the process is configured to end, the group's position stays`() throws {
        var (bench, stuck, _) = try committed { $0.offsetLost = .stop }
        let lost = bench.engine.offsetLost(
            Bench.partition,
            Offset(10),
            in: 0..<7,
            oldestBefore: 0
        )
        #expect(lost.start == nil)
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        #expect(Bench.commits(bench.finish(stuck)).map(\.offset) == [Offset(10)])
    }

    @Test func `with transactions the new position is committed in one`() throws {
        var bench = try TransactionalBench(isOpen: true)
        let id = try bench.conclude(1)
        _ = bench.bench.turn()
        bench.bench.engine.published(PublicationTag(id, .outcome))
        _ = bench.bench.engine.offsetLost(
            Bench.partition,
            Offset(2),
            in: 0..<1,
            oldestBefore: nil
        )
        let commits = try bench.nextCommits()
        #expect(commits.map(\.offset) == [Offset(1)])
        let done = bench.succeed()
        #expect(done == [id])
        #expect(Bench.sent(try bench.bench.arrive(1)) != nil)
    }
}
