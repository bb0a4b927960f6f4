public import Vocabulary

/// The metadata of a committed offset.
///
/// It contains the writer's nonce, the settled offsets past the committed one, the settled
/// recipients of records that are not settled, a mark of the record before the committed offset,
/// and a mark of the last settled record.
///
/// ```
/// text    = version codec base64url(payload), without padding; at most 4,096 characters
/// version = "p1", "p2" with a mark, "p3" with an end, "p4" with both;
///           "p5" to "p8" are the same with recipients
/// payload = nonce (4)  [mark]  [end]  span (varint)  [records]  body  crc32c (4);
///           integers are little-endian
/// mark    = fingerprint (4)  committed offset - the record's (varint, 1 at least)
/// end     = fingerprint (4) of the last settled record, which is the last of the span
/// records = their number (varint, 1 at least), then for each, in offset order:
///           offset - one past the record before it, or the committed offset (varint)
///           fingerprint (4)  2 * (number of recipients - 2) + form (varint)  set
/// form 0  = lengths of runs (varints), in turn unsettled and settled; only the first may be 0
/// form 1  = a bit for each recipient, lowest bit first; 1 is settled; only if it is shorter
/// codec D = one varint for each incomplete offset after the base: the settled ones before it
/// codec R = pairs of varints: length of an incomplete run - 1, length of the settled run after it
/// codec B = span - 1 bits for the offsets after the base, lowest bit first; 1 is settled
/// ```
///
/// The checksum covers the topic's name, partition (4), committed offset (8), with recipients the
/// version, codec and the payload before it, so that a text is valid only for its own offset.
///
/// A record with 1,000 recipients takes at most 134 bytes, which are 179 characters. The length of
/// the text, with a mark and an end, if 1, 10 or 20 such records follow each other, the record
/// behind them is settled, and of each these recipients are (`RecipientMetadataTests`):
///
/// | settled         |   1 |    10 |    20 |
/// |-----------------|----:|------:|------:|
/// | every second    | 205 | 1,791 | 3,551 |
/// | the first half  |  45 |   191 |   351 |
/// | all but three   |  51 |   258 |   485 |
public struct CommitMetadata: Hashable, Sendable {
    /// Why metadata is ignored.
    public enum Problem: Error, Hashable, Sendable {
        /// Not our prefix, or a codec of another version.
        case foreign
        case tooLong
        /// Not base64url, or shorter than its fixed parts.
        case malformed
        /// Damaged, or written for another partition or offset.
        case checksum
        /// The checksum matches, but an encoder would write it differently.
        case notCanonical
        /// Covers offsets past the partition's end.
        case beyondEnd
        /// Refers to records that no longer exist or were replaced.
        case replaced
    }

    enum Codec: UInt8, CaseIterable {
        case distances = 0x44
        case runs = 0x52
        case bitmap = 0x42
    }

    /// The number of characters a broker accepts by default (`offset.metadata.max.bytes`).
    public static let maxCharacters = 4096
    /// Exclusive upper limit.
    public static let maxSpan: Int64 = 1 << 21
    /// This many incomplete offsets always fit, in any pattern, by codec D.
    ///
    /// Each takes 2 bytes, and a third one for each of the at most 128 gaps of 16,384 or more
    /// settled offsets within a span.
    public static let incompletesThatFit = 1400
    /// This many offsets always fit, in any pattern, by codec B.
    public static let offsetsThatFit: Int64 = 24_300

    /// The bytes that are left for recipients, whatever the pattern of this many incomplete offsets
    /// among the `span` offsets past the committed one.
    ///
    /// Assumes the longest mark, an end and Kafka's default limit.
    static func room(besides incompletes: Int, span: Int64) -> Int {
        let offsets = min(2 * Int64(incompletes) + 128, span / 8 + 1)
        return 3045 - Int(offsets)
    }

    static let prefixByteCount = 2
    static let fixedByteCount = 8
    private static let fingerprintByteCount = 4

    /// "p1" to "p8".
    static func prefix(hasMark: Bool, hasEnd: Bool, hasRecipients: Bool = false) -> [UInt8] {
        [0x70, 0x31 + (hasMark ? 1 : 0) + (hasEnd ? 2 : 0) + (hasRecipients ? 4 : 0)]
    }

    /// Random per engine; distinguishes its own commits from others'.
    public let nonce: UInt32
    public let settled: SettledOffsets
    /// The last record read before the committed offset, if known.
    public let mark: RecordMark?
    /// The last settled record past the committed offset.
    ///
    /// nil: there is none, or an earlier version wrote the metadata, which did not include it.
    public let end: RecordMark?
    /// Unsettled records with settled recipients, in offset order; also past the last settled one.
    public let recipients: [SettledRecipients]

