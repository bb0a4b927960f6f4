/// The CRC-32C checksum (Castagnoli polynomial, RFC 3720, appendix B.4), in reflected form.
struct CRC32C: Hashable, Sendable {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in
            rest & 1 == 1 ? rest >> 1 ^ 0x82F6_3B78 : rest >> 1
        }
    }

    private var state = UInt32.max

    mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            state = state >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: state) ^ byte)]
        }
    }

    var value: UInt32 { ~state }
}
