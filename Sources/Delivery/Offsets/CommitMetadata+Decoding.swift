public import Vocabulary

extension CommitMetadata {
    /// Reads what stands with the committed offset `base` of `partition`.
    ///
    /// - Throws: `Problem` for everything that `text(for:)` does not write there; the worst that
    ///   may follow is that events are sent again.
    public init(
        _ text: String,
        base: Offset,
        of partition: TopicPartition
    ) throws(Problem) {
        let characters = Array(text.utf8)
        guard characters.count <= Self.maxCharacters else { throw .tooLong }
        let hasMark = characters.starts(with: Self.prefixWithMark)
        guard hasMark || characters.starts(with: Self.prefix),
            characters.count > Self.prefix.count,
            let codec = Codec(rawValue: characters[Self.prefix.count])
        else { throw .foreign }
        guard let payload = Base64.url.decode(characters[(Self.prefix.count + 1)...]),
            payload.count > Self.fixedByteCount
        else { throw .malformed }
        let sealed = payload.dropLast(4)
        let checksum = Self.checksum(of: partition, base: base, codec: codec, sealed)
        guard payload.suffix(4).elementsEqual(Self.littleEndian(checksum)) else {
            throw .checksum
        }
        var body = sealed.dropFirst(4)
        mark = hasMark ? try Self.takeMark(from: &body, before: base) : nil
        guard let span = Varint.take(from: &body, below: Self.maxSpan), base.rawValue >= 0,
            // Room for sums below.
            base.rawValue <= .max - 4 * Self.maxSpan,
            let settled = codec.settledOffsets(in: body, base: base, span: span)
        else { throw .notCanonical }
        nonce = sealed.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        self.settled = settled
    }

    private static func takeMark(
        from body: inout ArraySlice<UInt8>,
        before base: Offset
    ) throws(Problem) -> RecordMark {
        let fingerprint = body.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
        body = body.dropFirst(4)
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
        // The last offset of the span is settled, or nobody would have counted up to it.
        return start == nil ? runs : nil
    }
}
