import Delivery
import Testing
import Vocabulary

extension OffsetLedger {
    /// Adds a record that must be accepted.
    mutating func take(_ offset: Int64) throws -> Entry {
        guard case .taken(let entry) = recordArrived(Offset(offset)) else {
            throw NotTaken(offset: offset)
        }
        return entry
    }

    struct NotTaken: Error { let offset: Int64 }
}

@Suite struct OffsetLedgerTests {
    private let partition = TopicPartition(topic: KafkaTopic("source"), partition: 3)

    /// Arrivals, then settlements in this order, and the committable offset after each.
    @Test(arguments: [
        (arrivals: [0, 1, 2], settled: [0, 1, 2], committable: [1, 2, 3]),
        (arrivals: [0, 1, 2], settled: [2, 1, 0], committable: [0, 0, 3]),
        (arrivals: [0, 1, 2], settled: [1, 0, 2], committable: [0, 2, 3]),
        // Compaction and transaction markers leave gaps, which hold nothing.
        (arrivals: [5, 9, 40], settled: [9, 5, 40], committable: [5, 40, 41]),
    ])
    func `the committable offset is the first incomplete one`(
        arrivals: [Int64],
        settled: [Int64],
        committable: [Int64?]
    ) throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        var entries: [Int64: OffsetLedger.Entry] = [:]
        for offset in arrivals { entries[offset] = try ledger.take(offset) }
        for (offset, expected) in zip(settled, committable) {
            ledger.settle(try #require(entries[offset]))
            #expect(ledger.committableOffset == expected.map(Offset.init))
        }
        #expect(ledger.inHand == 0)
    }

    /// Here each record's fingerprint is its offset.
    @Test(
        arguments: [
            (settled: [], mark: nil),
            (settled: [5], mark: 5),
            // The last record before the offset settled first, and is no longer in flight.
            (settled: [9, 5], mark: 9),
            (settled: [9], mark: nil),
            (settled: [5, 9, 40], mark: 40),
        ] as [([Int64], Int64?)]
    )
    func `a commit names the record before it`(settled: [Int64], mark: Int64?) throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        var entries: [Int64: OffsetLedger.Entry] = [:]
        for offset in [Int64(5), 9, 40] {
            guard
                case .taken(let entry) = ledger.recordArrived(
                    Offset(offset),
                    fingerprint: UInt32(offset)
                )
            else { throw OffsetLedger.NotTaken(offset: offset) }
            entries[offset] = entry
        }
        for offset in settled { ledger.settle(try #require(entries[offset])) }
        let expected = mark.map { RecordMark(offset: Offset($0), fingerprint: UInt32($0)) }
        let request = ledger.commitRequested(by: 1, for: partition)
        let commit = try #require(request)
        let metadata = try CommitMetadata(commit.metadata, base: commit.offset, of: partition)
        #expect(metadata.mark == expected)

        // The next owner knows it until it has settled a record itself.
        var next = OffsetLedger(epoch: AssignmentEpoch(), restored: metadata)
        #expect(next.markBeforeNext == expected)
        _ = try next.take(commit.offset.rawValue)
        let secondRequest = next.commitRequested(by: 2, for: partition)
        let again = try #require(secondRequest)
        let said = try CommitMetadata(again.metadata, base: again.offset, of: partition)
        #expect(said.mark == expected)
    }

    // MARK: The last settled record

    /// Each record's fingerprint is its offset.
    private func ledger(
        of arrivals: [Int64],
        settling settled: [Int64] = []
    ) throws -> OffsetLedger {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        for offset in arrivals {
            let admission = ledger.recordArrived(Offset(offset), fingerprint: UInt32(offset))
            guard case .taken(let entry) = admission else {
                throw OffsetLedger.NotTaken(offset: offset)
            }
            if settled.contains(offset) { ledger.settle(entry) }
        }
        return ledger
    }

    private func metadata(
        of ledger: inout OffsetLedger,
        within limit: Int = CommitMetadata.maxCharacters
    ) throws -> CommitMetadata {
        let request = ledger.commitRequested(by: 1, for: partition, within: limit)
        let commit = try #require(request)
        return try CommitMetadata(commit.metadata, base: commit.offset, of: partition)
    }

    private static func mark(_ offset: Int64) -> RecordMark {
        RecordMark(offset: Offset(offset), fingerprint: UInt32(offset))
    }

    @Test(
        arguments: [
            (arrivals: [5, 6, 7], settled: [], end: nil),
            (arrivals: [5, 6, 7], settled: [5, 6, 7], end: nil),
            (arrivals: [5, 6, 7], settled: [5], end: nil),
            (arrivals: [5, 6, 7], settled: [6], end: 6),
            (arrivals: [5, 6, 7, 8], settled: [6, 8], end: 8),
            (arrivals: [5, 6, 7, 8, 9], settled: [6, 7], end: 7),
            // Nothing is known of what has no record, and no record proves it.
            (arrivals: [5, 6, 9], settled: [6], end: 6),
            (arrivals: [5, 9], settled: [], end: nil),
            (arrivals: [5, 9], settled: [9], end: 9),
        ] as [([Int64], [Int64], Int64?)]
    )
    func `a commit names the last settled record`(
        arrivals: [Int64],
        settled: [Int64],
        end: Int64?
    ) throws {
        var ledger = try ledger(of: arrivals, settling: settled)
        let metadata = try metadata(of: &ledger)
        #expect(metadata.end == end.map(Self.mark))
        #expect(
            metadata.settled.horizon.rawValue == end.map { $0 + 1 }
                ?? metadata.settled.base.rawValue
        )
    }

