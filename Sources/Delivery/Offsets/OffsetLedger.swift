public import Vocabulary

/// The records of one partition, from arrival to settlement.
///
/// Records arrive in order and settle in any order. The ledger stores only incomplete records, as a
/// linked list in offset order. Every input takes constant time, except those that walk the list
/// once per assignment. Every other offset up to the last record counts as settled: its record was
/// settled, or the arrival of a later record proved that it does not exist (compaction, transaction
/// markers).
///
/// A record may have recipients. It arrives once, with all that are neither settled nor in hand;
/// they settle or are let go one by one, and the record is settled when its last recipient is. If
/// only some are settled, the metadata of the commit says which.
public struct OffsetLedger: Sendable {
    /// A record's entry in the ledger.
    public struct Entry: Hashable, Sendable {
        public let epoch: AssignmentEpoch
        fileprivate let restarts: UInt32
        fileprivate let line: Int32
        fileprivate let offset: Offset

        /// The entry of no record.
        static let nowhere = Entry(
            epoch: AssignmentEpoch(),
            restarts: 0,
            line: OffsetLedger.none,
            offset: Offset(0)
        )
    }

    public enum Admission: Hashable, Sendable {
        case taken(Entry)
        /// Settled before, or in flight since before the partition was revoked and assigned again.
        case known
        /// This record or a later one already arrived in this assignment.
        case repeated
    }

    private struct Line: Sendable {
        var offset: Offset
        var previous: Int32
        var next: Int32
        /// The record read before this one.
        var before: RecordMark?
        /// False: it, or a recipient, was released without an outcome, so the record must be read
        /// again.
        var isInHand = true
        var isSettled = false
    }

    private static let none: Int32 = -1

    public let epoch: AssignmentEpoch
    private var lines: [Line] = []
    private var fanOuts = RecipientLedgers()
    private var free: [Int32] = []
    private var first = none
    private var last = none
    /// Records taken that are neither settled nor released.
    public private(set) var inHand = 0
    /// The offsets that each restart lost: earlier entries at these settle nothing.
    private var restarts: [ClosedRange<Int64>] = []
    /// The last record of the current assignment, and the last of all; or, after `began`, the
    /// offset before the start.
    private var position: Offset?
    private var farthest: Offset?
    /// The mark of the last record, or the one stored with the committed offset.
    private var latest: RecordMark?
    /// The first line not read again, while an assignment reads released records again.
    private var unread = none
    private var restored: RestoredMetadata?
    /// Whether something is settled that no commit contains.
    public private(set) var isDirty = false
    /// Whether the last metadata was cut off.
    private var isCut = false
    /// How many settled recipients the last metadata had no room for.
    public private(set) var droppedRecipients = 0

    /// `metadata` is that of the committed offset.
    public init(epoch: AssignmentEpoch, restored metadata: CommitMetadata? = nil) {
        self.epoch = epoch
        restored = metadata.map(RestoredMetadata.init)
        latest = metadata?.mark
    }

    // MARK: Inputs

    /// The partition's end offset, before its first record in an assignment.
    ///
    /// - Returns: false if the restored metadata reaches past it, and was dropped.
    public mutating func endSeen(_ end: Offset) -> Bool {
        guard let horizon = restored?.horizon else { return true }
        guard horizon <= end else {
            restored = nil
            return false
        }
        restored?.isTrusted = true
        return true
    }

    /// Nothing before that offset will be read; has no effect after the first record.
    public mutating func began(at start: Offset) {
        guard farthest == nil else { return }
        farthest = Offset(start.rawValue - 1)
        isDirty = true
    }

    /// A record arrived; `fingerprint` is the record's.
    public mutating func recordArrived(_ offset: Offset, fingerprint: UInt32 = 0) -> Admission {
        if let position, offset <= position { return .repeated }
        position = offset
        if let farthest, offset <= farthest { return arrivedAgain(offset, fingerprint) }
        while unread != Self.none { readPast(unread) }
        // Commit the first record's offset too: otherwise a group that started at the log's end
        // would start at a later end after a restart, and skip unsettled records.
        if farthest == nil { isDirty = true }
        farthest = offset
        defer { latest = RecordMark(offset: offset, fingerprint: fingerprint) }
        if isRestoredSettled(offset) {
            isDirty = true
            return .known
        }
        inHand += 1
        let line = append(offset)
        if restored != nil { restoreRecipients(line, fingerprint) }
        return .taken(entry(line))
    }

