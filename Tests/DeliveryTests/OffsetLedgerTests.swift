import Delivery
import Testing
import Vocabulary

@Suite struct OffsetLedgerTests {
    /// Arrivals, then settlements in the order given, and the committable offset after each.
    @Test(arguments: [
        (arrivals: [0, 1, 2], settled: [0, 1, 2], committable: [1, 2, 3]),
        (arrivals: [0, 1, 2], settled: [2, 1, 0], committable: [0, 0, 3]),
        (arrivals: [0, 1, 2], settled: [1, 0, 2], committable: [0, 2, 3]),
        // Compaction and transaction markers leave gaps, which hold nothing.
        (arrivals: [5, 9, 40], settled: [9, 5, 40], committable: [5, 10, 41]),
    ])
    func `the committable offset is one past the last record before which all is settled`(
        arrivals: [Int64],
        settled: [Int64],
        committable: [Int64?]
    ) throws {
        var ledger = OffsetLedger()
        var entries: [Int64: OffsetLedger.Entry] = [:]
        for offset in arrivals { entries[offset] = ledger.recordArrived(Offset(offset)) }
        for (offset, expected) in zip(settled, committable) {
            ledger.settle(try #require(entries[offset]))
            #expect(ledger.committableOffset == expected.map(Offset.init))
        }
        #expect(ledger.span == 0)
    }

    @Test func `a record that was here before is not taken again`() {
        var ledger = OffsetLedger()
        #expect(ledger.recordArrived(Offset(7)) != nil)
        #expect(ledger.recordArrived(Offset(7)) == nil)
        #expect(ledger.recordArrived(Offset(6)) == nil)
        #expect(ledger.span == 1)
    }

    @Test func `a partition that starts anew forgets what was in hand`() throws {
        var ledger = OffsetLedger()
        let arrived = ledger.recordArrived(Offset(1000))
        let old = try #require(arrived)
        ledger.restarted()
        #expect(ledger.recordArrived(Offset(3)) != nil)
        ledger.settle(old)
        #expect(ledger.committableOffset == Offset(3))
        #expect(ledger.span == 1)
    }

    @Test func `an offset is committed once, and again only after its commit failed`() throws {
        var ledger = OffsetLedger()
        let entry = ledger.recordArrived(Offset(0))
        ledger.settle(try #require(entry))
        #expect(ledger.offsetToCommit == Offset(1))
        ledger.commitRequested()
        #expect(ledger.offsetToCommit == nil)
        ledger.commitFailed()
        #expect(ledger.offsetToCommit == Offset(1))
    }

    @Test func `many records settle in any order`() throws {
        var ledger = OffsetLedger()
        var random = SeededGenerator(seed: 1)
        var entries: [OffsetLedger.Entry] = []
        for offset in 0..<10_000 {
            let entry = ledger.recordArrived(Offset(Int64(offset)))
            entries.append(try #require(entry))
        }
        for entry in entries.shuffled(using: &random) { ledger.settle(entry) }
        #expect(ledger.committableOffset == Offset(10_000))
    }

    @Test func `settling a record twice is a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            var ledger = OffsetLedger()
            guard let entry = ledger.recordArrived(Offset(0)) else { return }
            ledger.settle(entry)
            ledger.settle(entry)
        }
    }
}
