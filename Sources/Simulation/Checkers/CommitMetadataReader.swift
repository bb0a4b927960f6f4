import Vocabulary

/// Reads commit metadata by its documented format, without the service's own code.
///
/// A reader that shared a bug with the writer would not find it.
struct CommitMetadataReader {
    /// The offsets after the committed one that the metadata marks as settled.
    private(set) var settled: SettledOffsets
    /// By offset, the records that are not settled, but some of whose recipients are.
    private(set) var recipients: [Int64: MarkedRecipients] = [:]
    /// One past the last of the settled offsets.
    private(set) var settledHorizon: Int64
    /// One past the last record that the metadata is about.
    var horizon: Int64 { max(settledHorizon, (recipients.keys.max() ?? -1) + 1) }
    let nonce: [UInt8]

    /// nil for metadata that is not valid.
    init?(_ text: String, base: Int64, of partition: TopicPartition) {
        let characters = Array(text.utf8)
        guard characters.count > 3, characters.count <= 4096,
            let form = Self.forms.firstIndex(where: { text.hasPrefix($0) }),
            let payload = Self.decodeBase64URL(characters[3...]), payload.count >= 9
        else { return nil }
        let sealed = payload.dropLast(4)
        var input = Array(partition.topic.name.utf8)
        input += (0..<4).map { UInt8(truncatingIfNeeded: partition.partition >> ($0 * 8)) }
        input += (0..<8).map { UInt8(truncatingIfNeeded: base >> ($0 * 8)) }
        input += form < 4 ? characters[2...2] : characters[0...2]
        input += sealed
        let checksum = Self.crc32c(input)
        guard payload.suffix(4).reversed().reduce(0, { $0 << 8 | UInt32($1) }) == checksum
        else { return nil }
        nonce = Array(sealed.prefix(4))
        var body = sealed.dropFirst(4)
        if form % 2 == 1 {
            body = body.dropFirst(4)
            guard let distance = Self.takeNumber(&body), distance > 0 else { return nil }
        }
        if form % 4 >= 2 { body = body.dropFirst(4) }
        guard let span = Self.takeNumber(&body), span < 1 << 21 else { return nil }
        settledHorizon = base + span
        settled = SettledOffsets(base: base)
        if form >= 4 { guard readRecipients(&body, base) else { return nil } }
        switch characters[2] {
        case UInt8(ascii: "D"): readDistances(body, base)
        case UInt8(ascii: "R"): readRuns(body, base)
        case UInt8(ascii: "B"): readBitmap(body, base)
        default: return nil
        }
    }

    private static let forms = (1...8).map { "p\($0)" }

    /// Reads the records with recipients, which come in offset order.
    private mutating func readRecipients(_ body: inout ArraySlice<UInt8>, _ base: Int64) -> Bool {
        guard let count = Self.takeNumber(&body), count > 0 else { return false }
        var next = base
        for _ in 0..<count {
            guard let distance = Self.takeNumber(&body), body.count > 4 else { return false }
            let fingerprint = body.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            body = body.dropFirst(4)
            guard let head = Self.takeNumber(&body),
                let marks = Self.takeMarks(&body, head / 2 + 2, isBitmap: head % 2 == 1)
            else { return false }
            recipients[next + distance] = MarkedRecipients(
                fingerprint: fingerprint,
                settled: marks
            )
            next += distance + 1
        }
        return true
    }

    /// Reads a record's recipients: bits, or the lengths of runs.
    private static func takeMarks(
        _ body: inout ArraySlice<UInt8>,
        _ count: Int64,
        isBitmap: Bool
    ) -> [Bool]? {
        guard count <= 1000 else { return nil }
        var marks: [Bool] = []
        if isBitmap {
            for place in 0..<Int(count) {
                guard let byte = body.dropFirst(place / 8).first else { return nil }
                marks.append(byte >> (place % 8) & 1 == 1)
            }
            body = body.dropFirst(Int(count + 7) / 8)
            return marks
        }
        var isSettled = false
        while marks.count < count {
            guard let length = takeNumber(&body), length <= count - Int64(marks.count) else {
                return nil
            }
            marks += repeatElement(isSettled, count: Int(length))
            isSettled.toggle()
        }
        return marks
    }

    private mutating func readDistances(_ body: ArraySlice<UInt8>, _ base: Int64) {
        var body = body
        var next = base + 1
        while let distance = Self.takeNumber(&body) {
            settled.insert(next..<next + distance)
            next += distance + 1
        }
        settled.insert(min(next, settledHorizon)..<settledHorizon)
    }

    private mutating func readRuns(_ body: ArraySlice<UInt8>, _ base: Int64) {
        var body = body
        var next = base
        while let incomplete = Self.takeNumber(&body), let done = Self.takeNumber(&body) {
            next += incomplete + 1
            settled.insert(next..<next + done)
            next += done
        }
    }

    private mutating func readBitmap(_ body: ArraySlice<UInt8>, _ base: Int64) {
        for (place, byte) in body.enumerated() {
            for bit in 0..<8 where byte >> bit & 1 == 1 {
                let offset = base + 1 + Int64(place * 8 + bit)
                settled.insert(offset..<offset + 1)
            }
        }
    }

    // MARK: The parts of the format

    /// Reads a LEB128 number.
    private static func takeNumber(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        var number: Int64 = 0
        var shift: Int64 = 0
        while let byte = bytes.popFirst(), shift < 35 {
            number |= Int64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return number }
            shift += 7
        }
        return nil
    }

    /// Decodes base64url without padding (RFC 4648, section 5).
    private static func decodeBase64URL(_ characters: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in characters {
            let value: UInt8
            switch character {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = character - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = character - UInt8(ascii: "0") + 52
            case UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "_"): value = 63
            default: return nil
            }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        // Each value has one encoding only: the unused bits must be zero (RFC 4648, section 3.5).
        return count < 6 && bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
    }

    /// CRC-32C (RFC 3720, section B.4), one byte at a time.
    private static func crc32c(_ bytes: [UInt8]) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ value >> 8
        }
        return ~value
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in
            value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1
        }
    }
}

/// The settled offsets at or after a committed one.
struct SettledOffsets {
    let base: Int64
    private var marks: [Bool] = []

    init(base: Int64) {
        self.base = base
    }

    func contains(_ offset: Int64) -> Bool {
        offset >= base && offset - base < Int64(marks.count) && marks[Int(offset - base)]
    }

    mutating func insert(_ offsets: Range<Int64>) {
        let missing = Int(offsets.upperBound - base) - marks.count
        if missing > 0 { marks.append(contentsOf: repeatElement(false, count: missing)) }
        for offset in offsets { marks[Int(offset - base)] = true }
    }
}