    /// A record that arrived without recipients has this many: it had to wait until it was read.
    ///
    /// - Returns: the record's entry from now on, and the recipients to deliver.
    public mutating func recipientsSeen(
        _ entry: Entry,
        fingerprint: UInt32,
        recipients recipientCount: Int
    ) -> (entry: Entry, open: RecipientSet) {
        let all = RecipientSet(allOf: recipientCount)
        guard isLeft(entry) else { return (entry, all) }
        check(entry, "counted the recipients of a record twice")
        let line = entry.line
        if let fanOut = fanOuts[line] {
            if fanOut.fingerprint == fingerprint, fanOut.settled.recipientCount == recipientCount {
                let open = fanOut.rest
                fanOuts.change(line) {
                    $0.inHand = $0.inHand.union(open)
                    $0.isWhole = false
                }
                return (entry, open)
            }
            forgetRecipients(line)
        }
        let fanOut = RecipientLedger(
            fingerprint: fingerprint,
            isWhole: false,
            settled: RecipientSet(of: recipientCount),
            inHand: all
        )
        fanOuts.insert(fanOut, at: line)
        return (self.entry(line), all)
    }

    /// Whether some of the record's recipients are settled.
    public func hasSettledRecipients(_ entry: Entry) -> Bool {
        isLeft(entry) && fanOuts[entry.line].map { !$0.settled.isEmpty } ?? false
    }

    /// Kafka acknowledged the record's outcome.
    public mutating func settle(_ entry: Entry) {
        guard isLeft(entry) else { return }
        check(entry, "settled a record twice")
        if let fanOut = fanOuts[entry.line], !fanOut.inHand.isEmpty {
            // The record ended as a whole, but for the recipients that were in hand before.
            return settleRest(entry.line)
        }
        inHand -= 1
        remove(entry.line)
    }

    /// Kafka acknowledged the outcome of one of the record's recipients.
    public mutating func settle(_ entry: Entry, recipient: Int) {
        guard isLeft(entry) else { return }
        check(entry, recipient, "settled a recipient twice")
        let fanOut = fanOuts.change(entry.line) {
            $0.inHand.remove(recipient)
            $0.settled.insert(recipient)
        }
        isDirty = true
        guard !fanOut.isAnythingInHand else { return }
        inHand -= 1
        if fanOut.settled.isComplete { remove(entry.line) }
    }

    /// The record's outcome and the offset that settles it are committed, in one transaction.
    public mutating func settleCommitted(_ entry: Entry) {
        let wasDirty = isDirty
        settle(entry)
        isDirty = wasDirty
    }

    /// As above, for one of the record's recipients.
    public mutating func settleCommitted(_ entry: Entry, recipient: Int) {
        let wasDirty = isDirty
        settle(entry, recipient: recipient)
        isDirty = wasDirty
    }

    /// A commit was built from a copy of this ledger in which more records are settled.
    public mutating func commitTaken(by trial: OffsetLedger) {
        isDirty = trial.isDirty
        isCut = trial.isCut
        droppedRecipients = trial.droppedRecipients
    }

    /// The delivery of the record was released: the record must be read again.
    public mutating func letGo(_ entry: Entry) {
        guard isLeft(entry) else { return }
        check(entry, "let a record go twice")
        guard fanOuts[entry.line] != nil else {
            inHand -= 1
            lines[Int(entry.line)].isInHand = false
            return
        }
        letGo(entry.line) { $0.isWhole = false }
    }

    /// The delivery to one of the record's recipients was released: the record must be read again,
    /// for this recipient.
    public mutating func letGo(_ entry: Entry, recipient: Int) {
        guard isLeft(entry) else { return }
        check(entry, recipient, "let a recipient go twice")
        letGo(entry.line) { $0.inHand.remove(recipient) }
    }

