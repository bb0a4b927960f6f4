/// A GOAWAY sent instead of SETTINGS: the server accepts no connection, and may say why.
///
/// RFC 9113, 3.4 requires SETTINGS first, and nghttp2 does not parse a connection that starts
/// differently.
public struct EarlyGoAway: Hashable, Sendable {
    enum Reading: Hashable {
        /// The bytes so far may become a GOAWAY.
        case unfinished
        case whole(EarlyGoAway)
        /// Anything else, which nghttp2 must judge.
        case anythingElse
    }

    let lastStreamID: Int32
    let errorCode: HTTP2ErrorCode
    let debugData: [UInt8]

    /// See RFC 9113, 4.1 and 6.8.
    private static let headerByteCount = 9
    private static let fixedByteCount = 8
    private static let maxPayloadByteCount = 16384
    private static let type: UInt8 = 7

    /// Reads the first bytes of a connection.
    static func read(_ bytes: borrowing ByteQueue) -> Reading {
        // SAFETY: the bytes are read while they are valid, each after a bounds check.
        unsafe bytes.withBytes {
            unsafe read(Array($0.prefix(headerByteCount + maxPayloadByteCount)))
        }
    }

    private static func read(_ bytes: [UInt8]) -> Reading {
        guard bytes.count >= headerByteCount else {
            let isOther = bytes.count > 3 && bytes[3] != type
            return isOther ? .anythingElse : .unfinished
        }
        let length = Int(integer(bytes[0..<3]))
        guard bytes[3] == type, bytes[5..<headerByteCount].allSatisfy({ $0 == 0 }),
            (fixedByteCount...maxPayloadByteCount).contains(length)
        else { return .anythingElse }
        guard bytes.count >= headerByteCount + length else { return .unfinished }
        let payload = bytes[headerByteCount..<headerByteCount + length]
        return .whole(
            EarlyGoAway(
                // The first bit is reserved.
                lastStreamID: Int32(integer(payload.prefix(4)) & 0x7FFF_FFFF),
                errorCode: HTTP2ErrorCode(rawValue: integer(payload.dropFirst(4).prefix(4))),
                debugData: Array(payload.dropFirst(fixedByteCount))
            )
        )
    }

    private static func integer(_ octets: ArraySlice<UInt8>) -> UInt32 {
        octets.reduce(0) { $0 << 8 | UInt32($1) }
    }
}
