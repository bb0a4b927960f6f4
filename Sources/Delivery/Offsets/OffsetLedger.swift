package import Vocabulary

/// Counts the assignments of a shard.
///
/// What belongs to an earlier one may no longer move an offset: the partition is somebody else's.
package struct AssignmentEpoch: Hashable, Comparable, Sendable {
    package private(set) var number: UInt32 = 0

    package init() {}

    package var next: AssignmentEpoch {
        var epoch = self
        epoch.number += 1
        return epoch
    }

    package static func < (left: AssignmentEpoch, right: AssignmentEpoch) -> Bool {
        left.number < right.number
    }
}

/// The records of one partition between arrival and settlement.
///
/// Records arrive in order and settle in any order. The committable offset is one past the last
/// record before which everything is settled; gaps (compaction, transaction markers) hold nothing
/// that could be unsettled.
package struct OffsetLedger: Sendable {
    /// A record's place in the ledger.
    package struct Entry: Hashable, Sendable {
        fileprivate let sequence: Int
        fileprivate let restarts: Int
    }

    private struct Line {
        var offset: Offset
        var isSettled: Bool
    }

    private var lines = FIFO<Line>()
    /// The sequence number of the first line.
    private var firstSequence = 0
    private var lastArrived: Offset?
    /// How often the partition was begun anew; entries of before settle nothing.
    private var restarts = 0
    /// The value to commit; nil before the first record.
    ///
    /// The first record's own offset is one too: it says where the group stands, so that a group
    /// that started at the end does not start there again with records unsettled.
    package private(set) var committableOffset: Offset?
    /// The value that Kafka acknowledged, or that is on its way to it.
    package private(set) var committedOffset: Offset?

    package init() {}

    // MARK: Inputs

    /// Enters a record.
    ///
    /// - Returns: nil when the record, or one behind it, was here before in this assignment.
    package mutating func recordArrived(_ offset: Offset) -> Entry? {
        if let lastArrived, offset <= lastArrived { return nil }
        lastArrived = offset
        if committableOffset == nil { committableOffset = offset }
        lines.append(Line(offset: offset, isSettled: false))
        return Entry(sequence: firstSequence + lines.count - 1, restarts: restarts)
    }

    /// The record's outcome is acknowledged.
    package mutating func settle(_ entry: Entry) {
        guard entry.restarts == restarts else { return }
        let position = entry.sequence - firstSequence
        precondition(position >= 0 && position < lines.count, "settled a record twice")
        precondition(!lines[position].isSettled, "settled a record twice")
        lines[position].isSettled = true
        while let first = lines.first, first.isSettled {
            committableOffset = first.offset.next
            lines.popFirst()
            firstSequence += 1
        }
    }

    /// The partition is read from another place: its log was cut, or made anew.
    package mutating func restarted() {
        restarts += 1
        lines = FIFO()
        lastArrived = nil
        committableOffset = nil
        committedOffset = nil
    }

    package mutating func commitRequested() {
        committedOffset = committableOffset
    }

    /// The commit did not happen; the offset is due again.
    package mutating func commitFailed() {
        committedOffset = nil
    }

    // MARK: Queries

    /// Where reading goes on; nil before the first record.
    package var nextOffset: Offset? { lastArrived?.next }

    /// Lines held, settled ones behind an unsettled one included.
    package var span: Int { lines.count }

    /// The offset to commit, if it is not committed yet.
    package var offsetToCommit: Offset? {
        committableOffset == committedOffset ? nil : committableOffset
    }
}
