/// A short text, stored inline up to a capacity.
///
/// Used for fields that every event has: tens of thousands of events are in memory at a time, and
/// each text would otherwise be an allocation. `capacity` is in bytes of UTF-8, at most 255.
struct InlineText<let capacity: Int>: Sendable {
    /// The bytes, with zeros after the first `shortCount`.
    private var short = InlineArray<capacity, UInt8>(repeating: 0)
    private let shortCount: UInt8
    /// All bytes, if they do not fit into `short`.
    private let long: [UInt8]?

    init(_ utf8: Span<UInt8>) {
        guard utf8.count <= capacity else {
            shortCount = 0
            long = unsafe utf8.withUnsafeBufferPointer { unsafe Array($0) }
            return
        }
        // SAFETY: the buffer has `capacity` bytes, and the guard above limits the text to them.
        unsafe withUnsafeMutableBytes(of: &short) { room in
            unsafe utf8.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
        }
        shortCount = UInt8(utf8.count)
        long = nil
    }

    var byteCount: Int { long?.count ?? Int(shortCount) }

    /// Calls `body` with the bytes.
    @inline(__always)
    func withUTF8<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
        if let long { return body(long.span) }
        return body(short.span.extracting(0..<Int(shortCount)))
    }

    /// The text, allocated on each call.
    var string: String {
        withUTF8 { utf8 in
            unsafe utf8.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }
}

/// Compares bytes: canonically equivalent Unicode texts are different.
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
