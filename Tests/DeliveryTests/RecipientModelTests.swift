import Delivery
import Testing
import Vocabulary

/// A ledger and a naive account of the same partition, side by side.
///
/// The account is a dictionary of sets. After each step, the ledger must say the same.
@Suite struct RecipientModelTests {
    @Test(arguments: UInt64(1)...300)
    func `a ledger says what a dictionary of sets says`(seed: UInt64) throws {
        var account = Account(seed: seed)
        for _ in 0..<400 { try account.step() }
        try account.finish()
    }

    /// Ledgers whose metadata often has no room for all.
    @Test(arguments: UInt64(1)...100)
    func `what has no room is delivered again, and nothing else`(seed: UInt64) throws {
        var account = Account(seed: seed, metadataLimit: 24 + Int(seed) * 2)
        for _ in 0..<400 { try account.step() }
        try account.finish()
    }
}

private struct Account {
    /// A record of the log; nil recipients: it has one device.
    struct LogRecord {
        let fingerprint: UInt32
        let recipients: Int?
        let parts: Set<Int>

        init(fingerprint: UInt32, recipients: Int?) {
            (self.fingerprint, self.recipients) = (fingerprint, recipients)
            parts = Set(0..<(recipients ?? 1))
        }
    }

    private static let partition = TopicPartition(topic: KafkaTopic("source"), partition: 3)

    private var random: SeededGenerator
    private let metadataLimit: Int
    private var log: [Int64: LogRecord] = [:]
    private var logEnd: Int64 = 0
    /// Each new record has another fingerprint.
    private var fingerprint: UInt32 = 0

    private var ledger = OffsetLedger(epoch: AssignmentEpoch())
    /// By offset: the parts that are settled, as far as this member knows.
    private var known: [Int64: Set<Int>] = [:]
    /// By offset: the parts whose outcome was ever acknowledged.
    private var acknowledged: [Int64: Set<Int>] = [:]
    /// By offset and part.
    private var inHand: [Int64: [Int: OffsetLedger.Entry]] = [:]
    /// Records whose recipients are not known yet.
    private var waiting: [Int64: OffsetLedger.Entry] = [:]
    /// Deliveries of records that are gone.
    private var orphans: [(entry: OffsetLedger.Entry, recipient: Int?)] = []
    /// The next offset to read, and the one after the highest that was read.
    private var readFrom: Int64 = 0
    private var farthest: Int64 = 0
    private var committed: (offset: Offset, metadata: String)?

    init(seed: UInt64, metadataLimit: Int = CommitMetadata.maxCharacters) {
        random = SeededGenerator(seed: seed)
        self.metadataLimit = metadataLimit
    }

