public import Vocabulary

/// The records of one partition between arrival and settlement.
///
/// Records arrive in order and settle in any order. The ledger holds only what is incomplete, as a
/// list in the order of offsets; every input takes constant time, except what a whole assignment
/// walks once. Everything else below the last record is settled: it was, or a record behind it
/// proved that it does not exist (compaction, transaction markers).
public struct OffsetLedger: Sendable {
    /// A record's place in the ledger.
    public struct Entry: Hashable, Sendable {
        public let epoch: AssignmentEpoch
        fileprivate let restarts: UInt32
        fileprivate let line: Int32
        fileprivate let offset: Offset

        /// Of no record.
        static let nowhere = Entry(
            epoch: AssignmentEpoch(),
            restarts: 0,
            line: OffsetLedger.none,
            offset: Offset(0)
        )
    }

    public enum Admission: Hashable, Sendable {
        case taken(Entry)
        /// Settled before, or still in flight from before the partition left and came back.
        case known
        /// The record, or one behind it, was here before in this assignment.
        case repeated
    }

    private struct Line: Sendable {
        var offset: Offset
        var previous: Int32
        var next: Int32
        /// The record that was read before this one.
        var before: RecordMark?
        /// False: handed back, so the record must be read again.
        var isInHand = true
        var isSettled = false
    }

    private static let none: Int32 = -1

    public let epoch: AssignmentEpoch
    private var lines: [Line] = []
    private var free: [Int32] = []
    private var first = none
    private var last = none
    /// Records taken and neither settled nor handed back.
    public private(set) var inHand = 0
    /// What was left each time that the partition was restarted: entries from before that are at or
    /// behind such an offset settle nothing.
    private var restarts: [Offset] = []
    /// The last record of the present assignment, and the farthest of all, or the offset before the
    /// one at which reading `began`.
    private var position: Offset?
    private var farthest: Offset?
    /// The farthest record, or that which stood before the committed offset.
    private var latest: RecordMark?
    /// The first line not read again, while an assignment repeats what was handed back.
    private var unread = none
    /// What the committed metadata says of records that have not arrived yet.
    private var restored: SettledOffsets?
    /// The last settled record of that, if it is known.
    private var restoredEnd: RecordMark?
    private var restoredRun = 0
    /// The partition's end was seen, and is not before what `restored` speaks of.
    private var isRestoredTrusted = false
    /// Something is settled that no commit says.
    public private(set) var isDirty = false
    /// The last metadata did not hold everything.
    private var isCut = false

    /// `metadata` belongs to the committed offset.
    public init(epoch: AssignmentEpoch, restored metadata: CommitMetadata? = nil) {
        self.epoch = epoch
        restored = metadata?.settled
        restoredEnd = metadata?.end
        latest = metadata?.mark
    }

    // MARK: Inputs

    /// The partition's end, before its first record in an assignment.
    ///
    /// - Returns: false when the restored offsets reach behind it, and were forgotten.
    public mutating func endSeen(_ end: Offset) -> Bool {
        guard let restored else { return true }
        isRestoredTrusted = restored.horizon <= end
        if !isRestoredTrusted { self.restored = nil }
        return isRestoredTrusted
    }

    /// Nothing is to be read before that offset; does nothing behind the first record.
    public mutating func began(at start: Offset) {
        guard farthest == nil else { return }
        farthest = Offset(start.rawValue - 1)
        isDirty = true
    }

    /// `fingerprint` is the record's.
    public mutating func recordArrived(_ offset: Offset, fingerprint: UInt32 = 0) -> Admission {
        if let position, offset <= position { return .repeated }
        position = offset
        if let farthest, offset <= farthest { return arrivedAgain(offset) }
        while unread != Self.none { readPast(unread) }
        // The first record's own offset is committed, so that one that started at the end does not
        // start there again with records unsettled.
        if farthest == nil { isDirty = true }
        farthest = offset
        defer { latest = RecordMark(offset: offset, fingerprint: fingerprint) }
        if isRestoredSettled(offset) {
            isDirty = true
            return .known
        }
        inHand += 1
        let line = append(offset)
        return .taken(entry(line))
    }

    /// The record's outcome is acknowledged.
    public mutating func settle(_ entry: Entry) {
        guard isLeft(entry) else { return }
        check(entry, "settled a record twice")
        inHand -= 1
        remove(entry.line)
    }

    /// The record's outcome is written, and the commit that says so is done.
    public mutating func settleCommitted(_ entry: Entry) {
        let wasDirty = isDirty
        settle(entry)
        isDirty = wasDirty
    }

