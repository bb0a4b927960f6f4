import Vocabulary

/// Writes answers as APNs does; the block is used again.
struct AnswerWriter {
    private var block = HeaderBlock()
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// The answer's headers and body; only for answers that have a status.
    mutating func write(
        status: Int,
        refusal: Refusal?,
        apnsID: ArraySlice<UInt8>?,
        environment: APNsEnvironment
    ) -> HeaderBlock {
        block.removeAll()
        if status == 200 {
            block.append(":status", "200")
        } else {
            block.append(":status", "\(status)")
        }
        if let apnsID {
            block.append("apns-id", indexing: .nameIndexedOnce) { $0.append(contentsOf: apnsID) }
        } else {
            // APNs' own identifiers come in upper case, whatever its documentation says.
            let id = random.uuid().map { (0x61...0x66).contains($0) ? $0 & 0xDF : $0 }
            block.append("apns-id", indexing: .nameIndexedOnce) { $0.append(contentsOf: id) }
        }
        if environment == .sandbox {
            let id = random.uuid()
            block.append("apns-unique-id", indexing: .nameIndexedOnce) { $0.append(contentsOf: id) }
        }
        if refusal != nil { block.append("content-type", "application/json") }
        if let seconds = refusal?.retryAfterSeconds {
            block.append("retry-after", "\(seconds)")
        }
        return block
    }

    static let html = Array("<html><body><h1>Service Unavailable</h1></body></html>\n".utf8)
}

extension SeededGenerator {
    /// A version 4 UUID in lower case.
    fileprivate mutating func uuid() -> [UInt8] {
        APNsID(
            high: next() & ~0xF000 | 0x4000,
            low: next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        ).utf8
    }
}