    /// Leaves the mark out if it is so far back that its distance takes four bytes.
    ///
    /// An `end` must be at the last settled offset.
    public init(
        nonce: UInt32,
        settled: SettledOffsets,
        mark: RecordMark? = nil,
        end: RecordMark? = nil,
        recipients: [SettledRecipients] = []
    ) {
        self.nonce = nonce
        self.settled = settled
        self.mark = mark.flatMap { mark in
            let distance = settled.base.rawValue - mark.offset.rawValue
            precondition(distance > 0, "a mark stands before the committed offset")
            return distance < Self.maxSpan ? mark : nil
        }
        precondition(
            end.map { settled.span > 0 && $0.offset.next == settled.horizon } ?? true,
            "the last settled record stands at the last settled offset"
        )
        self.end = end
        precondition(
            recipients.areUnsettled(in: settled),
            "a settled record has no settled recipients"
        )
        self.recipients = recipients
    }

    static func checksum(
        of partition: TopicPartition,
        base: Offset,
        prefix: [UInt8],
        codec: Codec,
        _ bytes: some Sequence<UInt8>
    ) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(partition.topic.name.utf8)
        checksum.update(littleEndian(partition.partition))
        checksum.update(littleEndian(base.rawValue))
        // Versions without recipients do not, and must not change.
        if hasRecipients(prefix) { checksum.update(prefix) }
        checksum.update(CollectionOfOne(codec.rawValue))
        checksum.update(bytes)
        return checksum.value
    }

    private static func hasRecipients(_ prefix: [UInt8]) -> Bool { prefix[1] >= 0x35 }

    static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}

extension CommitMetadata {
    /// The text for a commit of `settled.base`.
    ///
    /// If the offsets do not fit, the last ones and the `end` are cut off; their events are sent
    /// again after a restart. Recipients take what room the offsets leave: those of the first
    /// records, as many records as fit whole.
    ///
    /// - Parameters:
    ///   - partition: The partition.
    ///   - limit: The number of characters that the broker accepts.
    /// - Returns: The text in ASCII, the offset at which it was cut off, if it was, and the number
    ///   of settled recipients that it does not contain. If no text fits at all, it is empty and
    ///   not cut off.
    public func text(
        for partition: TopicPartition,
        within limit: Int = CommitMetadata.maxCharacters
    ) -> (text: String, cutAt: Offset?, droppedRecipients: Int) {
        var settled = settled
        settled.keepOffsets(below: settled.base.rawValue + Self.maxSpan - 1)
        var payload = Self.littleEndian(nonce)
        if let mark {
            payload += Self.littleEndian(mark.fingerprint)
            Varint.append(settled.base.rawValue - mark.offset.rawValue, to: &payload)
        }
        let checksumByteCount = 4
        let maxPayload = (limit - Self.prefixByteCount - 1) * 3 / 4
        let rest = maxPayload - payload.count - Varint.byteCount(settled.span) - checksumByteCount
        guard rest >= 0 else { return ("", nil, recipients.settledCount) }
        let room = rest - (end == nil ? 0 : Self.fingerprintByteCount)
        let codecs = room < 0 ? [] : Codec.allCases
        // Prefer the farthest horizon, then the smallest text; the codecs' order breaks ties.
        let (codec, kept) =
            codecs.map { ($0, $0.part(of: settled, fitting: room)) }
            .max { left, right in
                (left.1.horizon.rawValue, -left.0.byteCount(of: left.1))
                    < (right.1.horizon.rawValue, -right.0.byteCount(of: right.1))
            } ?? (.distances, SettledOffsets(base: settled.base))
        let isCut = kept != self.settled
        let end = isCut ? nil : end
        if let end { payload += Self.littleEndian(end.fingerprint) }
        Varint.append(kept.span, to: &payload)
        var body: [UInt8] = []
        codec.append(kept, to: &body)
        let records = recipients.written(
            after: kept.base,
            below: kept.base.rawValue + Self.maxSpan,
            fitting: maxPayload - payload.count - body.count - checksumByteCount
        )
        payload += records.bytes + body
        let prefix = Self.prefix(
            hasMark: mark != nil,
            hasEnd: end != nil,
            hasRecipients: records.count > 0
        )
        let checksum = Self.checksum(
            of: partition,
            base: kept.base,
            prefix: prefix,
            codec: codec,
            payload
        )
        payload += Self.littleEndian(checksum)
        var text = prefix + [codec.rawValue]
        Base64.url.append(payload, to: &text)
        return (
            String(decoding: text, as: UTF8.self),
            isCut ? kept.horizon : nil,
            recipients.dropFirst(records.count).settledCount
        )
    }
}

