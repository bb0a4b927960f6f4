/// HTTP header fields, in order, in one reusable buffer.
///
/// Names are in lower case (RFC 9113, 8.2). Refilling a block within its existing capacity
/// allocates nothing.
public struct HeaderBlock: Hashable, Sendable {
    /// How HPACK may encode a field (RFC 7541, 6.2).
    public enum Indexing: UInt8, Hashable, Sendable, BitwiseCopyable {
        /// Literal with incremental indexing: the same value is likely to be sent again.
        case indexed
        /// Indexed once per connection, to put the name into the table; later as an indexed name
        /// with a literal value that is not indexed.
        case nameIndexedOnce
        /// Literal never indexed: the value is secret or never repeats.
        case neverIndexed
    }

    /// A field's position in the block's bytes; the value follows the name.
    ///
    /// Kept small, because it is copied for every request.
    public struct Field: Hashable, Sendable, BitwiseCopyable {
        private let start: UInt32
        private let middle: UInt32
        private let end: UInt32
        public let indexing: Indexing

        init(name: Range<Int>, value: Range<Int>, indexing: Indexing) {
            start = UInt32(name.lowerBound)
            middle = UInt32(name.upperBound)
            end = UInt32(value.upperBound)
            self.indexing = indexing
        }

        public var name: Range<Int> { Int(start)..<Int(middle) }
        public var value: Range<Int> { Int(middle)..<Int(end) }
    }

    public private(set) var bytes: [UInt8] = []
    public private(set) var fields: [Field] = []

    public init() {}

    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Replaces the contents with another block's fields, reusing the existing capacity.
    public mutating func replaceAll(with other: HeaderBlock) {
        removeAll()
        bytes.append(contentsOf: other.bytes)
        fields.append(contentsOf: other.fields)
    }

    /// Reserves capacity for a number of fields and for the bytes of their names and values.
    public mutating func reserveCapacity(fieldCount: Int, byteCount: Int) {
        fields.reserveCapacity(fieldCount)
        bytes.reserveCapacity(byteCount)
    }

    public mutating func append(_ name: String, _ value: String, indexing: Indexing = .indexed) {
        append(name.utf8.span, value.utf8.span, indexing: indexing)
    }

    /// Appends a field given as bytes.
    public mutating func append(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>,
        indexing: Indexing = .indexed
    ) {
        append(name, "".utf8.span, value, indexing)
    }

    /// Appends a field whose value is the concatenation of two parts.
    public mutating func append(
        _ name: String,
        _ valueStart: String,
        _ valueEnd: String,
        indexing: Indexing
    ) {
        append(name.utf8.span, valueStart.utf8.span, valueEnd.utf8.span, indexing)
    }

    /// Appends a field whose value is the concatenation of two parts.
    public mutating func append(
        _ name: String,
        _ valueStart: String,
        _ valueEnd: [UInt8],
        indexing: Indexing
    ) {
        append(name.utf8.span, valueStart.utf8.span, valueEnd.span, indexing)
    }

    /// Appends a field whose value `write` appends to the buffer it is given.
    public mutating func append(
        _ name: String,
        indexing: Indexing,
        writingValue write: (inout [UInt8]) -> Void
    ) {
        let nameStart = bytes.count
        append(name)
        let valueStart = bytes.count
        write(&bytes)
        fields.append(
            Field(name: nameStart..<valueStart, value: valueStart..<bytes.count, indexing: indexing)
        )
    }

    /// Removes the field at an index and all fields after it.
    public mutating func removeFields(from number: Int) {
        guard number < fields.count else { return }
        bytes.removeLast(bytes.count - fields[number].name.lowerBound)
        fields.removeLast(fields.count - number)
    }

    /// Overwrites the last bytes of a field's value with a device token.
    public mutating func overwriteValueEnd(ofField number: Int, with token: DeviceToken) {
        token.withDigits { digits in
            unsafe withValueEnd(ofField: number, byteCount: digits.count) { room in
                guard let target = room.baseAddress else { return }
                // SAFETY: the buffer is as long as the token.
                unsafe Self.copy(digits, to: target)
            }
        }
    }

    /// Overwrites the last 36 bytes of a field's value with the text of `id`.
    public mutating func overwriteValueEnd(ofField number: Int, with id: APNsID) {
        // SAFETY: the buffer is as long as an identifier's text.
        unsafe withValueEnd(ofField: number, byteCount: APNsID.textByteCount) {
            unsafe id.writeUTF8(to: $0)
        }
    }

    private mutating func withValueEnd(
        ofField number: Int,
        byteCount: Int,
        _ body: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let value = fields[number].value
        precondition(byteCount <= value.count, "more bytes than the value has")
        unsafe bytes.withUnsafeMutableBytes { bytes in
            let end = value.upperBound - byteCount..<value.upperBound
            unsafe body(UnsafeMutableRawBufferPointer(rebasing: bytes[end]))
        }
    }

    /// The value of the first field with this name, as bytes.
    public func value(of name: String) -> ArraySlice<UInt8>? {
        for field in fields where bytes[field.name].elementsEqual(name.utf8) {
            return bytes[field.value]
        }
        return nil
    }

    /// The value of the first field with this name, as text.
    public func text(of name: String) -> String? {
        value(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    private mutating func append(_ text: String) { bytes.append(text: text) }

    private mutating func append(
        _ name: Span<UInt8>,
        _ valueStart: Span<UInt8>,
        _ valueEnd: Span<UInt8>,
        _ indexing: Indexing
    ) {
        let start = bytes.count
        let byteCount = name.count + valueStart.count + valueEnd.count
        bytes.append(addingCapacity: byteCount) { room in
            unsafe room.withUnsafeMutableBufferPointer { buffer, count in
                guard let room = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
                // SAFETY: the buffer has room for all three.
                unsafe Self.copy(name, to: room)
                unsafe Self.copy(valueStart, to: room + name.count)
                unsafe Self.copy(valueEnd, to: room + (byteCount - valueEnd.count))
                count = byteCount
            }
        }
        let middle = start + name.count
        fields.append(
            Field(name: start..<middle, value: middle..<start + byteCount, indexing: indexing)
        )
    }

    private static func copy(_ text: Span<UInt8>, to target: UnsafeMutableRawPointer) {
        unsafe text.withUnsafeBytes { text in
            guard let source = text.baseAddress, unsafe !text.isEmpty else { return }
            unsafe target.copyMemory(from: source, byteCount: text.count)
        }
    }
}

extension [UInt8] {
    /// Appends the text as UTF-8; copying a span is one memory copy.
    public mutating func append(text: String) {
        let text = text.utf8.span
        unsafe text.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
