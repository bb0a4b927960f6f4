import Delivery
import Testing
import Vocabulary

@Suite struct RecipientLedgerTests {
    private static let partition = TopicPartition(topic: KafkaTopic("source"), partition: 3)

    private static func ledger(restored metadata: CommitMetadata? = nil) -> OffsetLedger {
        OffsetLedger(epoch: AssignmentEpoch(), restored: metadata)
    }

    /// The entry and the recipients of a record that must be taken; its fingerprint is its offset.
    private static func take(
        _ offset: Int64,
        of recipients: Int,
        fingerprint: UInt32? = nil,
        in ledger: inout OffsetLedger
    ) throws -> (entry: OffsetLedger.Entry, open: [Int]) {
        let admission = ledger.recordArrived(
            Offset(offset),
            fingerprint: fingerprint ?? UInt32(offset),
            recipients: recipients
        )
        guard case .taken(let entry, let open) = admission else {
            throw OffsetLedger.NotTaken(offset: offset)
        }
        return (entry, Array(open))
    }

    private static func commit(
        _ ledger: inout OffsetLedger,
        within limit: Int = CommitMetadata.maxCharacters
    ) throws -> CommitMetadata {
        let commit = ledger.commitRequested(by: 1, for: partition, within: limit)
        let (offset, text) = try #require(commit)
        return try CommitMetadata(text, base: offset, of: partition)
    }

    /// By offset.
    private static func settled(_ metadata: CommitMetadata) -> [Int64: [Int]] {
        Dictionary(
            uniqueKeysWithValues: metadata.recipients.map {
                ($0.record.offset.rawValue, Array($0.settled))
            }
        )
    }

    // MARK: Settled

    @Test func `a record is settled when its last recipient is`() throws {
        var ledger = Self.ledger()
        let first = try Self.take(5, of: 3, in: &ledger)
        let second = try Self.take(6, of: 1, in: &ledger)
        #expect(first.open == [0, 1, 2] && second.open == [0] && ledger.inHand == 2)
        ledger.settle(second.entry, recipient: 0)
        for (recipient, said) in [(2, [5: [2]]), (0, [5: [0, 2]])] as [(Int, [Int64: [Int]])] {
            ledger.settle(first.entry, recipient: recipient)
            #expect(ledger.isDirty && ledger.committableOffset == Offset(5))
            #expect(try Self.settled(Self.commit(&ledger)) == said)
        }
        ledger.settle(first.entry, recipient: 1)
        #expect(ledger.committableOffset == Offset(7) && ledger.inHand == 0)
        #expect(try Self.commit(&ledger).recipients == [])
    }

    @Test func `recipients also of records past the last settled one are in the metadata`() throws {
        var ledger = Self.ledger()
        let entries = try (5..<Int64(9)).map { try Self.take($0, of: 2, in: &ledger).entry }
        ledger.settle(entries[1], recipient: 0)
        ledger.settle(entries[1], recipient: 1)
        for entry in [entries[0], entries[3]] { ledger.settle(entry, recipient: 1) }
        let metadata = try Self.commit(&ledger)
        #expect(metadata.settled.horizon == Offset(7))
        #expect(Self.settled(metadata) == [5: [1], 8: [1]])
        #expect(metadata.recipients.map(\.record.fingerprint) == [5, 8])
    }