extension CommitMetadata.Codec {
    func byteCount(of settled: SettledOffsets) -> Int {
        switch self {
        case .distances: scan(settled, room: .max).byteCount
        case .runs: scan(settled, room: .max).byteCount
        case .bitmap: settled.span == 0 ? 0 : Int(settled.span - 1 + 7) / 8
        }
    }

    /// The leading part that fits into a body of `room` bytes.
    func part(of settled: SettledOffsets, fitting room: Int) -> SettledOffsets {
        var part = settled
        switch self {
        case .distances, .runs: part.keepRuns(scan(settled, room: room).runs)
        case .bitmap: part.keepOffsets(below: settled.base.rawValue + 1 + Int64(room) * 8)
        }
        return part
    }

    /// How many runs fit into `room` bytes, and how many bytes they take.
    private func scan(_ settled: SettledOffsets, room: Int) -> (runs: Int, byteCount: Int) {
        var byteCount = 0
        var previousEnd = settled.base.rawValue
        for (index, run) in settled.incomplete.enumerated() {
            let settledBefore = run.lowerBound - previousEnd
            let next = settled.endOfSettledRun(behind: index)
            let added =
                switch self {
                case .distances where index == 0: run.count - 1
                case .distances: Varint.byteCount(settledBefore) + run.count - 1
                default:
                    Varint.byteCount(Int64(run.count - 1))
                        + Varint.byteCount(next - run.upperBound)
                }
            guard byteCount + added <= room else { return (index, byteCount) }
            byteCount += added
            previousEnd = run.upperBound
        }
        return (settled.incomplete.count, byteCount)
    }

    func append(_ settled: SettledOffsets, to bytes: inout [UInt8]) {
        switch self {
        case .distances:
            var previousEnd = settled.base.rawValue
            for (index, run) in settled.incomplete.enumerated() {
                // The distance to the base is omitted: it is always zero.
                if index > 0 { Varint.append(run.lowerBound - previousEnd, to: &bytes) }
                bytes.append(contentsOf: repeatElement(0, count: run.count - 1))
                previousEnd = run.upperBound
            }
        case .runs:
            for (index, run) in settled.incomplete.enumerated() {
                Varint.append(Int64(run.count - 1), to: &bytes)
                let end = settled.endOfSettledRun(behind: index)
                Varint.append(end - run.upperBound, to: &bytes)
            }
        case .bitmap:
            var bitmap = [UInt8](repeating: 0, count: byteCount(of: settled))
            let first = settled.base.rawValue + 1
            for (index, run) in settled.incomplete.enumerated() {
                for offset in run.upperBound..<settled.endOfSettledRun(behind: index) {
                    let place = Int(offset - first)
                    bitmap[place / 8] |= 1 << (place % 8)
                }
            }
            bytes += bitmap
        }
    }
}

extension SettledOffsets {
    /// One past the settled offsets that follow the incomplete run at `index`.
    fileprivate func endOfSettledRun(behind index: Int) -> Int64 {
        index + 1 < incomplete.count ? incomplete[index + 1].lowerBound : horizon.rawValue
    }
}

extension CommitMetadata {
    /// Reads the metadata of committed offset `base` of `partition`.
    ///
    /// - Throws: `Problem` for any text that `text(for:)` does not write for that offset; ignoring
    ///   it at worst sends some events again.
    public init(
        _ text: String,
        base: Offset,
        of partition: TopicPartition
    ) throws(Problem) {
        let characters = Array(text.utf8)
        guard characters.count <= Self.maxCharacters else { throw .tooLong }
        guard characters.count > Self.prefixByteCount, characters[0] == 0x70,
            (0x31...0x38).contains(characters[1]),
            let codec = Codec(rawValue: characters[Self.prefixByteCount])
        else { throw .foreign }
        let form = characters[1] - 0x31
        guard let payload = Base64.url.decode(characters[(Self.prefixByteCount + 1)...]),
            payload.count > Self.fixedByteCount
        else { throw .malformed }
        let sealed = payload.dropLast(4)
        let checksum = Self.checksum(
            of: partition,
            base: base,
            prefix: Array(characters[..<Self.prefixByteCount]),
            codec: codec,
            sealed
        )
        guard payload.suffix(4).elementsEqual(Self.littleEndian(checksum)) else {
            throw .checksum
        }
        var body = sealed.dropFirst(4)
        mark = form & 1 == 0 ? nil : try Self.takeMark(from: &body, before: base)
        let end = form & 2 == 0 ? nil : Self.takeFingerprint(from: &body)
        guard let span = Varint.take(from: &body, below: Self.maxSpan), base.rawValue >= 0,
            // Leave room for the sums below.
            base.rawValue <= .max - 4 * Self.maxSpan,
            let recipients = form & 4 == 0
                ? []
                : [SettledRecipients].take(
                    from: &body,
                    after: base,
                    below: base.rawValue + Self.maxSpan
                ),
            let settled = codec.settledOffsets(in: body, base: base, span: span),
            recipients.areUnsettled(in: settled),
            // Without settled offsets, there is no last one.
            end == nil || span > 0
        else { throw .notCanonical }
        nonce = sealed.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        self.settled = settled
        self.recipients = recipients
        self.end = end.map {
            RecordMark(offset: Offset(settled.horizon.rawValue - 1), fingerprint: $0)
        }
    }

