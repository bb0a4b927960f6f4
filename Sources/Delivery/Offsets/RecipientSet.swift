/// Some of the recipients of one record, by their index in its list.
///
/// A bit for each recipient; iterates in the order of the list.
public struct RecipientSet: Hashable, Sendable {
    /// The most recipients that a record may have.
    public static let maxRecipients = 1000

    // Small, because a ledger has two sets for each of its lines.
    private let size: Int32
    private var memberCount: Int32 = 0
    private var words: [UInt64]

    /// Makes an empty set.
    public init(of recipientCount: Int) {
        precondition(
            (1...Self.maxRecipients).contains(recipientCount),
            "a record has \(recipientCount) recipients"
        )
        size = Int32(recipientCount)
        words = [UInt64](repeating: 0, count: (recipientCount + 63) / 64)
    }

    /// Makes the set of all recipients.
    public init(allOf recipientCount: Int) {
        self.init(of: recipientCount)
        insert(0..<recipientCount)
    }

    // MARK: Inputs

    /// - Returns: false if the recipient was in the set before.
    @discardableResult
    public mutating func insert(_ recipient: Int) -> Bool {
        guard !contains(recipient) else { return false }
        words[recipient / 64] |= 1 << UInt64(recipient % 64)
        memberCount += 1
        return true
    }

    public mutating func insert(_ recipients: Range<Int>) {
        for recipient in recipients { insert(recipient) }
    }

    /// - Returns: false if the recipient was not in the set.
    @discardableResult
    public mutating func remove(_ recipient: Int) -> Bool {
        guard contains(recipient) else { return false }
        words[recipient / 64] &= ~(1 << UInt64(recipient % 64))
        memberCount -= 1
        return true
    }

    // MARK: Queries

    /// How many recipients the record has, at least one.
    public var recipientCount: Int { Int(size) }
    /// How many of them are in the set.
    public var count: Int { Int(memberCount) }
    public var isEmpty: Bool { count == 0 }
    public var isComplete: Bool { count == recipientCount }

    public func contains(_ recipient: Int) -> Bool {
        precondition(recipient >= 0 && recipient < recipientCount, "no such recipient")
        return words[recipient / 64] >> UInt64(recipient % 64) & 1 == 1
    }

    public func union(_ other: RecipientSet) -> RecipientSet {
        combined(with: other) { $0 | $1 }
    }

    public func subtracting(_ other: RecipientSet) -> RecipientSet {
        combined(with: other) { $0 & ~$1 }
    }

    /// The recipients that are not in the set.
    public var complement: RecipientSet {
        RecipientSet(allOf: recipientCount).subtracting(self)
    }

    /// Both sets are of the same record.
    private func combined(
        with other: RecipientSet,
        _ combine: (UInt64, UInt64) -> UInt64
    ) -> RecipientSet {
        precondition(recipientCount == other.recipientCount, "sets of two records")
        var set = self
        for place in words.indices {
            set.words[place] = combine(words[place], other.words[place])
        }
        set.countMembers()
        return set
    }

    private mutating func countMembers() {
        memberCount = Int32(words.reduce(0) { $0 + $1.nonzeroBitCount })
    }
}

extension RecipientSet: Sequence {
    public struct Iterator: IteratorProtocol {
        fileprivate let words: [UInt64]
        /// The bits of the word at `place` that are still to come.
        fileprivate var rest: UInt64
        fileprivate var place = 0

        public mutating func next() -> Int? {
            while rest == 0 {
                place += 1
                guard place < words.count else { return nil }
                rest = words[place]
            }
            defer { rest &= rest - 1 }
            return place * 64 + rest.trailingZeroBitCount
        }
    }

    public func makeIterator() -> Iterator { Iterator(words: words, rest: words[0]) }

    public var underestimatedCount: Int { count }
}

// MARK: - The form in commit metadata