    @Test func `settling or releasing a recipient twice is a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            var ledger = Self.ledger()
            let (entry, _) = try Self.take(5, of: 2, in: &ledger)
            ledger.settle(entry, recipient: 1)
            ledger.settle(entry, recipient: 1)
        }
        await #expect(processExitsWith: .failure) {
            var ledger = Self.ledger()
            let (entry, _) = try Self.take(5, of: 2, in: &ledger)
            ledger.letGo(entry, recipient: 1)
            ledger.letGo(entry, recipient: 1)
        }
    }

    @Test func `confusing a record with its recipients is a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            var ledger = Self.ledger()
            ledger.settle(try Self.take(5, of: 2, in: &ledger).entry)
        }
        await #expect(processExitsWith: .failure) {
            var ledger = Self.ledger()
            ledger.settle(try ledger.take(5), recipient: 0)
        }
    }

    // MARK: Read again

    @Test func `only recipients that are neither settled nor in hand are delivered again`() throws {
        var ledger = Self.ledger()
        let (entry, _) = try Self.take(5, of: 5, in: &ledger)
        let behind = try Self.take(6, of: 2, in: &ledger)
        ledger.settle(entry, recipient: 0)
        for recipient in [1, 3] { ledger.letGo(entry, recipient: recipient) }
        ledger.settle(entry, recipient: 4)
        // 2 is in flight; so is the other record.
        #expect(ledger.nextOffset == Offset(5) && ledger.inHand == 2)
        ledger.resumed()
        let again = try Self.take(5, of: 5, in: &ledger)
        #expect(again.open == [1, 3])
        #expect(ledger.recordArrived(Offset(6), fingerprint: 6, recipients: 2) == .known)
        ledger.settle(entry, recipient: 2)
        ledger.settle(again.entry, recipient: 1)
        for recipient in [0, 1] { ledger.settle(behind.entry, recipient: recipient) }
        #expect(try Self.settled(Self.commit(&ledger)) == [5: [0, 1, 2, 4]])
        ledger.settle(again.entry, recipient: 3)
        #expect(ledger.committableOffset == Offset(7) && ledger.inHand == 0)
    }

    @Test func `a record that is gone when it is read again ends with its recipients in hand`()
        throws
    {
        var ledger = Self.ledger()
        let (entry, _) = try Self.take(5, of: 3, in: &ledger)
        ledger.letGo(entry, recipient: 0)
        ledger.resumed()
        _ = try Self.take(8, of: 1, in: &ledger)
        #expect(ledger.committableOffset == Offset(5) && ledger.inHand == 2)
        ledger.settle(entry, recipient: 1)
        ledger.settle(entry, recipient: 2)
        #expect(ledger.committableOffset == Offset(8) && ledger.inHand == 1)
    }

    /// Another record, or the same with other recipients; or one without, such as one that is not
    /// valid under a new schema.
    @Test(arguments: [(fingerprint: 6, recipients: 4), (5, 3), (6, nil)] as [(UInt32, Int?)])
    func `another record at the same offset inherits nothing`(
        fingerprint: UInt32,
        recipients: Int?
    ) throws {
        var ledger = Self.ledger()
        let (entry, _) = try Self.take(5, of: 4, in: &ledger)
        ledger.settle(entry, recipient: 0)
        ledger.letGo(entry, recipient: 1)
        ledger.resumed()
        if let recipients {
            let other = try Self.take(5, of: recipients, fingerprint: fingerprint, in: &ledger)
            #expect(other.open == Array(0..<recipients) && ledger.inHand == 1)
            #expect(try Self.commit(&ledger).recipients == [])
            // What was in flight for the first settles nothing.
            for recipient in [2, 3] { ledger.settle(entry, recipient: recipient) }
            #expect(try Self.commit(&ledger).recipients == [])
            for recipient in 0..<recipients { ledger.settle(other.entry, recipient: recipient) }
        } else {
            let admission = ledger.recordArrived(Offset(5), fingerprint: fingerprint)
            guard case .taken(let other) = admission else { throw OffsetLedger.NotTaken(offset: 5) }
            for recipient in [2, 3] { ledger.letGo(entry, recipient: recipient) }
            #expect(ledger.committableOffset == Offset(5) && ledger.inHand == 1)
            ledger.settle(other)
        }
        #expect(ledger.committableOffset == Offset(6) && ledger.inHand == 0)
    }

    // MARK: Records that wait until they can be read

    /// The record arrives without recipients, while 1 is in hand, 0 settled and 2 and 3 released.
    @Test(arguments: ["seen", "ended", "let go"])
    func `a record that waits holds its released recipients`(end: String) throws {
        var ledger = Self.ledger()
        let (entry, _) = try Self.take(5, of: 4, in: &ledger)
        ledger.settle(entry, recipient: 0)
        for recipient in [2, 3] { ledger.letGo(entry, recipient: recipient) }
        ledger.resumed()
        let admission = ledger.recordArrived(Offset(5), fingerprint: 5)
        guard case .taken(let whole) = admission else { throw OffsetLedger.NotTaken(offset: 5) }
        #expect(ledger.inHand == 1 && ledger.nextOffset == Offset(6))
        switch end {
        case "seen":
            let seen = ledger.recipientsSeen(whole, fingerprint: 5, recipients: 4)
            #expect(Array(seen.open) == [2, 3])
            for recipient in [2, 3] { ledger.settle(seen.entry, recipient: recipient) }
        case "ended": ledger.settle(whole)
        default:
            ledger.letGo(whole)
            #expect(ledger.nextOffset == Offset(5) && ledger.inHand == 1)
            #expect(try Self.settled(Self.commit(&ledger)) == [5: [0]])
            return
        }
        #expect(ledger.committableOffset == Offset(5) && ledger.inHand == 1)
        ledger.settle(entry, recipient: 1)
        #expect(ledger.committableOffset == Offset(6) && ledger.inHand == 0)
    }

    @Test func `a record that waits keeps what the metadata says of it`() throws {
        var ledger = Self.ledger()
        ledger.settle(try Self.take(5, of: 3, in: &ledger).entry, recipient: 1)
        var next = Self.ledger(restored: try Self.commit(&ledger))
        _ = next.endSeen(Offset(6))
        let admission = next.recordArrived(Offset(5), fingerprint: 5)
        guard case .taken(let whole) = admission else { throw OffsetLedger.NotTaken(offset: 5) }
        #expect(try Self.settled(Self.commit(&next)) == [5: [1]])
        let seen = next.recipientsSeen(whole, fingerprint: 5, recipients: 3)
        #expect(Array(seen.open) == [0, 2])
    }

    // MARK: Restored

    /// The committed metadata lists recipients of 5 and 8; the last settled record is 6.
    @Test(
        arguments: [
            (end: 9, arrivals: [5, 6, 7, 8], changed: nil, open: [5: [0], 7: [0, 1], 8: [1]]),
            // Records that are gone, or others.
            (
                end: 20, arrivals: [7, 9, 12], changed: nil,
                open: [7: [0, 1], 9: [0, 1], 12: [0, 1]]
            ),
            (end: 9, arrivals: [5, 6, 7, 8], changed: 8, open: [5: [0], 7: [0, 1], 8: [0, 1]]),
            // The log is shorter, or it is not known how long it is.
            (end: 8, arrivals: [5, 6], changed: nil, open: [5: [0, 1], 6: [0, 1]]),
            (end: nil, arrivals: [5, 8], changed: nil, open: [5: [0, 1], 8: [0, 1]]),
        ] as [(Int64?, [Int64], Int64?, [Int64: [Int]])]
    )
    func `what the last owner settled is skipped if it is the same record`(
        end: Int64?,
        arrivals: [Int64],
        changed: Int64?,
        open: [Int64: [Int]]
    ) throws {
        var last = Self.ledger()
        let entries = try (5..<Int64(9)).map { try Self.take($0, of: 2, in: &last).entry }
        for recipient in [0, 1] { last.settle(entries[1], recipient: recipient) }
        last.settle(entries[0], recipient: 1)
        last.settle(entries[3], recipient: 0)
        let metadata = try Self.commit(&last)
        var ledger = Self.ledger(restored: metadata)
        if let end { #expect(ledger.endSeen(Offset(end)) == (end > 8)) }
        var found: [Int64: [Int]] = [:]
        for offset in arrivals {
            let admission = ledger.recordArrived(
                Offset(offset),
                fingerprint: UInt32(offset) + (offset == changed ? 1 : 0),
                recipients: 2
            )
            if case .taken(_, let recipients) = admission { found[offset] = Array(recipients) }
            // What is still to be read stays settled.
            guard end == 9 else { continue }
            let said = try Self.settled(Self.commit(&ledger))
            #expect(said == [5: [1], 8: [0]].filter { $0.key != changed || offset < $0.key })
        }
        #expect(found == open)
    }

    @Test func `a ledger that learns what it committed before delivers only the rest`() throws {
        var before = Self.ledger()
        let first = try Self.take(5, of: 4, in: &before).entry
        for recipient in [0, 3] { before.settle(first, recipient: recipient) }
        let metadata = try Self.commit(&before)
        // Kafka did not answer, so the record was delivered again.
        var ledger = Self.ledger()
        let (entry, open) = try Self.take(5, of: 4, in: &ledger)
        #expect(open == [0, 1, 2, 3])
        for recipient in [0, 1, 2] { ledger.letGo(entry, recipient: recipient) }
        ledger.resumed(knowing: metadata)
        #expect(try Self.take(5, of: 4, in: &ledger).open == [1, 2])
        ledger.settle(entry, recipient: 3)
        #expect(try Self.settled(Self.commit(&ledger)) == [5: [0, 3]])
    }

    // MARK: Full

    /// One recipient of each record, or all but one, is settled.
    @Test(
        arguments: [
            // 20 always fit, in any pattern.
            (recipients: 1000, settled: 500, records: 20, fullFrom: nil),
            (recipients: 1000, settled: 500, records: 40, fullFrom: 12),
            (recipients: 1000, settled: 0, records: 200, fullFrom: nil),
            (recipients: 1000, settled: 997, records: 60, fullFrom: nil),
            (recipients: 1000, settled: 997, records: 200, fullFrom: 72),
            (recipients: 2, settled: 1, records: 800, fullFrom: 148),
            (recipients: 1, settled: 0, records: 2000, fullFrom: nil),
        ] as [(Int, Int, Int, Int?)]
    )
    func `a partition pauses when its records' recipients fill half of the room`(
        recipients: Int,
        settled: Int,
        records: Int,
        fullFrom: Int?
    ) throws {
        var ledger = Self.ledger()
        let entries = try (0..<Int64(records)).map {
            try Self.take($0, of: recipients, in: &ledger).entry
        }
        var found: Int?
        for (place, entry) in entries.enumerated() {
            for recipient in 0..<settled { ledger.settle(entry, recipient: recipient) }
            if ledger.isFull(wasFull: false), found == nil { found = place + 1 }
        }
        #expect(found == fullFrom)
        guard let full = fullFrom else { return }
        // All that is settled is in the metadata until then.
        var committed = ledger
        #expect(try Self.commit(&committed).recipients.count >= full)
        // The last ones settle, until few enough are left.
        var left = records
        for entry in entries.reversed() where ledger.isFull(wasFull: true) {
            for recipient in settled..<recipients { ledger.settle(entry, recipient: recipient) }
            left -= 1
        }
        #expect(left > 0 && left <= full)
        #expect(!ledger.isFull(wasFull: false))
    }

    @Test func `a partition pauses until the metadata has room for all settled recipients`() throws
    {
        var ledger = Self.ledger()
        let entries = try (0..<Int64(4)).map { try Self.take($0, of: 1000, in: &ledger).entry }
        for entry in entries {
            for recipient in stride(from: 0, to: 1000, by: 2) {
                ledger.settle(entry, recipient: recipient)
            }
        }
        #expect(!ledger.isFull(wasFull: false))
        #expect(try Self.settled(Self.commit(&ledger, within: 400)).count == 2)
        #expect(ledger.droppedRecipients == 1000 && ledger.isFull(wasFull: false))
        // Nothing ever fits, so there is nothing to wait for.
        #expect(ledger.commitRequested(by: 1, for: Self.partition, within: 10)?.metadata == "")
        #expect(ledger.droppedRecipients == 2000 && !ledger.isFull(wasFull: false))
        #expect(try Self.commit(&ledger).recipients.count == 4)
        #expect(ledger.droppedRecipients == 0 && !ledger.isFull(wasFull: false))
    }
}

extension OffsetLedger {
    /// What follows the arrival of a record with recipients.
    enum FanOutAdmission: Hashable, Sendable {
        /// These recipients must be delivered; they are in hand until each is settled or let go.
        case taken(Entry, RecipientSet)
        /// As in `Admission`.
        case known
        case repeated
    }

    /// A record with this many recipients arrived; `fingerprint` is the record's.
    mutating func recordArrived(
        _ offset: Offset,
        fingerprint: UInt32,
        recipients recipientCount: Int
    ) -> FanOutAdmission {
        switch recordArrived(offset, fingerprint: fingerprint) {
        case .taken(let entry):
            let (entry, open) = recipientsSeen(
                entry,
                fingerprint: fingerprint,
                recipients: recipientCount
            )
            return .taken(entry, open)
        case .known: return .known
        case .repeated: return .repeated
        }
    }
}