    /// If too few bytes are left, the span after it is missing as well, and reading it fails.
    private static func takeFingerprint(from body: inout ArraySlice<UInt8>) -> UInt32 {
        defer { body = body.dropFirst(fingerprintByteCount) }
        return body.prefix(fingerprintByteCount).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func takeMark(
        from body: inout ArraySlice<UInt8>,
        before base: Offset
    ) throws(Problem) -> RecordMark {
        let fingerprint = takeFingerprint(from: &body)
        guard let distance = Varint.take(from: &body, below: maxSpan), distance > 0,
            base.rawValue >= distance
        else { throw .notCanonical }
        return RecordMark(offset: Offset(base.rawValue - distance), fingerprint: fingerprint)
    }
}

extension CommitMetadata.Codec {
    fileprivate func settledOffsets(
        in body: ArraySlice<UInt8>,
        base: Offset,
        span: Int64
    ) -> SettledOffsets? {
        guard span > 0 else {
            return self == .distances && body.isEmpty ? SettledOffsets(base: base) : nil
        }
        let runs =
            switch self {
            case .distances: distances(in: body, base: base.rawValue, span: span)
            case .runs: runs(in: body, base: base.rawValue, span: span)
            case .bitmap: bitmap(in: body, base: base.rawValue, span: span)
            }
        guard let runs else { return nil }
        return SettledOffsets(
            base: base,
            incomplete: runs,
            horizon: Offset(base.rawValue + span)
        )
    }

    private func distances(
        in body: ArraySlice<UInt8>,
        base: Int64,
        span: Int64
    ) -> [Range<Int64>]? {
        var body = body
        var runs: [Range<Int64>] = []
        var run = base..<base + 1
        while !body.isEmpty {
            guard let distance = Varint.take(from: &body, below: span) else { return nil }
            let next = run.upperBound + distance
            guard next < base + span else { return nil }
            if distance == 0 {
                run = run.lowerBound..<next + 1
            } else {
                runs.append(run)
                run = next..<next + 1
            }
        }
        return runs + [run]
    }

    private func runs(in body: ArraySlice<UInt8>, base: Int64, span: Int64) -> [Range<Int64>]? {
        var body = body
        var runs: [Range<Int64>] = []
        var place = base
        while !body.isEmpty {
            guard let length = Varint.take(from: &body, below: span),
                let settled = Varint.take(from: &body, below: span + 1), settled > 0,
                place + length + 1 + settled <= base + span
            else { return nil }
            runs.append(place..<place + length + 1)
            place += length + 1 + settled
        }
        return place == base + span ? runs : nil
    }

    private func bitmap(in body: ArraySlice<UInt8>, base: Int64, span: Int64) -> [Range<Int64>]? {
        let bitCount = Int(span - 1)
        guard body.count == (bitCount + 7) / 8 else { return nil }
        func isSettled(_ place: Int) -> Bool {
            body[body.startIndex + place / 8] >> (place % 8) & 1 == 1
        }
        for place in bitCount..<body.count * 8 where isSettled(place) { return nil }
        var runs: [Range<Int64>] = []
        var start: Int64? = base
        for place in 0..<bitCount {
            let offset = base + 1 + Int64(place)
            if isSettled(place) {
                if let first = start { runs.append(first..<offset) }
                start = nil
            } else if start == nil {
                start = offset
            }
        }
        // The last offset of the span must be settled, or the encoder would not have included it.
        return start == nil ? runs : nil
    }
}
