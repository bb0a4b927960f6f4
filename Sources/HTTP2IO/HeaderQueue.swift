import CNghttp2
import Vocabulary

/// The header blocks of requests on their way into frames.
///
/// nghttp2 makes HEADERS frames with a single field that is never sent; here they get the request's
/// own, in the order in which the frames are made.
struct HeaderQueue: ~Copyable {
    private var waiting = WaitingHeaders()
    private var encoder = HeaderBlockEncoder()

    /// A frame's header: length, type, flags, stream (RFC 9113, 4.1).
    private static let frameHeadByteCount = 9

    mutating func append(_ block: borrowing HeaderBlock, streamID: Int32) {
        waiting.append(block, streamID: streamID)
    }

    /// Takes the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func limitTable(to byteCount: Int) {
        encoder.limitTable(to: byteCount)
    }

    /// Puts a request's header block into a frame that was just made, if it is for HEADERS.
    mutating func writeHeaders(_ frames: inout ByteQueue, _ frameByteCount: Int) {
        // SAFETY: the frame's bytes are lent for the closure; its length is checked first.
        let streamID: Int32? = unsafe frames.withLast(frameByteCount) { frame in
            guard frame.count >= Self.frameHeadByteCount,
                unsafe frame[3] == UInt8(NGHTTP2_HEADERS.rawValue)
            else { return nil }
            return unsafe Int32(
                bigEndian: frame.loadUnaligned(fromByteOffset: 5, as: Int32.self)
            )
        }
        guard let streamID else { return }
        frames.removeLast(frameByteCount - Self.frameHeadByteCount)
        let start = frames.count
        unsafe waiting.take(streamID: streamID) { fields in
            unsafe encoder.encode(fields, into: &frames)
        }
        let byteCount = frames.count - start
        unsafe frames.withLast(byteCount + Self.frameHeadByteCount) { frame in
            for byte in 0..<3 {
                unsafe frame[byte] = UInt8(truncatingIfNeeded: byteCount >> (16 - 8 * byte))
            }
        }
    }
}