extension RecipientSet {
    /// The lengths of the runs from recipient 0 on, in turn not in the set and in it.
    ///
    /// Only the first can be 0: if recipient 0 is in the set.
    private var runs: [Int] {
        var runs: [Int] = []
        var end = 0
        var run = 0..<0
        for recipient in self {
            if recipient == run.upperBound, recipient > 0 {
                run = run.lowerBound..<recipient + 1
            } else {
                if !run.isEmpty { runs += [run.lowerBound - end, run.count] }
                end = run.upperBound
                run = recipient..<recipient + 1
            }
        }
        if !run.isEmpty { runs += [run.lowerBound - end, run.count] }
        if run.upperBound < recipientCount { runs.append(recipientCount - run.upperBound) }
        return runs
    }

    private var bitmapByteCount: Int { Self.bitmapByteCount(of: recipientCount) }

    private static func bitmapByteCount(of recipientCount: Int) -> Int { (recipientCount + 7) / 8 }

    /// The most bytes that a set takes if `count` recipients are in it.
    ///
    /// A bitmap always does. Otherwise, the fewer ones of those in the set and those not in it are
    /// at most 41, in as many runs, each of one byte; the others are in one run more, each of at
    /// most two bytes.
    static func maxByteCount(of recipientCount: Int, count: Int) -> Int {
        let inRuns = 3 * Swift.min(count, recipientCount - count) + 3
        return Swift.min(bitmapByteCount(of: recipientCount), inRuns)
    }

    /// Appends the recipients' number with the form, and the set in this form.
    func append(to bytes: inout [UInt8]) {
        let runs = runs
        let isBitmap = isBitmapShorter(than: runs)
        Varint.append(Int64((recipientCount - 2) * 2 + (isBitmap ? 1 : 0)), to: &bytes)
        guard isBitmap else {
            for run in runs { Varint.append(Int64(run), to: &bytes) }
            return
        }
        for place in 0..<bitmapByteCount {
            bytes.append(UInt8(truncatingIfNeeded: words[place / 8] >> UInt64(place % 8 * 8)))
        }
    }

    private func isBitmapShorter(than runs: [Int]) -> Bool {
        bitmapByteCount < runs.reduce(0) { $0 + Varint.byteCount(Int64($1)) }
    }

    /// Removes and returns a set of some recipients, but not all; nil if `append` does not write it
    /// like that.
    static func take(from bytes: inout ArraySlice<UInt8>) -> RecipientSet? {
        guard
            let head = Varint.take(from: &bytes, below: Int64(maxRecipients - 1) * 2)
        else { return nil }
        var set = RecipientSet(of: Int(head / 2) + 2)
        let isBitmap = head % 2 == 1
        guard isBitmap ? set.takeBitmap(from: &bytes) : set.takeRuns(from: &bytes),
            !set.isEmpty, !set.isComplete, set.isBitmapShorter(than: set.runs) == isBitmap
        else { return nil }
        return set
    }

    private mutating func takeRuns(from bytes: inout ArraySlice<UInt8>) -> Bool {
        var end = 0
        var isInSet = false
        while end < recipientCount {
            let limit = Int64(recipientCount - end + 1)
            guard let run = Varint.take(from: &bytes, below: limit), run > 0 || !isInSet && end == 0
            else { return false }
            if isInSet { insert(end..<end + Int(run)) }
            end += Int(run)
            isInSet.toggle()
        }
        return true
    }

    private mutating func takeBitmap(from bytes: inout ArraySlice<UInt8>) -> Bool {
        guard bytes.count >= bitmapByteCount else { return false }
        for (place, byte) in bytes.prefix(bitmapByteCount).enumerated() {
            words[place / 8] |= UInt64(byte) << UInt64(place % 8 * 8)
        }
        bytes = bytes.dropFirst(bitmapByteCount)
        countMembers()
        // No spare bits.
        let spare = words.count * 64 - recipientCount
        return words[words.count - 1].leadingZeroBitCount >= spare
    }
}
