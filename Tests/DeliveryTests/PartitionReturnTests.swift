import ConnectionPool
import Delivery
import Testing
import Vocabulary

extension Bench {
    /// Takes the assignment away and returns it later, with the group's stored state.
    mutating func partitionReturns(
        after duration: Duration = .seconds(1),
        with committed: PartitionCommit?
    ) -> TurnDecision {
        engine.partitionsRevoked(lost: true, now: now)
        _ = turn(after: duration)
        return partitionComes(with: committed)
    }

    mutating func partitionComes(with committed: PartitionCommit?) -> TurnDecision {
        engine.partitionsAssigned([Self.partition], of: Self.table)
        let position = committed.map {
            CommittedPosition(offset: $0.offset, metadata: $0.metadata)
        }
        ignored = engine.storedOffsetsFetched([Self.partition: position], now: now)
        return turn()
    }

    static func start(_ actions: TurnDecision) -> StartPosition? {
        wholeStart(actions)?.position
    }

    static func wholeStart(_ actions: TurnDecision) -> PartitionStart? {
        for case .assign(let starts) in actions.group { return starts.first }
        return nil
    }

    /// Answers with 200 and acknowledges the outcome.
    mutating func finish(_ id: DeliveryID) -> TurnDecision {
        engine.responseArrived(APNsAnswer(status: 200), for: id, now: now)
        _ = turn()
        engine.published(PublicationTag(id, .outcome))
        return turn(after: .seconds(1))
    }
}

@Suite struct PartitionReturnTests {
    /// Record 0 is in flight and record 1 waits; the group's position is committed.
    private func inHand(seed: UInt64 = 1) throws -> (Bench, DeliveryID, PartitionCommit) {
        var bench = try Bench(seed: seed)
        let first = try bench.arrive(0)
        let id = try #require(Bench.sent(first))
        let commit = try #require(Bench.commits(first).first)
        bench.engine.commitFinished(failed: [])
        _ = try bench.arrive(1)
        return (bench, id, commit)
    }

    @Test func `a partition that returns continues from memory`() throws {
        var (bench, id, commit) = try inHand()
        let actions = bench.partitionReturns(with: commit)
        #expect(bench.engine.counts.released == 1)
        // Record 0 is still in flight: only the waiting record is read again.
        #expect(Bench.start(actions) == .at(Offset(1)))
        #expect(Bench.commits(bench.finish(id)).map(\.offset) == [Offset(1)])
        bench.engine.commitFinished(failed: [])
        let again = try #require(Bench.sent(try bench.arrive(1)))
        #expect(Bench.commits(bench.finish(again)).map(\.offset) == [Offset(2)])
        #expect(bench.engine.counts.terminal == 2)
    }

    @Test(arguments: [nil, 40] as [Int64?])
    func `a partition without a position gets one when its end is reached`(
        committed: Int64?
    ) throws {
        var bench = try Bench(isAssigned: false)
        let stored = committed.map {
            PartitionCommit(partition: Bench.partition, offset: Offset($0), metadata: "")
        }
        _ = bench.partitionComes(with: stored)
        bench.engine.endReached(Bench.partition, Offset(100))
        let commits = Bench.commits(bench.turn(after: .seconds(1)))
        #expect(commits.map(\.offset) == (committed == nil ? [Offset(100)] : []))
        #expect(bench.engine.position(of: Bench.partition) == Offset(committed ?? 100))
        bench.engine.commitFinished(failed: [])
        bench.engine.endReached(Bench.partition, Offset(200))
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        // Otherwise the next member would start at the end as of its own start.
        guard committed == nil else { return }
        let again = bench.partitionReturns(with: commits[0])
        #expect(Bench.start(again) == .at(Offset(100)))
    }

    @Test func `an end with records before it is not a position`() throws {
        var (bench, id, _) = try inHand()
        bench.engine.endReached(Bench.partition, Offset(2))
        #expect(Bench.commits(bench.finish(id)).map(\.offset) == [Offset(1)])
    }

    @Test func `events that end while the partition is away count when it returns`() throws {
        var (bench, id, commit) = try inHand()
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        #expect(Bench.commits(bench.finish(id)).isEmpty)
        let actions = bench.partitionComes(with: commit)
        #expect(Bench.start(actions) == .at(Offset(1)))
        #expect(Bench.commits(actions).map(\.offset) == [Offset(1)])
    }

    @Test func `a partition committed by another member is read from that member's position`()
        throws
    {
        var (bench, id, _) = try inHand()
        let (_, _, theirs) = try inHand(seed: 2)
        #expect(Bench.start(bench.partitionReturns(with: theirs)) == .at(Offset(0)))
        // The old outcome is published, and moves no offset.
        #expect(Bench.commits(bench.finish(id)).isEmpty)
        #expect(bench.engine.counts.terminal == 1)
        #expect(Bench.sent(try bench.arrive(0)) != nil)
    }

    @Test func `a partition that returns before its first own commit continues from memory`()
        throws
    {
        let (_, _, theirs) = try inHand(seed: 2)
        var bench = try Bench(isAssigned: false)
        _ = bench.partitionComes(with: theirs)
        let connection = ConnectionID(rawValue: 1)
        bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        let id = try #require(Bench.sent(try bench.arrive(0)))
        // Kafka refused the commit meanwhile, so the group's position is still the other member's.
        bench.engine.commitFinished(failed: [Bench.partition])
        #expect(Bench.start(bench.partitionReturns(with: theirs)) == .at(Offset(1)))
        bench.engine.commitFinished(failed: [])
        #expect(Bench.commits(bench.finish(id)).map(\.offset) == [Offset(1)])
    }