    // MARK: Steps

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: write()
        case 15..<40: try read()
        case 40..<75: settleOne()
        case 75..<78: endWait()
        case 78..<80: settleOrphan()
        case 80..<88: try commit()
        case 88..<92: try commitInTransaction()
        case 92..<94: releaseAndResume()
        case 94..<96: crash()
        case 96..<97: cut()
        case 97..<98: compact()
        default:
            let commit = ledger.commitRequested(by: 1, for: Self.partition)
            try check(commit, dropped: ledger.droppedRecipients)
        }
        #expect(ledger.inHand == Set(inHand.keys).union(waiting.keys).count)
    }

    /// Reads and settles all that is left.
    mutating func finish() throws {
        while readFrom < logEnd { try read() }
        while !waiting.isEmpty {
            settleOne()
            endWait()
        }
        for (offset, part) in partsInHand().shuffled(using: &random) { settle(offset, part) }
        #expect(ledger.inHand == 0)
        if let last = log.keys.max(), let committable = ledger.committableOffset {
            #expect(committable.rawValue > last)
        }
        for (offset, record) in log { #expect(acknowledged[offset] == record.parts) }
        try commit()
    }

    private mutating func write() {
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            fingerprint += 1
            let recipients: Int? =
                switch Int.random(in: 0..<6, using: &random) {
                case 0, 1: nil
                case 2: Int.random(in: 60...200, using: &random)
                default: Int.random(in: 1...6, using: &random)
                }
            log[logEnd] = LogRecord(fingerprint: fingerprint, recipients: recipients)
            logEnd += Int64(Int.random(in: 0..<8, using: &random) == 0 ? 3 : 1)
        }
    }

    private mutating func read() throws {
        while readFrom < logEnd, log[readFrom] == nil { readFrom += 1 }
        guard readFrom < logEnd, let record = log[readFrom] else { return }
        let offset = readFrom
        readFrom += 1
        farthest = max(farthest, readFrom)
        let held = Set((inHand[offset] ?? [:]).keys)
        let open = record.parts.subtracting(known[offset] ?? []).subtracting(held)
        let isWhole = record.recipients == nil || Int.random(in: 0..<8, using: &random) == 0
        if isWhole {
            let admission = ledger.recordArrived(Offset(offset), fingerprint: record.fingerprint)
            guard case .taken(let entry) = admission else {
                #expect(admission == .known && open.isEmpty, "\(offset)")
                return
            }
            #expect(!open.isEmpty, "\(offset)")
            if record.recipients == nil {
                inHand[offset] = [0: entry]
            } else {
                waiting[offset] = entry
            }
        } else if let recipients = record.recipients {
            let admission = ledger.recordArrived(
                Offset(offset),
                fingerprint: record.fingerprint,
                recipients: recipients
            )
            guard case .taken(let entry, let set) = admission else {
                #expect(admission == .known && open.isEmpty, "\(offset)")
                return
            }
            #expect(Array(set) == open.sorted(), "\(offset)")
            for part in set { inHand[offset, default: [:]][part] = entry }
        }
    }

    private mutating func settleOne() {
        guard let offset = inHand.keys.sorted().randomElement(using: &random),
            let part = inHand[offset]?.keys.sorted().randomElement(using: &random)
        else { return }
        settle(offset, part)
    }

    private mutating func settle(_ offset: Int64, _ part: Int) {
        guard let entry = inHand[offset]?.removeValue(forKey: part) else { return }
        if inHand[offset]?.isEmpty ?? false { inHand[offset] = nil }
        known[offset, default: []].insert(part)
        acknowledged[offset, default: []].insert(part)
        if log[offset]?.recipients == nil {
            ledger.settle(entry)
        } else {
            ledger.settle(entry, recipient: part)
        }
    }

    private func partsInHand() -> [(offset: Int64, part: Int)] {
        inHand.keys.sorted().flatMap { offset in
            (inHand[offset] ?? [:]).keys.sorted().map { (offset, $0) }
        }
    }

    private mutating func endWait() {
        guard let offset = waiting.keys.sorted().randomElement(using: &random),
            let entry = waiting.removeValue(forKey: offset), let record = log[offset]
        else { return }
        let held = Set((inHand[offset] ?? [:]).keys)
        let open = record.parts.subtracting(known[offset] ?? []).subtracting(held)
        if Int.random(in: 0..<3, using: &random) == 0 {
            // The record was not valid: it has one outcome.
            known[offset, default: []].formUnion(open)
            acknowledged[offset, default: []].formUnion(open)
            ledger.settle(entry)
        } else {
            let seen = ledger.recipientsSeen(
                entry,
                fingerprint: record.fingerprint,
                recipients: record.parts.count
            )
            #expect(Array(seen.open) == open.sorted())
            for part in open { inHand[offset, default: [:]][part] = seen.entry }
        }
    }

    private mutating func settleOrphan() {
        guard let (entry, recipient) = orphans.popLast() else { return }
        switch (recipient, Bool.random(using: &random)) {
        case (.some(let recipient), true): ledger.settle(entry, recipient: recipient)
        case (.some(let recipient), false): ledger.letGo(entry, recipient: recipient)
        case (nil, true): ledger.settle(entry)
        case (nil, false): ledger.letGo(entry)
        }
    }

    // MARK: Commits

    private mutating func commit() throws {
        let commit = ledger.commitRequested(by: 1, for: Self.partition, within: metadataLimit)
        try check(commit, dropped: ledger.droppedRecipients)
        if Int.random(in: 0..<8, using: &random) == 0 {
            ledger.commitFailed()
        } else if let commit {
            committed = commit
        }
    }

    /// A commit says what is settled, and of recipients all that is.
    private func check(
        _ commit: (offset: Offset, metadata: String)?,
        dropped: Int = 0,
        settling more: [Int64: Set<Int>] = [:]
    ) throws {
        guard let commit else { return }
        let known = known.merging(more) { $0.union($1) }
        let base = commit.offset.rawValue
        for (offset, record) in log where offset < base {
            #expect(known[offset] == record.parts, "\(offset) is committed")
        }
        guard !commit.metadata.isEmpty else { return }
        let metadata = try CommitMetadata(commit.metadata, base: commit.offset, of: Self.partition)
        for (offset, record) in log where metadata.settled.isSettled(Offset(offset)) {
            #expect(known[offset] == record.parts, "\(offset) is called settled")
        }
        var expected: [SettledRecipients] = []
        for (offset, record) in log.sorted(by: { $0.key < $1.key }) where offset >= base {
            guard let count = record.recipients, let parts = known[offset], !parts.isEmpty,
                parts != record.parts
            else { continue }
            var set = RecipientSet(of: count)
            for part in parts { set.insert(part) }
            let mark = RecordMark(offset: Offset(offset), fingerprint: record.fingerprint)
            expected.append(SettledRecipients(of: mark, set))
        }
        let said = metadata.recipients.filter { log[$0.record.offset.rawValue] != nil }
        #expect(said == Array(expected.prefix(said.count)))
        let missing = expected.dropFirst(said.count).reduce(0) { $0 + $1.settled.count }
        #expect(missing <= dropped)
    }

    /// Settles some parts with the commit that contains them, if it succeeds.
    private mutating func commitInTransaction() throws {
        var (trial, rest) = (ledger, inHand)
        var chosen: [(offset: Int64, part: Int, entry: OffsetLedger.Entry)] = []
        for offset in rest.keys.sorted() {
            for (part, entry) in (rest[offset] ?? [:]).sorted(by: { $0.key < $1.key })
            where Int.random(in: 0..<3, using: &random) == 0 {
                chosen.append((offset, part, entry))
            }
        }
        var more: [Int64: Set<Int>] = [:]
        for (offset, part, entry) in chosen {
            more[offset, default: []].insert(part)
            rest[offset]?[part] = nil
            if log[offset]?.recipients == nil {
                trial.settle(entry)
            } else {
                trial.settle(entry, recipient: part)
            }
        }
        let commit = trial.commitRequested(by: 1, for: Self.partition, within: metadataLimit)
        try check(commit, dropped: trial.droppedRecipients, settling: more)
        ledger.commitTaken(by: trial)
        guard Int.random(in: 0..<3, using: &random) > 0 else { return ledger.commitFailed() }
        for (offset, part, entry) in chosen {
            if log[offset]?.recipients == nil {
                ledger.settleCommitted(entry)
            } else {
                ledger.settleCommitted(entry, recipient: part)
            }
        }
        #expect(!ledger.isDirty)
        inHand = rest.filter { !$0.value.isEmpty }
        known.merge(more) { $0.union($1) }
        acknowledged.merge(more) { $0.union($1) }
        committed = commit ?? committed
    }

    // MARK: Ends of assignments

    /// The partition goes away and comes back; deliveries that wait are released.
    private mutating func releaseAndResume() {
        guard ledger.hasPosition else { return }
        for (_, entry) in waiting.sorted(by: { $0.key < $1.key }) { ledger.letGo(entry) }
        waiting = [:]
        for offset in inHand.keys.sorted() {
            for (part, entry) in (inHand[offset] ?? [:]).sorted(by: { $0.key < $1.key })
            where Bool.random(using: &random) {
                if log[offset]?.recipients == nil {
                    ledger.letGo(entry)
                } else {
                    ledger.letGo(entry, recipient: part)
                }
                inHand[offset]?[part] = nil
            }
        }
        inHand = inHand.filter { !$0.value.isEmpty }
        for _ in 0..<Int.random(in: 0...3, using: &random) { settleOne() }
        // Also records that were released before, and have not been read again.
        let open = log.filter { offset, record in
            let held = Set((inHand[offset] ?? [:]).keys)
            return offset < farthest && record.parts != held.union(known[offset] ?? [])
        }
        #expect(ledger.nextOffset.rawValue <= open.keys.min() ?? farthest)
        ledger.resumed()
        readFrom = ledger.nextOffset.rawValue
    }

    /// A new owner starts from what was committed.
    private mutating func crash() {
        ledger = OffsetLedger(epoch: AssignmentEpoch())
        (known, inHand, waiting, orphans) = ([:], [:], [:], [])
        readFrom = 0
        if let (offset, text) = committed {
            let metadata = try? CommitMetadata(text, base: offset, of: Self.partition)
            ledger = OffsetLedger(epoch: AssignmentEpoch(), restored: metadata)
            readFrom = offset.rawValue
            for (offset, record) in log where offset < readFrom { known[offset] = record.parts }
            if let metadata, ledger.endSeen(Offset(logEnd)) { restore(metadata) }
        }
        farthest = readFrom
    }

    private mutating func restore(_ metadata: CommitMetadata) {
        for (offset, record) in log where metadata.settled.isSettled(Offset(offset)) {
            known[offset] = record.parts
        }
        for entry in metadata.recipients {
            let offset = entry.record.offset.rawValue
            guard log[offset]?.fingerprint == entry.record.fingerprint else { continue }
            known[offset] = Set(entry.settled)
        }
    }

    // MARK: The log

    /// The log loses its last records, and the shard goes on at its end.
    private mutating func cut() {
        guard ledger.hasPosition, readFrom == farthest, farthest > 2 else { return }
        let end = Int64.random(in: max(0, farthest - 6)..<farthest, using: &random)
        ledger.cut(at: Offset(end))
        for offset in log.keys.sorted() where offset >= end {
            let recipients = log[offset]?.recipients
            for (part, entry) in (inHand[offset] ?? [:]).sorted(by: { $0.key < $1.key }) {
                orphans.append((entry, recipients == nil ? nil : part))
            }
            if let entry = waiting[offset] { orphans.append((entry, nil)) }
            log[offset] = nil
        }
        known = known.filter { $0.key < end }
        acknowledged = acknowledged.filter { $0.key < end }
        inHand = inHand.filter { $0.key < end }
        waiting = waiting.filter { $0.key < end }
        (logEnd, readFrom, farthest) = (end, end, end)
        // What was committed before says nothing of the records to come: an owner notices (decision
        // 12), and here it commits again.
        committed = ledger.commitRequested(by: 1, for: Self.partition, within: metadataLimit)
    }

    /// Kafka removes a record that is read again, or not read yet.
    private mutating func compact() {
        let offset = log.keys.sorted().filter { $0 >= readFrom }.randomElement(using: &random)
        guard let offset, inHand[offset] == nil, waiting[offset] == nil else { return }
        log[offset] = nil
        known[offset] = nil
        acknowledged[offset] = nil
    }
}