    @Test func `what does not fit is cut off behind a settled record`() throws {
        let all = Array<Int64>(0...2000)
        var ledger = try ledger(of: all, settling: all.filter { $0 % 3 > 0 })
        var last: Int64 = 2001
        for limit in [4096, 300, 100, 30] {
            let metadata = try metadata(of: &ledger, within: limit)
            let end = try #require(metadata.end, "\(limit)")
            #expect(end == Self.mark(end.offset.rawValue) && end.offset.rawValue % 3 == 2)
            #expect(end.offset.rawValue < last)
            last = end.offset.rawValue
            #expect(ledger.isFull(wasFull: false) == (limit < 4096))
        }
    }

    @Test func `the next owner names it until it has read past it`() throws {
        var ledger = try ledger(of: [5, 6, 7, 8, 9], settling: [6, 8])
        let metadata = try metadata(of: &ledger)
        var next = OffsetLedger(epoch: AssignmentEpoch(), restored: metadata)
        _ = next.endSeen(Offset(20))
        var ends: [RecordMark?] = []
        for offset in Int64(5)...9 {
            if case .taken(let entry) = next.recordArrived(
                Offset(offset),
                fingerprint: UInt32(offset)
            ),
                offset == 9
            {
                next.settle(entry)
            }
            ends.append(try self.metadata(of: &next).end)
        }
        #expect(ends == [8, 8, 8, 8, 9].map(Self.mark))
    }