    /// The partition is assigned again; reading continues at `nextOffset`.
    ///
    /// - Parameter metadata: The metadata that an earlier ledger of this shard committed, and that
    ///   this one does not know.
    public mutating func resumed(knowing metadata: CommitMetadata? = nil) {
        if let metadata { learn(metadata) }
        position = Offset(nextOffset.rawValue - 1)
        unread = first
    }

    /// The partition is read from another offset, because its topic was recreated or must be read
    /// again.
    public mutating func restarted() {
        let restarts = restarts + [.min ... .max]
        self = OffsetLedger(epoch: epoch)
        self.restarts = restarts
    }

    /// The log lost its records from that offset on; other records will take their offsets.
    ///
    /// Records in flight before that offset still exist, and settle as usual.
    public mutating func cut(at end: Offset) {
        restarts.append(end.rawValue ... .max)
        restored = nil
        unread = Self.none
        isCut = false
        isDirty = true
        if let latest, latest.offset >= end { self.latest = nil }
        while last != Self.none, lines[Int(last)].offset >= end {
            let line = last
            if isAnythingInHand(line) { inHand -= 1 }
            if let before = lines[Int(line)].before, before.offset < end { latest = before }
            remove(line)
        }
        farthest = Offset(end.rawValue - 1)
        position = farthest
    }

    /// The commit failed; it is due again.
    public mutating func commitFailed() {
        isDirty = committableOffset != nil
    }

    /// What to commit now; nil before the first record, unless `began` was called.
    public mutating func commitRequested(
        by nonce: UInt32,
        for partition: TopicPartition,
        within metadataLimit: Int = CommitMetadata.maxCharacters
    ) -> (offset: Offset, metadata: String)? {
        isDirty = false
        isCut = false
        let recipients = partlySettled
        var limit = Offset(.max)
        while let (settled, mark, end) = known(below: limit) {
            let metadata = CommitMetadata(
                nonce: nonce,
                settled: settled,
                mark: mark,
                end: end,
                recipients: recipients
            )
            let (text, cutAt, dropped) = metadata.text(for: partition, within: metadataLimit)
            // If no text fits at all, there is nothing to wait for.
            if cutAt != nil || (dropped > 0 && !text.isEmpty) { isCut = true }
            droppedRecipients = dropped
            // A shorter text ends with another record, so build it again.
            guard let cutAt, cutAt > settled.base else { return (settled.base, text) }
            limit = cutAt
        }
        return nil
    }

    // MARK: Queries

    /// One past the last record up to which everything is settled; nil as in `commitRequested`.
    @inline(__always)
    public var committableOffset: Offset? {
        first == Self.none ? farthest?.next : lines[Int(first)].offset
    }

    /// Where reading continues: at the first released record, or else after the last one.
    public var nextOffset: Offset {
        firstLetGo.map { lines[Int($0)].offset } ?? farthest?.next ?? Offset(0)
    }

    /// The last record read before `nextOffset`.
    public var markBeforeNext: RecordMark? {
        firstLetGo.map { lines[Int($0)].before } ?? latest
    }

    public var hasPosition: Bool { farthest != nil }

    /// The next offset to read in this assignment.
    public var readOffset: Offset? { position?.next }

    /// Whether the partition must be paused until more records settle.
    ///
    /// Otherwise the metadata might not hold all settled offsets. A full ledger must empty to half
    /// first.
    ///
    /// Inlined, because a call would copy the ledger for each record.
    @inline(__always)
    public func isFull(wasFull: Bool) -> Bool {
        guard inHand > 0, let base = committableOffset, let farthest else { return false }
        let share = wasFull ? 2 : 1
        let span = farthest.rawValue - base.rawValue
        return isCut || span > (CommitMetadata.maxSpan - Self.batch) / Int64(share)
            || (inHand > (CommitMetadata.incompletesThatFit - Int(Self.batch)) / share
                && span > (CommitMetadata.offsetsThatFit - Self.batch) / Int64(share))
            || (fanOuts.byteCount > 0 && areRecipientsFull(span: span, share: share))
    }