    @Test
    func `a partition without a committed position continues from memory only if it never had one`()
        throws
    {
        for (refused, start) in [
            ([Bench.partition], StartPosition.at(Offset(1))),
            // The group's offsets were deleted, by a tool or with the topic.
            ([], .beginning),
        ] {
            var bench = try Bench(isAssigned: false)
            _ = bench.partitionComes(with: nil)
            let connection = ConnectionID(rawValue: 1)
            bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
            let id = try #require(Bench.sent(try bench.arrive(0)))
            bench.engine.commitFinished(failed: refused)
            #expect(Bench.start(bench.partitionReturns(with: nil)) == start)
            bench.engine.commitFinished(failed: [])
            let commits = Bench.commits(bench.finish(id)).map(\.offset)
            #expect(commits == (refused.isEmpty ? [] : [Offset(1)]))
        }
    }

    @Test func `a commit that failed while the partition was away is repeated`() throws {
        var (bench, id, commit) = try inHand()
        #expect(Bench.commits(bench.finish(id)).map(\.offset) == [Offset(1)])
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn(after: .seconds(1))
        bench.engine.commitFinished(failed: [Bench.partition])
        let actions = bench.partitionComes(with: commit)
        #expect(Bench.commits(actions).map(\.offset) == [Offset(1)])
    }

    @Test(arguments: [true, false], [true, false])
    func `a commit without a report before an assignment is resolved after it`(
        isTruncated: Bool,
        isDamaged: Bool
    ) throws {
        var bench = try Bench()
        let stuck = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: 503), for: stuck, now: bench.now)
        bench.engine.commitFinished(failed: [])
        let settled = try #require(Bench.sent(try bench.arrive(1)))
        let commit = try #require(Bench.commits(bench.finish(settled)).first)
        #expect(commit.offset == Offset(0))
        bench.engine.commitFinished(failed: [])
        // The second attempt at record 0 failed, too.
        bench.engine.responseArrived(APNsAnswer(status: 503), for: stuck, now: bench.now)

        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        let damaged = CommittedPosition(offset: Offset(0), metadata: "damaged")
        let told: [PartitionID: CommittedPosition?] =
            isDamaged ? [Bench.partition: damaged] : [:]
        for _ in 1...6 { bench.engine.storedOffsetsFetched(told, now: bench.now) }
        #expect(Bench.start(bench.turn()) == (isDamaged ? .at(Offset(0)) : .stored))
        if isTruncated { bench.engine.partitionRestarted(Bench.partition) }
        #expect(Bench.sent(try bench.arrive(0)) != nil)
        bench.engine.commitFinished(failed: [Bench.partition])

        #expect(Bench.start(bench.partitionReturns(with: commit)) == .at(Offset(1)))
        bench.engine.endSeen(Bench.partition, Offset(3))
        bench.engine.commitFinished(failed: [Bench.partition])
        #expect((Bench.sent(try bench.arrive(1)) == nil) == !isTruncated)
        #expect(Bench.sent(try bench.arrive(2)) != nil)
        #expect(bench.engine.counts.skippedSettled == (isTruncated ? 0 : 1))
    }

    @Test(arguments: [(seconds: 599, start: 1), (600, 0)] as [(seconds: Int, start: Int64)])
    func `after ten minutes nothing continues from memory`(seconds: Int, start: Int64) throws {
        var (bench, id, commit) = try inHand()
        // Record 0 is settled; Kafka has not said that it took the commit.
        #expect(Bench.commits(bench.finish(id)).map(\.offset) == [Offset(1)])
        let actions = bench.partitionReturns(after: .seconds(seconds), with: commit)
        #expect(Bench.start(actions) == .at(Offset(start)))
    }

    @Test func `events in flight of a partition that is away are not retried`() throws {
        var (bench, id, commit) = try inHand()
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        bench.engine.responseArrived(APNsAnswer(status: 503), for: id, now: bench.now)
        #expect(bench.engine.inFlightEvents == 0)
        #expect(Bench.start(bench.partitionComes(with: commit)) == .at(Offset(0)))
        #expect(Bench.sent(try bench.arrive(0)) != nil)
    }

    @Test func `foreign metadata is reported, and only causes repeated events`() throws {
        var bench = try Bench(isAssigned: false)
        let foreign = PartitionCommit(
            partition: Bench.partition,
            offset: Offset(7),
            metadata: "committed by a script"
        )
        #expect(Bench.start(bench.partitionComes(with: foreign)) == .at(Offset(7)))
        #expect(bench.ignored.map(\.problem) == [.foreign])
    }

    @Test func `records that the last owner settled are skipped and counted`() throws {
        var (bench, id, _) = try inHand()
        let second = bench.finish(id)
        let waiting = try #require(Bench.sent(second) ?? bench.sending)
        _ = try bench.arrive(2)
        let third = try #require(bench.sending)
        bench.engine.commitFinished(failed: [])
        let commit = try #require(Bench.commits(bench.finish(third)).first)
        #expect(commit.offset == Offset(1))
        #expect(waiting != third)

        var heir = try Bench(isAssigned: false, seed: 9)
        #expect(Bench.start(heir.partitionComes(with: commit)) == .at(Offset(1)))
        heir.engine.endSeen(Bench.partition, Offset(4))
        for offset in Int64(1)..<4 { _ = try heir.arrive(offset) }
        #expect(heir.engine.counts.skippedSettled == 1)
        #expect(heir.engine.counts.consumed == 2)
        #expect(heir.engine.inFlightEvents == 2)
    }
}