    /// A copy of this ledger, with more settled, gave what is being committed.
    public mutating func commitTaken(by trial: OffsetLedger) {
        isDirty = trial.isDirty
        isCut = trial.isCut
    }

    /// Nobody works at the record any more: it is to be read again.
    public mutating func letGo(_ entry: Entry) {
        guard isLeft(entry) else { return }
        check(entry, "let a record go twice")
        inHand -= 1
        lines[Int(entry.line)].isInHand = false
    }

    /// The partition is assigned again, and continues at `nextOffset`.
    ///
    /// - Parameter metadata: what an earlier ledger of this shard had committed, and this one was
    ///   not told of.
    public mutating func resumed(knowing metadata: CommitMetadata? = nil) {
        if let metadata { learn(metadata) }
        position = Offset(nextOffset.rawValue - 1)
        unread = first
    }

    /// The partition is read from another offset: its topic was recreated, or is to be read again.
    public mutating func restarted() {
        let restarts = restarts + [Offset(.min)]
        self = OffsetLedger(epoch: epoch)
        self.restarts = restarts
    }

    /// The log has lost its records from that offset on, and others will take their place.
    ///
    /// What is in flight before it is still there, and is settled as usual.
    public mutating func cut(at end: Offset) {
        restarts.append(end)
        restored = nil
        unread = Self.none
        isCut = false
        isDirty = true
        if let latest, latest.offset >= end { self.latest = nil }
        while last != Self.none, lines[Int(last)].offset >= end {
            let line = last
            if lines[Int(line)].isInHand { inHand -= 1 }
            if let before = lines[Int(line)].before, before.offset < end { latest = before }
            remove(line)
        }
        farthest = Offset(end.rawValue - 1)
        position = farthest
    }

    /// The commit did not happen; it is due again.
    public mutating func commitFailed() {
        isDirty = committableOffset != nil
    }

    /// What to commit now; nil before the first record, unless reading has `began`.
    public mutating func commitRequested(
        by nonce: UInt32,
        for partition: TopicPartition,
        within metadataLimit: Int = CommitMetadata.maxCharacters
    ) -> (offset: Offset, metadata: String)? {
        isDirty = false
        isCut = false
        var limit = Offset(.max)
        while let (settled, mark, end) = known(below: limit) {
            let metadata = CommitMetadata(nonce: nonce, settled: settled, mark: mark, end: end)
            let (text, cutAt) = metadata.text(for: partition, within: metadataLimit)
            if cutAt != nil { isCut = true }
            // A shorter one ends with another record.
            guard let cutAt, cutAt > settled.base else { return (settled.base, text) }
            limit = cutAt
        }
        return nil
    }

    // MARK: Queries

    /// One past the last record before which everything is settled; nil as in
    /// `commitRequested`.
    @inline(__always)
    public var committableOffset: Offset? {
        first == Self.none ? farthest?.next : lines[Int(first)].offset
    }

    /// Where reading continues: the first record that was handed back, or what never arrived.
    public var nextOffset: Offset {
        firstLetGo.map { lines[Int($0)].offset } ?? farthest?.next ?? Offset(0)
    }

    /// The last record that was read before `nextOffset`.
    public var markBeforeNext: RecordMark? {
        firstLetGo.map { lines[Int($0)].before } ?? latest
    }

    public var hasPosition: Bool { farthest != nil }

    /// The reading position in this assignment.
    public var readOffset: Offset? { position?.next }

    /// Whether the partition must wait until more of what is in flight has ended, for the metadata
    /// to hold everything however it ends; what is full empties to the half first.
    ///
    /// Inlined, or the ledger would be copied for each record.
    @inline(__always)
    public func isFull(wasFull: Bool) -> Bool {
        guard inHand > 0, let base = committableOffset, let farthest else { return false }
        let share = wasFull ? 2 : 1
        let span = farthest.rawValue - base.rawValue
        return isCut || span > (CommitMetadata.maxSpan - Self.batch) / Int64(share)
            || (inHand > (CommitMetadata.incompletesThatFit - Int(Self.batch)) / share
                && span > (CommitMetadata.offsetsThatFit - Self.batch) / Int64(share))
    }

    /// Records that may still come after a partition was found full: no turn takes more.
    private static let batch = Int64(IntakeGate.batch)