    /// Whether the metadata might not hold all settled recipients, and a good part of its room is
    /// already taken.
    ///
    /// Recipients settle even if the partition is paused. If all records could take their most at
    /// once and still fit, there is nothing to pause for. Most often they do not, so a partition
    /// with more of them is read on until they fill half of the room.
    @inline(__always)
    private func areRecipientsFull(span: Int64, share: Int) -> Bool {
        let incompletes = lines.count - free.count
        let room = max(0, CommitMetadata.room(besides: incompletes, span: span))
        return fanOuts.byteCountAhead > room / share && fanOuts.byteCount > room / (2 * share)
    }

    /// Records that may still arrive after the partition is full; no turn takes more.
    private static let batch = Int64(IntakeGate.batch)

    /// The last record whose result is known, if reading continues before it.
    public var lastKnown: RecordMark? {
        let last = isRestoredAhead ? restored?.end ?? latest : latest
        return last.flatMap { $0.offset < nextOffset ? nil : $0 }
    }

    /// The settled offsets, as far as known; nil as in `commitRequested`.
    public var settledOffsets: SettledOffsets? { known(below: Offset(.max))?.settled }

    // MARK: Private

    /// Whether `restored` reaches past the last record.
    private var isRestoredAhead: Bool {
        guard let settled = restored?.settled, let farthest else { return false }
        return farthest.next < settled.horizon
    }

    /// The unsettled records with settled recipients, in offset order.
    private var partlySettled: [SettledRecipients] {
        var records: [SettledRecipients] = []
        if fanOuts.byteCount > 0 {
            var line = first
            while line != Self.none {
                if let fanOut = fanOuts[line], !fanOut.settled.isEmpty {
                    let record = RecordMark(
                        offset: lines[Int(line)].offset,
                        fingerprint: fanOut.fingerprint
                    )
                    records.append(SettledRecipients(of: record, fanOut.settled))
                }
                line = lines[Int(line)].next
            }
        }
        if let restored, let farthest {
            records += restored.recipients.drop { $0.record.offset <= farthest }
        }
        return records
    }

    /// The settled offsets before `limit`, and the marks of the records before them and at their
    /// end.
    ///
    /// They end with a known record, so that a later reader can check whether the log is still the
    /// same.
    private func known(
        below limit: Offset
    ) -> (settled: SettledOffsets, mark: RecordMark?, end: RecordMark?)? {
        guard var base = committableOffset, let farthest else { return nil }
        var mark = first == Self.none ? latest : lines[Int(first)].before
        let last = lastSettled(below: limit)
        var (horizon, end) = (last?.horizon ?? base, last?.record)
        var incomplete: [Range<Int64>] = []
        var line = first
        if isRestoredAhead, let restored, restored.settled.horizon <= limit {
            (end, horizon) = (restored.end, restored.settled.horizon)
        }
        while line != Self.none, lines[Int(line)].offset < horizon {
            let offset = lines[Int(line)].offset.rawValue
            incomplete.add(offset..<offset + 1)
            line = lines[Int(line)].next
        }
        if farthest.next < horizon, let restored {
            let start = farthest.next.rawValue
            for run in restored.settled.incomplete where run.upperBound > start {
                incomplete.add(max(run.lowerBound, start)..<run.upperBound)
            }
            // Every record that arrived is settled, and the next ones may be too.
            if first == Self.none {
                base = incomplete.first.map { Offset($0.lowerBound) } ?? horizon
                if base == horizon { mark = end ?? mark }
            }
        }
        guard base < horizon,
            let settled = SettledOffsets(base: base, incomplete: incomplete, horizon: horizon)
        else { return (SettledOffsets(base: base), mark, nil) }
        return (settled, mark, end)
    }

