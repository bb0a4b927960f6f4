import Vocabulary

/// The header fields of requests that are submitted and not yet made frames of, in the order of
/// their streams.
///
/// Not encoded yet: a request that is cancelled before it is sent must leave no trace in the peer's
/// dynamic table.
struct WaitingHeaders: ~Copyable {
    /// A request after the other: its stream, the number of its fields and the length of their
    /// bytes, four bytes each, then the fields as their block has them, and the bytes.
    private var records = ByteQueue(capacity: 16384)
    private static let headByteCount = 12

    /// The most bytes of one request's names and values; a frame holds them in any case.
    static let maxByteCount = 15_000

    /// Adds a request, whose stream is above all before.
    mutating func append(_ block: borrowing HeaderBlock, streamID: Int32) {
        precondition(block.bytes.count <= Self.maxByteCount, "headers too long")
        let fieldsByteCount = block.fields.count * MemoryLayout<HeaderBlock.Field>.stride
        let byteCount = Self.headByteCount + fieldsByteCount + block.bytes.count
        unsafe records.append(upTo: byteCount) { room in
            unsafe room.storeBytes(of: UInt32(streamID), as: UInt32.self)
            unsafe room.storeBytes(of: UInt32(block.fields.count), toByteOffset: 4, as: UInt32.self)
            unsafe room.storeBytes(of: UInt32(block.bytes.count), toByteOffset: 8, as: UInt32.self)
            // SAFETY: the room is for all of them; fields and bytes are plain memory.
            unsafe block.fields.withUnsafeBytes { fields in
                unsafe UnsafeMutableRawBufferPointer(rebasing: room[Self.headByteCount...])
                    .copyMemory(from: fields)
            }
            unsafe block.bytes.withUnsafeBytes { bytes in
                unsafe UnsafeMutableRawBufferPointer(
                    rebasing: room[(Self.headByteCount + fieldsByteCount)...]
                ).copyMemory(from: bytes)
            }
            return byteCount
        }
    }

    /// Lends the fields of a stream, and forgets them and all before: those were never sent.
    mutating func take<Value>(
        streamID: Int32,
        _ body: (HeaderFieldReader) -> Value
    ) -> Value {
        while true {
            let (found, fieldCount, textByteCount) = unsafe records.withBytes { bytes in
                precondition(bytes.count >= Self.headByteCount, "a stream without headers")
                return unsafe (
                    Int32(bytes.loadUnaligned(as: UInt32.self)),
                    Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)),
                    Int(bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
                )
            }
            let textStart =
                Self.headByteCount + fieldCount * MemoryLayout<HeaderBlock.Field>.stride
            defer { records.removeFirst(textStart + textByteCount) }
            guard found == streamID else { continue }
            return unsafe records.withBytes { bytes in
                // SAFETY: `append` wrote it so; the fields are lent for the call.
                unsafe body(
                    HeaderFieldReader(
                        UnsafeRawBufferPointer(rebasing: bytes[Self.headByteCount..<textStart]),
                        UnsafeRawBufferPointer(
                            rebasing: bytes[textStart..<textStart + textByteCount]
                        )
                    )
                )
            }
        }
    }
}

/// The fields of a header block in memory that somebody lends.
@unsafe struct HeaderFieldReader {
    @unsafe struct Field {
        var indexing: HeaderBlock.Indexing
        var name: UnsafeBufferPointer<UInt8>
        var value: UnsafeBufferPointer<UInt8>

        var nameAndValue: UnsafeBufferPointer<UInt8> {
            // SAFETY: a HeaderBlock's value stands behind its name.
            unsafe UnsafeBufferPointer(start: name.baseAddress, count: name.count + value.count)
        }
    }

    private var position: UnsafeRawPointer?
    private let end: UnsafeRawPointer?
    /// What the fields point into.
    private let bytes: UnsafeBufferPointer<UInt8>

    /// - Parameters:
    ///   - fields: The block's, as they lie in memory.
    ///   - bytes: The block's.
    init(_ fields: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        unsafe position = fields.baseAddress
        unsafe end = fields.baseAddress.map { unsafe $0 + fields.count }
        unsafe self.bytes = bytes.assumingMemoryBound(to: UInt8.self)
    }

    /// Of all that are left.
    var count: Int {
        unsafe (Int(bitPattern: end) - Int(bitPattern: position))
            / MemoryLayout<HeaderBlock.Field>.stride
    }
    /// Of all names and values.
    var byteCount: Int { unsafe bytes.count }

    mutating func next() -> Field? {
        guard let head = unsafe position, unsafe head != end,
            let start = unsafe bytes.baseAddress
        else { return nil }
        unsafe position = head + MemoryLayout<HeaderBlock.Field>.stride
        // SAFETY: a HeaderBlock's ranges lie in its bytes.
        let field = unsafe head.loadUnaligned(as: HeaderBlock.Field.self)
        let (name, value) = (field.name, field.value)
        return unsafe Field(
            indexing: field.indexing,
            name: UnsafeBufferPointer(start: start + name.lowerBound, count: name.count),
            value: UnsafeBufferPointer(start: start + value.lowerBound, count: value.count)
        )
    }
}
