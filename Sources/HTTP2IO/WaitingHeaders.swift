import Vocabulary

/// The header fields of requests that are submitted and not yet made frames of, in the order of
/// their streams.
///
/// Not encoded yet: a request that is cancelled before it is sent must leave no trace in the peer's
/// dynamic table.
struct WaitingHeaders: ~Copyable {
    /// A request after the other: its stream and its length, four bytes each, then its fields.
    private var records = ByteQueue(capacity: 16384)
    private static let headByteCount = 8

    /// The most bytes of one request's names and values; a frame holds them in any case.
    static let maxByteCount = 15_000

    /// Adds a request, whose stream is above all before.
    mutating func append(_ block: borrowing HeaderBlock, streamID: Int32) {
        let byteCount =
            unsafe block.bytes.count + HeaderFieldReader.headByteCount * block.fields.count
        precondition(block.bytes.count <= Self.maxByteCount, "headers too long")
        unsafe records.append(upTo: Self.headByteCount + byteCount) { room in
            unsafe room.storeBytes(of: UInt32(streamID), as: UInt32.self)
            unsafe room.storeBytes(of: UInt32(byteCount), toByteOffset: 4, as: UInt32.self)
            let fields = unsafe UnsafeMutableRawBufferPointer(
                rebasing: room[Self.headByteCount...]
            )
            unsafe HeaderFieldReader.write(block, to: fields)
            return room.count
        }
    }

    /// Lends the fields of a stream, and forgets them and all before: those were never sent.
    mutating func take<Value>(
        streamID: Int32,
        _ body: (HeaderFieldReader) -> Value
    ) -> Value {
        while true {
            let (found, byteCount) = unsafe records.withBytes { bytes in
                precondition(bytes.count >= Self.headByteCount, "a stream without headers")
                return unsafe (
                    Int32(bytes.loadUnaligned(as: UInt32.self)),
                    Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
                )
            }
            let end = Self.headByteCount + byteCount
            defer { records.removeFirst(end) }
            guard found == streamID else { continue }
            return unsafe records.withBytes { bytes in
                // SAFETY: the record ends there; the fields are lent for the call.
                unsafe body(
                    HeaderFieldReader(
                        UnsafeRawBufferPointer(rebasing: bytes[Self.headByteCount..<end])
                    )
                )
            }
        }
    }
}

/// Header fields one after the other in memory that somebody lends.
///
/// Each is its indexing, the lengths of name and value in two bytes each, name and value.
@unsafe struct HeaderFieldReader {
    @unsafe struct Field {
        var indexing: HeaderBlock.Indexing
        var name: UnsafeBufferPointer<UInt8>
        var value: UnsafeBufferPointer<UInt8>
    }

    static let headByteCount = 5
    private var position: UnsafeRawPointer?
    private let end: UnsafeRawPointer?

    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe position = bytes.baseAddress
        unsafe end = bytes.baseAddress.map { unsafe $0 + bytes.count }
    }

    /// Of all that is left.
    var byteCount: Int { unsafe Int(bitPattern: end) - Int(bitPattern: position) }

    mutating func next() -> Field? {
        guard let head = unsafe position, unsafe head != end else { return nil }
        // SAFETY: `write` wrote it so.
        let nameCount = unsafe Int(head.loadUnaligned(fromByteOffset: 1, as: UInt16.self))
        let valueCount = unsafe Int(head.loadUnaligned(fromByteOffset: 3, as: UInt16.self))
        let name = unsafe (head + Self.headByteCount).assumingMemoryBound(to: UInt8.self)
        unsafe position = head + (Self.headByteCount + nameCount + valueCount)
        return unsafe Field(
            indexing: HeaderBlock.Indexing(rawValue: head.load(as: UInt8.self)) ?? .neverIndexed,
            name: UnsafeBufferPointer(start: name, count: nameCount),
            value: UnsafeBufferPointer(start: name + nameCount, count: valueCount)
        )
    }

    static func write(_ block: borrowing HeaderBlock, to room: UnsafeMutableRawBufferPointer) {
        unsafe block.bytes.withUnsafeBytes { bytes in
            guard let bytes = bytes.baseAddress, var target = room.baseAddress else { return }
            for field in block.fields {
                unsafe target.storeBytes(of: field.indexing.rawValue, as: UInt8.self)
                unsafe target.storeBytes(
                    of: UInt16(truncatingIfNeeded: field.name.count),
                    toByteOffset: 1,
                    as: UInt16.self
                )
                unsafe target.storeBytes(
                    of: UInt16(truncatingIfNeeded: field.value.count),
                    toByteOffset: 3,
                    as: UInt16.self
                )
                unsafe target += headByteCount
                // SAFETY: the value follows its name; the caller gave room for all of them.
                let byteCount = field.value.upperBound - field.name.lowerBound
                unsafe target.copyMemory(
                    from: bytes + field.name.lowerBound,
                    byteCount: byteCount
                )
                unsafe target += byteCount
            }
        }
    }
}
