public import Vocabulary

/// The settled recipients of a record that is not settled: some of its recipients, but not all.
public struct SettledRecipients: Hashable, Sendable {
    /// Another record at the same offset has other recipients, none of them settled.
    public let record: RecordMark
    public let settled: RecipientSet

    public init(of record: RecordMark, _ settled: RecipientSet) {
        precondition(!settled.isEmpty && !settled.isComplete, "all or nothing is settled")
        self.record = record
        self.settled = settled
    }

    var offset: Offset { record.offset }
}

// MARK: - The form in commit metadata

extension SettledRecipients {
    /// A distance within the longest span (3), a fingerprint (4), the recipients' number (2).
    private static let maxHeadByteCount = 9

    /// The most bytes that a record takes of whose recipients `count` are settled; 0 if it has no
    /// place in the metadata.
    static func maxByteCount(of recipientCount: Int, settled count: Int) -> Int {
        guard count > 0, count < recipientCount else { return 0 }
        return maxHeadByteCount + RecipientSet.maxByteCount(of: recipientCount, count: count)
    }

    /// The most bytes that a record may take until it is settled, if now `count` of its recipients
    /// are.
    ///
    /// A set takes most room when half of the recipients are in it.
    static func maxByteCountAhead(of recipientCount: Int, settled count: Int) -> Int {
        maxByteCount(of: recipientCount, settled: max(count, recipientCount / 2))
    }

    /// Appends the record; `end` is one past the record before it, or the committed offset.
    fileprivate func append(after end: Offset, to bytes: inout [UInt8]) {
        Varint.append(offset.rawValue - end.rawValue, to: &bytes)
        Fixed32.append(record.fingerprint, to: &bytes)
        settled.append(to: &bytes)
    }

    /// Removes and returns the first record; nil if `append` does not write it like that, or if its
    /// offset is not below `limit`.
    fileprivate static func take(
        from bytes: inout ArraySlice<UInt8>,
        after end: Offset,
        below limit: Int64
    ) -> SettledRecipients? {
        guard let distance = Varint.take(from: &bytes, below: limit - end.rawValue),
            let fingerprint = Fixed32.take(from: &bytes),
            let settled = RecipientSet.take(from: &bytes)
        else { return nil }
        let record = RecordMark(
            offset: Offset(end.rawValue + distance),
            fingerprint: fingerprint
        )
        return SettledRecipients(of: record, settled)
    }
}

extension [SettledRecipients] {
    /// The first records, as many as fit into `room` bytes, and what they are written as.
    ///
    /// A record whose offset is not below `limit` does not fit.
    func written(
        after base: Offset,
        below limit: Int64,
        fitting room: Int
    ) -> (count: Int, bytes: [UInt8]) {
        var bytes: [UInt8] = []
        var written = 0
        var end = base
        for entry in self {
            guard entry.offset.rawValue < limit else { break }
            let byteCount = bytes.count
            entry.append(after: end, to: &bytes)
            guard Varint.byteCount(Int64(written + 1)) + bytes.count <= room else {
                bytes.removeLast(bytes.count - byteCount)
                break
            }
            written += 1
            end = entry.offset.next
        }
        guard written > 0 else { return (0, []) }
        var text: [UInt8] = []
        Varint.append(Int64(written), to: &text)
        return (written, text + bytes)
    }

    /// Removes and returns the records that `written` writes; nil if it does not write them like
    /// that.
    static func take(
        from bytes: inout ArraySlice<UInt8>,
        after base: Offset,
        below limit: Int64
    ) -> [SettledRecipients]? {
        // Each takes more than one byte, so a false number ends with the bytes.
        guard let count = Varint.take(from: &bytes, below: Int64(bytes.count)), count > 0
        else { return nil }
        var entries: [SettledRecipients] = []
        var end = base
        for _ in 0..<count {
            guard let entry = SettledRecipients.take(from: &bytes, after: end, below: limit)
            else { return nil }
            entries.append(entry)
            end = entry.offset.next
        }
        return entries
    }

    /// Whether the records are in order, and all of them among those that are not settled.
    func areUnsettled(in settled: SettledOffsets) -> Bool {
        var runs = settled.incomplete[...]
        var end = settled.base
        for entry in self {
            guard entry.offset >= end else { return false }
            end = entry.offset.next
            guard entry.offset < settled.horizon else { continue }
            while let run = runs.first, run.upperBound <= entry.offset.rawValue {
                runs.removeFirst()
            }
            guard let run = runs.first, run.contains(entry.offset.rawValue) else { return false }
        }
        return true
    }
}

extension Sequence<SettledRecipients> {
    /// How many recipients are settled.
    var settledCount: Int { reduce(0) { $0 + $1.settled.count } }
}