    @Test func `an older version's map stays without one until it was read`() throws {
        let settled = try #require(
            SettledOffsets(base: Offset(5), incomplete: [5..<6], horizon: Offset(8))
        )
        let old = CommitMetadata(nonce: 1, settled: settled)
        var ledger = OffsetLedger(epoch: AssignmentEpoch(), restored: old)
        _ = ledger.endSeen(Offset(20))
        var said: [CommitMetadata] = []
        for offset in Int64(5)...7 {
            _ = ledger.recordArrived(Offset(offset), fingerprint: UInt32(offset))
            said.append(try metadata(of: &ledger))
        }
        #expect(said.map(\.settled.horizon) == [8, 8, 8].map { Offset($0) })
        #expect(said.map(\.end) == [nil, nil, Self.mark(7)])
    }

    @Test func `all that is settled ahead moves the offset, and its last record stands before it`()
        throws
    {
        var ledger = try ledger(of: [5, 6, 7], settling: [6, 7])
        var next = OffsetLedger(
            epoch: AssignmentEpoch(),
            restored: try metadata(of: &ledger)
        )
        _ = next.endSeen(Offset(8))
        next.settle(try next.take(5))
        let metadata = try metadata(of: &next)
        #expect(metadata.settled == SettledOffsets(base: Offset(8)))
        #expect(metadata.mark == Self.mark(7))
    }

    @Test func `of a log that was cut the last record is not known`() throws {
        var ledger = try ledger(of: [5, 6, 7, 8], settling: [6, 7, 8])
        ledger.cut(at: Offset(7))
        let metadata = try metadata(of: &ledger)
        // So nothing is called settled up to it.
        #expect(metadata.settled == SettledOffsets(base: Offset(5)))
        #expect(metadata.end == nil)
        let admission = ledger.recordArrived(Offset(7), fingerprint: 77)
        guard case .taken(let entry) = admission else { throw OffsetLedger.NotTaken(offset: 7) }
        ledger.settle(entry)
        let next = try self.metadata(of: &ledger)
        #expect(next.end == RecordMark(offset: Offset(7), fingerprint: 77))
    }

    @Test func `a partition that comes back names the last record that it remembers`() throws {
        var ledger = try ledger(of: [5, 6, 7])
        #expect(ledger.lastKnown == nil, "it goes on behind all of them")
        let entry = try ledger.take(8)
        ledger.letGo(entry)
        _ = ledger.recordArrived(Offset(9), fingerprint: 9)
        #expect(ledger.lastKnown == Self.mark(9))
    }

    @Test func `a gap counts as settled once a later record has arrived`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        _ = try ledger.take(5)
        let second = try ledger.take(9)
        ledger.settle(second)
        let settled = try #require(ledger.settledOffsets)
        #expect(settled.incomplete == [5..<6])
        #expect(settled.horizon == Offset(10))
    }

    @Test func `a record that has already arrived is not accepted again`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        _ = try ledger.take(7)
        #expect(ledger.recordArrived(Offset(7)) == .repeated)
        #expect(ledger.recordArrived(Offset(6)) == .repeated)
        #expect(ledger.inHand == 1)
    }

    @Test func `a partition that starts over forgets its events in flight`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        let old = try ledger.take(1000)
        ledger.restarted()
        _ = try ledger.take(3)
        ledger.settle(old)
        #expect(ledger.committableOffset == Offset(3))
        #expect(ledger.inHand == 1)
    }

    @Test func `a change is committed once, and again only after its commit failed`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        ledger.settle(try ledger.take(0))
        #expect(ledger.isDirty)
        #expect(ledger.commitRequested(by: 1, for: partition)?.offset == Offset(1))
        #expect(!ledger.isDirty)
        ledger.commitFailed()
        #expect(ledger.isDirty)
    }

    @Test func `many records settle in any order`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        var random = SeededGenerator(seed: 1)
        var entries = try (0..<10_000).map { try ledger.take($0) }
        entries.shuffle(using: &random)
        for entry in entries { ledger.settle(entry) }
        #expect(ledger.committableOffset == Offset(10_000))
    }

    @Test func `settling a record twice is a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            var ledger = OffsetLedger(epoch: AssignmentEpoch())
            guard case .taken(let entry) = ledger.recordArrived(Offset(0)) else { return }
            ledger.settle(entry)
            ledger.settle(entry)
        }
    }

    // MARK: Restored from commit metadata

    /// Offsets 10, 13 and 14 were unsettled at the last owner's commit; 11, 12 and 15 were settled.
    private func restored(end: Int64) -> OffsetLedger {
        let settled = SettledOffsets(
            base: Offset(10),
            incomplete: [10..<11, 13..<15],
            horizon: Offset(16)
        )
        var ledger = OffsetLedger(
            epoch: AssignmentEpoch(),
            restored: settled.map { CommitMetadata(nonce: 1, settled: $0) }
        )
        _ = ledger.endSeen(Offset(end))
        return ledger
    }

    @Test func `records that the last owner settled are skipped, others are accepted`() throws {
        var ledger = restored(end: 16)
        let taken = (Int64(10)..<20).filter {
            if case .taken = ledger.recordArrived(Offset($0)) { true } else { false }
        }
        #expect(taken == [10, 13, 14, 16, 17, 18, 19])
    }

    @Test func `what the last owner settled stays settled before it is read`() throws {
        var ledger = restored(end: 16)
        let first = try ledger.take(10)
        #expect(ledger.settledOffsets?.incomplete == [10..<11, 13..<15])
        ledger.settle(first)
        let settled = try #require(ledger.settledOffsets)
        #expect(settled.base == Offset(13))
        #expect(settled.incomplete == [13..<15])
        #expect(settled.horizon == Offset(16))
    }

    @Test(arguments: [Int64(15), 0])
    func `offsets past the partition's end are ignored`(end: Int64) throws {
        var ledger = restored(end: end)
        #expect((10..<16).allSatisfy { (try? ledger.take($0)) != nil })
    }

    @Test func `metadata is ignored if the partition's end is unknown`() throws {
        let settled = try #require(
            SettledOffsets(base: Offset(0), incomplete: [0..<1], horizon: Offset(9))
        )
        let metadata = CommitMetadata(nonce: 1, settled: settled)
        var ledger = OffsetLedger(epoch: AssignmentEpoch(), restored: metadata)
        #expect((0..<9).allSatisfy { (try? ledger.take($0)) != nil })
    }

    // MARK: A partition that comes back

    @Test func `a partition that comes back is read from the first record handed back`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        let entries = try (0..<6).map { try ledger.take($0) }
        ledger.settle(entries[0])
        ledger.settle(entries[3])
        ledger.letGo(entries[2])
        ledger.letGo(entries[4])
        // 1 and 5 are in flight; 5 ends while the partition is away.
        ledger.settle(entries[5])
        #expect(ledger.nextOffset == Offset(2))
        ledger.resumed()
        _ = try ledger.take(2)
        #expect(ledger.recordArrived(Offset(3)) == .known)
        _ = try ledger.take(4)
        #expect(ledger.recordArrived(Offset(5)) == .known)
        _ = try ledger.take(6)
        ledger.settle(entries[1])
        #expect(ledger.committableOffset == Offset(2))
        #expect(ledger.inHand == 3)
    }

    @Test func `a record that was handed back and never arrives again no longer exists`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        let entries = try (0..<4).map { try ledger.take($0) }
        for entry in entries { ledger.letGo(entry) }
        ledger.resumed()
        ledger.settle(try ledger.take(2))
        #expect(ledger.committableOffset == Offset(3))
        ledger.settle(try ledger.take(9))
        #expect(ledger.committableOffset == Offset(10))
    }

    @Test func `if nothing was handed back, reading continues where it ended`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        let entry = try ledger.take(41)
        ledger.resumed()
        #expect(ledger.nextOffset == Offset(42))
        _ = try ledger.take(42)
        ledger.settle(entry)
        #expect(ledger.committableOffset == Offset(42))
    }

    // MARK: Full

    @Test func `one stuck record and 1,144 in flight pause a partition until half are left`()
        throws
    {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        _ = try ledger.take(0)
        for offset in 1..<Int64(24_000) { ledger.settle(try ledger.take(offset)) }
        var entries = try (24_000..<Int64(25_144)).map { try ledger.take($0) }
        #expect(ledger.isFull(wasFull: false))
        for entry in entries.prefix(500) { ledger.settle(entry) }
        #expect(!ledger.isFull(wasFull: false))
        #expect(ledger.isFull(wasFull: true))
        entries.removeFirst(500)
        for entry in entries.prefix(75) { ledger.settle(entry) }
        #expect(!ledger.isFull(wasFull: true))
    }

    @Test func `many records in flight without a stuck one do not pause`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        for offset in 0..<Int64(10_000) { _ = try ledger.take(offset) }
        #expect(!ledger.isFull(wasFull: false))
    }

    @Test func `a stuck record pauses the partition if the span reaches its limit`() throws {
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        let stuck = try ledger.take(0)
        ledger.settle(try ledger.take(CommitMetadata.maxSpan))
        #expect(ledger.isFull(wasFull: false))
        ledger.settle(stuck)
        #expect(!ledger.isFull(wasFull: true))
    }
}
