import Vocabulary

/// What the committed metadata says about records that have not arrived yet.
struct RestoredMetadata: Sendable {
    let settled: SettledOffsets
    /// The last settled record, if known.
    let end: RecordMark?
    /// In offset order.
    private(set) var recipients: ArraySlice<SettledRecipients>
    private var run = 0
    /// Whether the partition's end is known, and everything is before it.
    var isTrusted = false

    init(_ metadata: CommitMetadata) {
        settled = metadata.settled
        end = metadata.end
        recipients = metadata.recipients[...]
    }

    /// One past the last record that it says something about.
    var horizon: Offset {
        max(settled.horizon, recipients.last?.record.offset.next ?? settled.horizon)
    }

    /// Call it in offset order.
    mutating func isSettled(_ offset: Offset) -> Bool {
        guard offset < settled.horizon else { return false }
        let runs = settled.incomplete
        while run < runs.count, runs[run].upperBound <= offset.rawValue { run += 1 }
        return run == runs.count || offset.rawValue < runs[run].lowerBound
    }

    /// Forgets the records up to that one; returns its settled recipients.
    mutating func takeRecipients(of record: RecordMark) -> RecipientSet? {
        while let first = recipients.first, first.record.offset <= record.offset {
            recipients.removeFirst()
            if first.record == record { return first.settled }
        }
        return nil
    }

    mutating func forgetRecipients(through offset: Offset) {
        recipients = recipients.drop { $0.record.offset <= offset }
    }
}
