public import Vocabulary

extension CommitMetadata {
    /// The text for a commit of `settled.base`.
    ///
    /// What does not fit is cut off at the far end: those offsets are sent again after a restart.
    ///
    /// - Parameters:
    ///   - partition: The partition.
    ///   - limit: Characters that the broker takes.
    /// - Returns: the text, ASCII, and whether anything was cut off. Where no text fits, it is empty,
    ///   and there is nothing to wait for.
    public func text(
        for partition: TopicPartition,
        within limit: Int = CommitMetadata.maxCharacters
    ) -> (text: String, isCut: Bool) {
        var settled = settled
        settled.keepOffsets(below: settled.base.rawValue + Self.maxSpan - 1)
        var payload = Self.littleEndian(nonce)
        if let mark {
            payload += Self.littleEndian(mark.fingerprint)
            Varint.append(settled.base.rawValue - mark.offset.rawValue, to: &payload)
        }
        let checksumByteCount = 4
        let maxPayload = (limit - Self.prefix.count - 1) * 3 / 4
        let room = maxPayload - payload.count - Varint.byteCount(settled.span) - checksumByteCount
        guard room >= 0 else { return ("", false) }
        // Farthest first, then smallest; the order of the codecs decides what is left.
        let (codec, kept) =
            Codec.allCases.map { ($0, $0.part(of: settled, fitting: room)) }
            .max { left, right in
                (left.1.horizon.rawValue, -left.0.byteCount(of: left.1))
                    < (right.1.horizon.rawValue, -right.0.byteCount(of: right.1))
            } ?? (.distances, SettledOffsets(base: settled.base))
        Varint.append(kept.span, to: &payload)
        codec.append(kept, to: &payload)
        let checksum = Self.checksum(of: partition, base: kept.base, codec: codec, payload)
        payload += Self.littleEndian(checksum)
        var text = (mark == nil ? Self.prefix : Self.prefixWithMark) + [codec.rawValue]
        Base64.url.append(payload, to: &text)
        return (String(decoding: text, as: UTF8.self), kept != self.settled)
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

    /// As much from the front as `room` bytes of body hold.
    func part(of settled: SettledOffsets, fitting room: Int) -> SettledOffsets {
        var part = settled
        switch self {
        case .distances, .runs: part.keepRuns(scan(settled, room: room).runs)
        case .bitmap: part.keepOffsets(below: settled.base.rawValue + 1 + Int64(room) * 8)
        }
        return part
    }

    /// How many runs fit into `room` bytes, and the bytes they take.
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
                // The base itself is understood.
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
    /// One past the settled offsets that follow this incomplete run.
    fileprivate func endOfSettledRun(behind index: Int) -> Int64 {
        index + 1 < incomplete.count ? incomplete[index + 1].lowerBound : horizon.rawValue
    }
}

/// Unsigned LEB128: seven bits a byte, lowest first.
enum Varint {
    static func byteCount(_ number: Int64) -> Int {
        max(1, (64 - number.leadingZeroBitCount + 6) / 7)
    }

    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var rest = UInt64(bitPattern: number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Takes the first number off; nil unless it is whole, below `limit`, and as short as can be.
    static func take(from bytes: inout ArraySlice<UInt8>, below limit: Int64) -> Int64? {
        var number: Int64 = 0
        var shift: Int64 = 0
        while let byte = bytes.popFirst() {
            number |= Int64(byte & 0x7F) << shift
            guard number < limit else { return nil }
            if byte & 0x80 == 0 { return byte == 0 && shift > 0 ? nil : number }
            shift += 7
            guard shift < 28 else { return nil }
        }
        return nil
    }
}