    /// The last record of which is known what became of it, where reading goes on before it.
    public var lastKnown: RecordMark? {
        let last = isRestoredAhead ? restoredEnd ?? latest : latest
        return last.flatMap { $0.offset < nextOffset ? nil : $0 }
    }

    /// What is settled, as far as it is known; nil as in `commitRequested`.
    public var settledOffsets: SettledOffsets? { known(below: Offset(.max))?.settled }

    // MARK: Private

    /// `restored` reaches behind the farthest record.
    private var isRestoredAhead: Bool {
        guard let restored, let farthest else { return false }
        return farthest.next < restored.horizon
    }

    /// What is settled, up to a record before `limit`, and the records before that and at its end.
    ///
    /// It ends with a record, or nobody could tell later whether the log is still the same.
    private func known(
        below limit: Offset
    ) -> (settled: SettledOffsets, mark: RecordMark?, end: RecordMark?)? {
        guard var base = committableOffset, let farthest else { return nil }
        var mark = first == Self.none ? latest : lines[Int(first)].before
        let last = lastSettled(below: limit)
        var (horizon, end) = (last?.horizon ?? base, last?.record)
        var incomplete: [Range<Int64>] = []
        var line = first
        if isRestoredAhead, let restored, restored.horizon <= limit {
            (end, horizon) = (restoredEnd, restored.horizon)
        }
        while line != Self.none, lines[Int(line)].offset < horizon {
            let offset = lines[Int(line)].offset.rawValue
            incomplete.add(offset..<offset + 1)
            line = lines[Int(line)].next
        }
        if farthest.next < horizon, let restored {
            let start = farthest.next.rawValue
            for run in restored.incomplete where run.upperBound > start {
                incomplete.add(max(run.lowerBound, start)..<run.upperBound)
            }
            // All that arrived is settled, and so may be what comes next.
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

    /// One past the last settled record that is known, stands behind an incomplete one and before
    /// `limit`, and that record.
    ///
    /// The record at the end of a log that was cut is not known.
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

    /// A record between the first that was handed back and the farthest.
    private mutating func arrivedAgain(_ offset: Offset) -> Admission {
        while unread != Self.none, lines[Int(unread)].offset < offset { readPast(unread) }
        guard unread != Self.none, lines[Int(unread)].offset == offset else { return .known }
        let line = unread
        unread = lines[Int(line)].next
        guard !lines[Int(line)].isInHand else { return .known }
        lines[Int(line)].isInHand = true
        inHand += 1
        return .taken(entry(line))
    }

    /// Reading went past a line: one that was handed back and did not come does not exist any more.
    private mutating func readPast(_ line: Int32) {
        unread = lines[Int(line)].next
        if !lines[Int(line)].isInHand { remove(line) }
    }

    private mutating func isRestoredSettled(_ offset: Offset) -> Bool {
        guard let restored else { return false }
        guard isRestoredTrusted, offset < restored.horizon else {
            self.restored = nil
            return false
        }
        let runs = restored.incomplete
        while restoredRun < runs.count, runs[restoredRun].upperBound <= offset.rawValue {
            restoredRun += 1
        }
        return restoredRun == runs.count || offset.rawValue < runs[restoredRun].lowerBound
    }

    /// Takes what was handed back and is settled nevertheless for settled, and expects the rest.
    private mutating func learn(_ metadata: CommitMetadata) {
        let settled = metadata.settled
        var line = first
        while line != Self.none {
            let next = lines[Int(line)].next
            if !lines[Int(line)].isInHand, settled.isSettled(lines[Int(line)].offset) {
                remove(line)
            }
            line = next
        }
        restored = settled
        restoredEnd = metadata.end
        restoredRun = 0
        isRestoredTrusted = false
    }

    @inline(__always)
    private func isLeft(_ entry: Entry) -> Bool {
        entry.restarts == restarts.count || outlived(entry)
    }

    private func outlived(_ entry: Entry) -> Bool {
        !restarts[Int(entry.restarts)...].contains { $0 <= entry.offset }
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
        lines[Int(index)].isSettled = true
        free.append(index)
        isDirty = true
    }
}

extension [Range<Int64>] {
    /// Adds a run behind the last one, or to it.
    fileprivate mutating func add(_ run: Range<Int64>) {
        if let end = last, end.upperBound == run.lowerBound {
            self[count - 1] = end.lowerBound..<run.upperBound
        } else {
            append(run)
        }
    }
}

/// Counts the assignments of a shard.
///
/// What belongs to an earlier one may no longer move an offset: the partition is somebody else's.
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
