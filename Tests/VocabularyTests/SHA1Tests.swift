import CSHA1
import Testing

@Suite struct SHA1Tests {
    private static let ways =
        hg_sha1_fastest_way() == hg_sha1_portable
        ? [hg_sha1_portable] : [hg_sha1_portable, hg_sha1_fastest_way()]

    /// Hashes in pieces of this size.
    private func digest(
        _ bytes: [UInt8],
        _ way: hg_sha1_way,
        pieceByteCount: Int = .max,
        isLowercased: Bool = false
    ) -> String {
        var message = hg_sha1()
        unsafe hg_sha1_begin(&message, way)
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieceByteCount))
            rest = rest.dropFirst(piece.count)
            if isLowercased {
                unsafe hg_sha1_append_lowercased(&message, piece, piece.count)
            } else {
                unsafe hg_sha1_append(&message, piece, piece.count)
            }
        }
        unsafe hg_sha1_end(&message)
        let (a, b, c, d, e) = message.state
        return [a, b, c, d, e].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    /// From FIPS 180-4's companion "SHA_All" and RFC 3174, 7.3.
    private static let vectors: [(message: String, digest: String)] = [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (
            String(
                repeating: "0123456701234567012345670123456701234567012345670123456701234567",
                count: 10
            ),
            "dea356a2cddd90c7a7ecedc5ebb563934f460452"
        ),
    ]

    @Test func `all implementations match the standard's digests`() {
        for way in Self.ways {
            for (message, expected) in Self.vectors {
                #expect(digest(Array(message.utf8), way) == expected)
            }
        }
    }

    @Test func `all implementations agree at every length up to three blocks`() {
        var byte: UInt8 = 1
        var message: [UInt8] = []
        for _ in 0...192 {
            let expected = digest(message, hg_sha1_portable)
            for way in Self.ways {
                #expect(digest(message, way) == expected, "\(message.count) bytes")
                #expect(digest(message, way, pieceByteCount: 1) == expected)
                #expect(digest(message, way, pieceByteCount: 37) == expected)
            }
            byte = byte &* 167 &+ 13
            message.append(byte)
        }
    }

    @Test func `only ASCII letters are lowercased`() {
        let bytes = Array(UInt8.min...UInt8.max)
        let expected = bytes.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }
        for way in Self.ways {
            #expect(digest(bytes, way, isLowercased: true) == digest(expected, way))
        }
    }
}