    /// The last known settled record after an incomplete one and before `limit`, and the next
    /// offset.
    ///
    /// The last record of a log that was cut is not known.
    private func lastSettled(below limit: Offset) -> (horizon: Offset, record: RecordMark)? {
        guard var end = farthest?.next else { return nil }
        var record = latest
        var line = last
        while line != Self.none {
            let horizon = record?.offset.next ?? end
            end = lines[Int(line)].offset
            if let record, horizon <= limit, end.next < horizon { return (horizon, record) }
            record = lines[Int(line)].before
            line = lines[Int(line)].previous
        }
        return nil
    }

    private var firstLetGo: Int32? {
        var line = first
        while line != Self.none {
            if !lines[Int(line)].isInHand { return line }
            line = lines[Int(line)].next
        }
        return nil
    }

    /// Handles a record between the first released one and the last.
    private mutating func arrivedAgain(_ offset: Offset, _ fingerprint: UInt32) -> Admission {
        // After a cut, the last record of the log may not be known.
        if latest.map({ $0.offset < offset }) ?? true {
            latest = RecordMark(offset: offset, fingerprint: fingerprint)
        }
        while unread != Self.none, lines[Int(unread)].offset < offset { readPast(unread) }
        guard unread != Self.none, lines[Int(unread)].offset == offset else { return .known }
        let line = unread
        unread = lines[Int(line)].next
        guard !lines[Int(line)].isInHand else { return .known }
        // Another record inherits nothing.
        if let fanOut = fanOuts[line], fanOut.fingerprint != fingerprint { forgetRecipients(line) }
        if !isAnythingInHand(line) { inHand += 1 }
        if fanOuts[line] != nil { fanOuts.change(line) { $0.isWhole = true } }
        lines[Int(line)].isInHand = true
        return .taken(entry(line))
    }

    /// Reading passed a line; if it was released and did not arrive again, its record no longer
    /// exists.
    private mutating func readPast(_ line: Int32) {
        unread = lines[Int(line)].next
        if !lines[Int(line)].isInHand { settleRest(line) }
    }

    @inline(__always)
    private mutating func isRestoredSettled(_ offset: Offset) -> Bool {
        guard restored != nil else { return false }
        return isSettledInMetadata(offset)
    }

    private mutating func isSettledInMetadata(_ offset: Offset) -> Bool {
        guard let known = restored, known.isTrusted, offset < known.horizon else {
            restored = nil
            return false
        }
        return restored?.isSettled(offset) ?? false
    }

    /// Applies metadata: released records that it marks as settled are settled, later ones
    /// restored.
    private mutating func learn(_ metadata: CommitMetadata) {
        var known = RestoredMetadata(metadata)
        var line = first
        while line != Self.none {
            let (offset, next) = (lines[Int(line)].offset, lines[Int(line)].next)
            if !lines[Int(line)].isInHand {
                if metadata.settled.isSettled(offset) {
                    settleRest(line)
                } else if let fanOut = fanOuts[line] {
                    let record = RecordMark(offset: offset, fingerprint: fanOut.fingerprint)
                    if let settled = known.takeRecipients(of: record) { learn(settled, line) }
                }
            }
            line = next
        }
        if let farthest { known.forgetRecipients(through: farthest) }
        restored = known
    }

    /// Applies what metadata says of a record with released recipients.
    private mutating func learn(_ settled: RecipientSet, _ line: Int32) {
        guard let fanOut = fanOuts[line], fanOut.settled.recipientCount == settled.recipientCount
        else { return }
        guard !fanOut.rest.subtracting(settled).isEmpty else { return settleRest(line) }
        fanOuts.change(line) { $0.settled = $0.settled.union(settled.subtracting($0.inHand)) }
    }

    // MARK: Recipients

    private func isAnythingInHand(_ line: Int32) -> Bool {
        fanOuts[line]?.isAnythingInHand ?? lines[Int(line)].isInHand
    }

    private mutating func letGo(_ line: Int32, _ change: (inout RecipientLedger) -> Void) {
        let fanOut = fanOuts.change(line, change)
        lines[Int(line)].isInHand = !fanOut.mustBeReadAgain
        if !fanOut.isAnythingInHand { inHand -= 1 }
    }

