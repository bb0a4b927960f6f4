import CNghttp2

/// Decodes the peer's header blocks (HPACK, RFC 7541), by nghttp2.
///
/// One for a connection, because a block changes the table for the next. So every block must be
/// decoded to its end, even if nobody needs its fields.
@safe struct HeaderBlockDecoder: ~Copyable {
    /// A field; its bytes are valid until the next call of `next`.
    @unsafe struct Field {
        let name: UnsafeBufferPointer<UInt8>
        let value: UnsafeBufferPointer<UInt8>
    }

    private let raw: OpaquePointer

    init() {
        var raw: OpaquePointer?
        guard unsafe nghttp2_hd_inflate_new(&raw) == 0, let raw = unsafe raw else {
            fatalError("out of memory")
        }
        unsafe self.raw = raw
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(raw)
    }

    /// Decodes the next field of a part of a block, and removes its bytes from `part`.
    ///
    /// - Parameters:
    ///   - part: What was not decoded yet.
    ///   - isLast: Whether the block ends with this part.
    /// - Returns: nil at the end of the part; after that of the last part, a new block may follow.
    /// - Throws: COMPRESSION_ERROR: later blocks cannot be decoded, either (RFC 9113, 4.3).
    mutating func next(
        _ part: inout UnsafeRawBufferPointer,
        isLast: Bool
    ) throws(PeerFault) -> Field? {
        while true {
            var field = unsafe nghttp2_nv()
            var flags: Int32 = 0
            // SAFETY: nghttp2 reads at most `count` bytes; those of the field are its own, and
            // valid until the next call.
            let count = unsafe nghttp2_hd_inflate_hd2(
                raw,
                &field,
                &flags,
                part.baseAddress?.assumingMemoryBound(to: UInt8.self),
                part.count,
                isLast ? 1 : 0
            )
            guard count >= 0 else { throw .violation(.compressionError) }
            unsafe part = UnsafeRawBufferPointer(rebasing: part[count...])
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                return unsafe Field(
                    name: UnsafeBufferPointer(start: field.name, count: field.namelen),
                    value: UnsafeBufferPointer(start: field.value, count: field.valuelen)
                )
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                unsafe nghttp2_hd_inflate_end_headers(raw)
                return nil
            }
            if unsafe part.isEmpty { return nil }
        }
    }
}
