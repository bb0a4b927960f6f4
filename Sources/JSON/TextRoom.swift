/// Room that was made for text, filled from its beginning.
///
/// Pieces are written without a look at the array that the room belongs to: whether it is shared,
/// and large enough, was found out once. A piece that the room is too small for is a trap.
@safe struct TextRoom: ~Copyable {
    // SAFETY: the memory from `next` to `end` is the room's alone for as long as `fill` runs.
    private var next: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    /// Appends what `write` writes, which is at most so many bytes.
    @inline(__always)
    static func fill(
        _ bytes: inout [UInt8],
        atMost byteCount: Int,
        _ write: (inout TextRoom) -> Void
    ) {
        bytes.append(addingCapacity: byteCount) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                guard let start = buffer.baseAddress else { return }
                var room = unsafe TextRoom(next: start, end: start + buffer.count)
                write(&room)
                count = unsafe room.next - start
            }
        }
    }

    @inline(__always)
    private init(next: UnsafeMutablePointer<UInt8>, end: UnsafeMutablePointer<UInt8>) {
        unsafe self.next = next
        unsafe self.end = end
    }

    @inline(__always)
    mutating func write(_ byte: UInt8) {
        unsafe precondition(next < end, "more text than there is room for")
        unsafe next.initialize(to: byte)
        unsafe next += 1
    }

    @inline(__always)
    mutating func write(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe write($0) }
    }

    /// Writes a literal of more than one character.
    @inline(__always)
    mutating func write(literal: StaticString) {
        // SAFETY: such a literal has its bytes at an address, for ever.
        unsafe write(
            UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
        )
    }

    @inline(__always)
    private mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
        unsafe precondition(bytes.count <= end - next, "more text than there is room for")
        guard let start = bytes.baseAddress else { return }
        unsafe next.initialize(from: start, count: bytes.count)
        unsafe next += bytes.count
    }

    /// Writes a number's digits: 20 bytes at most, with the sign.
    @inline(__always)
    mutating func write(decimal value: Int64) {
        var rest = value.magnitude
        if value < 0 { write(UInt8(ascii: "-")) }
        if rest < 10 { return write(Self.digit(rest)) }
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var start = digits.count
        repeat {
            start -= 1
            digits[start] = Self.digit(rest % 10)
            rest /= 10
        } while rest > 0
        write(digits.span.extracting(start...))
    }

    @inline(__always)
    private static func digit(_ value: UInt64) -> UInt8 {
        UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value)
    }
}
