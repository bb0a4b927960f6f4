/// A text of few bytes, which needs no memory of its own up to a capacity.
///
/// For what every event has: tens of thousands are in memory at a time, and each text would be an
/// allocation. `capacity`: in bytes of UTF-8, 255 at most.
struct InlineText<let capacity: Int>: Sendable {
    /// Zeros from `shortCount` on.
    private var short = InlineArray<capacity, UInt8>(repeating: 0)
    private let shortCount: UInt8
    /// All bytes, where there are more than `short` has room for.
    private let long: [UInt8]?

    init(_ utf8: Span<UInt8>) {
        guard utf8.count <= capacity else {
            shortCount = 0
            long = unsafe utf8.withUnsafeBufferPointer { unsafe Array($0) }
            return
        }
        // SAFETY: there is room for `capacity` bytes, and there are not more.
        unsafe withUnsafeMutableBytes(of: &short) { room in
            unsafe utf8.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
        shortCount = UInt8(utf8.count)
        long = nil
    }

    var byteCount: Int { long?.count ?? Int(shortCount) }

    /// Gives access to the bytes.
    @inline(__always)
    func withUTF8<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
        if let long { return body(long.span) }
        return body(short.span.extracting(0..<Int(shortCount)))
    }

    /// Made for each caller.
    var string: String {
        withUTF8 { utf8 in
            unsafe utf8.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }
}

/// Byte for byte: one letter that is written in two ways is two.
extension InlineText: Hashable {
    static func == (left: InlineText, right: InlineText) -> Bool {
        left.withUTF8 { left in
            unsafe left.withUnsafeBytes { left in
                right.withUTF8 { right in
                    unsafe right.withUnsafeBytes { unsafe left.elementsEqual($0) }
                }
            }
        }
    }

    func hash(into hasher: inout Hasher) {
        withUTF8 { utf8 in
            unsafe utf8.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        }
    }
}
