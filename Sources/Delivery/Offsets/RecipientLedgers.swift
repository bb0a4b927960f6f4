/// The recipients of a record that is not settled.
///
/// Those that are neither settled nor in hand are held by the record's own entry (`isWhole`), or
/// must be read again.
struct RecipientLedger: Sendable {
    /// The record's.
    let fingerprint: UInt32
    var isWhole: Bool
    var settled: RecipientSet
    /// Being delivered, each one by itself.
    var inHand: RecipientSet

    /// Neither settled nor in hand.
    var rest: RecipientSet { settled.union(inHand).complement }

    var isAnythingInHand: Bool { isWhole || !inHand.isEmpty }

    var mustBeReadAgain: Bool {
        !isWhole && settled.count + inHand.count < settled.recipientCount
    }

    fileprivate var byteCount: Int {
        SettledRecipients.maxByteCount(of: settled.recipientCount, settled: settled.count)
    }

    fileprivate var byteCountAhead: Int {
        SettledRecipients.maxByteCountAhead(of: settled.recipientCount, settled: settled.count)
    }
}

/// The records with recipients in a ledger, by line.
struct RecipientLedgers: Sendable {
    /// Shorter than the ledger if its last lines are of records without recipients.
    private var records: [RecipientLedger?] = []
    /// The most bytes that their settled recipients take in the metadata.
    private(set) var byteCount = 0
    /// The same, if of each record as many recipients settle as take most room.
    private(set) var byteCountAhead = 0

    @inline(__always)
    subscript(_ line: Int32) -> RecipientLedger? {
        Int(line) < records.count ? records[Int(line)] : nil
    }

    mutating func insert(_ fanOut: RecipientLedger, at line: Int32) {
        while records.count <= Int(line) { records.append(nil) }
        precondition(records[Int(line)] == nil, "a line has the recipients of two records")
        records[Int(line)] = fanOut
        byteCount += fanOut.byteCount
        byteCountAhead += fanOut.byteCountAhead
    }

    /// - Returns: nil if the record has no recipients.
    @discardableResult
    @inline(__always)
    mutating func remove(_ line: Int32) -> RecipientLedger? {
        Int(line) < records.count ? take(line) : nil
    }

    private mutating func take(_ line: Int32) -> RecipientLedger? {
        guard let fanOut = records[Int(line)] else { return nil }
        records[Int(line)] = nil
        byteCount -= fanOut.byteCount
        byteCountAhead -= fanOut.byteCountAhead
        return fanOut
    }

    /// - Returns: the changed record.
    @discardableResult
    mutating func change(_ line: Int32, _ change: (inout RecipientLedger) -> Void)
        -> RecipientLedger
    {
        // Removed meanwhile, so that its sets change in place.
        guard var fanOut = remove(line) else {
            preconditionFailure("a record without recipients")
        }
        change(&fanOut)
        insert(fanOut, at: line)
        return fanOut
    }
}