    /// Settles a record, except for the recipients in hand.
    private mutating func settleRest(_ line: Int32) {
        guard let fanOut = fanOuts[line], !fanOut.inHand.isEmpty else { return remove(line) }
        fanOuts.change(line) {
            $0.settled = $0.inHand.complement
            $0.isWhole = false
        }
        lines[Int(line)].isInHand = true
        isDirty = true
    }

    /// Another record has taken the line: recipients in hand settle nothing.
    private mutating func forgetRecipients(_ line: Int32) {
        guard let fanOut = fanOuts.remove(line), !fanOut.inHand.isEmpty else { return }
        let offset = lines[Int(line)].offset.rawValue
        restarts.append(offset...offset)
        if !fanOut.isWhole { inHand -= 1 }
    }

    /// Gives a record that arrived the settled recipients that the metadata lists.
    private mutating func restoreRecipients(_ line: Int32, _ fingerprint: UInt32) {
        let record = RecordMark(offset: lines[Int(line)].offset, fingerprint: fingerprint)
        guard let settled = restored?.takeRecipients(of: record) else { return }
        let fanOut = RecipientLedger(
            fingerprint: fingerprint,
            isWhole: true,
            settled: settled,
            inHand: RecipientSet(of: settled.recipientCount)
        )
        fanOuts.insert(fanOut, at: line)
    }

    // MARK: Lines

    @inline(__always)
    private func isLeft(_ entry: Entry) -> Bool {
        entry.restarts == restarts.count || outlived(entry)
    }

    private func outlived(_ entry: Entry) -> Bool {
        !restarts[Int(entry.restarts)...].contains { $0.contains(entry.offset.rawValue) }
    }

    private func entry(_ line: Int32) -> Entry {
        Entry(
            epoch: epoch,
            restarts: UInt32(restarts.count),
            line: line,
            offset: lines[Int(line)].offset
        )
    }

    private func check(_ entry: Entry, _ problem: String) {
        let line = lines[Int(entry.line)]
        precondition(line.offset == entry.offset && line.isInHand && !line.isSettled, problem)
        precondition(fanOuts[entry.line]?.isWhole ?? true, problem)
    }

    private func check(_ entry: Entry, _ recipient: Int, _ problem: String) {
        let line = lines[Int(entry.line)]
        precondition(line.offset == entry.offset && !line.isSettled, problem)
        precondition(fanOuts[entry.line]?.inHand.contains(recipient) ?? false, problem)
    }

    private mutating func append(_ offset: Offset) -> Int32 {
        let line = Line(offset: offset, previous: last, next: Self.none, before: latest)
        let index: Int32
        if let reused = free.popLast() {
            index = reused
            lines[Int(index)] = line
        } else {
            index = Int32(lines.count)
            lines.append(line)
        }
        if last == Self.none { first = index } else { lines[Int(last)].next = index }
        last = index
        return index
    }

    private mutating func remove(_ index: Int32) {
        let line = lines[Int(index)]
        if line.previous == Self.none {
            first = line.next
        } else {
            lines[Int(line.previous)].next = line.next
        }
        if line.next == Self.none {
            last = line.previous
        } else {
            lines[Int(line.next)].previous = line.previous
        }
        if unread == index { unread = line.next }
        fanOuts.remove(index)
        lines[Int(index)].isSettled = true
        free.append(index)
        isDirty = true
    }
}

extension [Range<Int64>] {
    /// Adds a run after the last one, merging adjacent runs.
    fileprivate mutating func add(_ run: Range<Int64>) {
        if let end = last, end.upperBound == run.lowerBound {
            self[count - 1] = end.lowerBound..<run.upperBound
        } else {
            append(run)
        }
    }
}

/// Numbers the assignments of a shard.
///
/// A record of an earlier assignment may no longer move an offset: the partition may belong to
/// another member.
public struct AssignmentEpoch: Hashable, Comparable, Sendable {
    public private(set) var number: UInt32 = 0

    public init() {}

    public var next: AssignmentEpoch {
        var epoch = self
        epoch.number += 1
        return epoch
    }

    public static func < (left: AssignmentEpoch, right: AssignmentEpoch) -> Bool {
        left.number < right.number
    }
}
