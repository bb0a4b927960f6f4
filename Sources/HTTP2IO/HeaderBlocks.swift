import Glibc
import Vocabulary

/// The header fields of submitted requests that are not framed yet, in stream order.
///
/// They are encoded only when they are framed: a request that is cancelled before must not change
/// the peer's dynamic table.
struct RequestQueue: ~Copyable {
    /// The most bytes of one request's names and values; they always fit into one frame.
    static let maxByteCount = 15_000

    /// One record per request: the stream, the number of fields and their byte count (four bytes
    /// each).
    ///
    /// Then follow the fields as in their block, and the bytes.
    private var records = ByteQueue(capacity: 16384)
    private var encoder = HeaderBlockEncoder()
    private static let headByteCount = 12

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func limitTable(to byteCount: Int) {
        encoder.limitTable(to: byteCount)
    }

    /// Adds a request; its stream ID must be higher than all before.
    mutating func append(_ block: borrowing HeaderBlock, streamID: Int32) {
        precondition(block.bytes.count <= Self.maxByteCount, "headers too long")
        let fieldsByteCount = block.fields.count * MemoryLayout<HeaderBlock.Field>.stride
        let byteCount = Self.headByteCount + fieldsByteCount + block.bytes.count
        unsafe records.append(upTo: byteCount) { room in
            unsafe room.storeBytes(of: streamID, as: Int32.self)
            unsafe room.storeBytes(of: Int32(block.fields.count), toByteOffset: 4, as: Int32.self)
            unsafe room.storeBytes(of: Int32(block.bytes.count), toByteOffset: 8, as: Int32.self)
            // SAFETY: the buffer has room for all of them; fields and bytes are trivial types.
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

    /// The stream of the first request.
    var nextStreamID: Int32? {
        if records.isEmpty { return nil }
        // SAFETY: `append` wrote this layout.
        return unsafe records.withBytes { unsafe $0.loadUnaligned(as: Int32.self) }
    }

    /// Drops the first request.
    mutating func dropFirst() {
        records.removeFirst(unsafe records.withBytes { unsafe Self.byteCounts($0).all })
    }

    mutating func removeAll() {
        records.removeAll()
    }

    /// Writes the HEADERS frame of the first request, and drops the request.
    mutating func writeFirst(_ flags: FrameFlags, into output: inout ByteQueue) {
        let start = output.count
        unsafe output.append(upTo: FrameHead.byteCount) { $0.count }
        let (streamID, readByteCount) = unsafe records.withBytes { bytes in
            let (textStart, all) = unsafe Self.byteCounts(bytes)
            // SAFETY: `append` wrote this layout; the fields are valid during the call.
            unsafe encoder.encode(
                HeaderFieldReader(
                    UnsafeRawBufferPointer(rebasing: bytes[Self.headByteCount..<textStart]),
                    UnsafeRawBufferPointer(rebasing: bytes[textStart..<all])
                ),
                into: &output
            )
            return unsafe (bytes.loadUnaligned(as: Int32.self), all)
        }
        records.removeFirst(readByteCount)
        let byteCount = output.count - start
        let head = FrameHead(
            .headers,
            flags,
            streamID: streamID,
            payloadByteCount: byteCount - FrameHead.byteCount
        )
        unsafe output.withLast(byteCount) { unsafe head.write(to: $0) }
    }

    /// Where the text of the first record starts, and where the record ends.
    private static func byteCounts(_ bytes: UnsafeRawBufferPointer) -> (textStart: Int, all: Int) {
        precondition(bytes.count >= headByteCount, "no request is waiting")
        // SAFETY: `append` wrote this layout.
        let fieldCount = unsafe Int(bytes.loadUnaligned(fromByteOffset: 4, as: Int32.self))
        let textByteCount = unsafe Int(bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        let textStart = headByteCount + fieldCount * MemoryLayout<HeaderBlock.Field>.stride
        return (textStart, textStart + textByteCount)
    }
}

/// Reads the fields of a header block from borrowed memory.
@unsafe private struct HeaderFieldReader {
    @unsafe struct Field {
        var indexing: HeaderBlock.Indexing
        var name: UnsafeBufferPointer<UInt8>
        var value: UnsafeBufferPointer<UInt8>

        var nameAndValue: UnsafeBufferPointer<UInt8> {
            // SAFETY: in a HeaderBlock, a value follows its name.
            unsafe UnsafeBufferPointer(start: name.baseAddress, count: name.count + value.count)
        }
    }

    private var position: UnsafeRawPointer?
    private let end: UnsafeRawPointer?
    /// The bytes that the fields point into.
    private let bytes: UnsafeBufferPointer<UInt8>

    /// - Parameters:
    ///   - fields: The block's fields, in their memory layout.
    ///   - bytes: The block's bytes.
    init(_ fields: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer) {
        unsafe position = fields.baseAddress
        unsafe end = fields.baseAddress.map { unsafe $0 + fields.count }
        unsafe self.bytes = bytes.assumingMemoryBound(to: UInt8.self)
    }

    /// The number of remaining fields.
    var count: Int {
        unsafe (Int(bitPattern: end) - Int(bitPattern: position))
            / MemoryLayout<HeaderBlock.Field>.stride
    }
    /// The number of bytes of all names and values.
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

/// Encodes the header blocks of a connection's requests in HPACK (RFC 7541).
///
/// Each field chooses its representation.
///
/// Strings are not Huffman-coded: that would save a sixth of a notification's bytes, and cost as
/// much CPU time as the rest of its path to the socket.
private struct HeaderBlockEncoder {
    private var table = HeaderTable()
    private var memory = FieldMemory()
    /// Names that were indexed once; they are few, and stay here even if their entries were
    /// evicted.
    private var namesSent: [[UInt8]] = []
    /// The peer's lowest limit since the last block; the next block announces it.
    private var lowestLimit: Int?

    /// Applies the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func limitTable(to byteCount: Int) {
        let limit = min(byteCount, HeaderTable.maxSize)
        guard limit != table.limit else { return }
        lowestLimit = min(lowestLimit ?? limit, limit)
        table.limit = limit
        memory.forget()
    }

    /// Appends the encoded block to `output`.
    mutating func encode(_ fields: HeaderFieldReader, into output: inout ByteQueue) {
        var fields = unsafe fields
        // A field's index and two lengths take at most 15 bytes, a table size update at most 10.
        unsafe output.append(upTo: fields.byteCount + 15 * fields.count + 10) { room in
            // SAFETY: the buffer is bytes, and large enough for everything that is written.
            guard let start = room.baseAddress else { return 0 }
            var writer = unsafe HPACKWriter(start.assumingMemoryBound(to: UInt8.self))
            if let lowestLimit {
                unsafe writer.integer(lowestLimit, prefix: 5, pattern: 0x20)
                if lowestLimit < table.limit {
                    unsafe writer.integer(table.limit, prefix: 5, pattern: 0x20)
                }
                self.lowestLimit = nil
            }
            var place = 0
            while let field = unsafe fields.next() {
                unsafe encode(field, at: place, &writer)
                place += 1
            }
            return unsafe writer.count
        }
    }

    @inline(__always)
    private mutating func encode(
        _ field: HeaderFieldReader.Field,
        at place: Int,
        _ writer: inout HPACKWriter
    ) {
        let isWhole = unsafe field.indexing == .indexed
        let known =
            unsafe isWhole
            ? memory.index(at: place, field.nameAndValue, nameByteCount: field.name.count)
            : memory.index(at: place, field.name, nameByteCount: FieldMemory.nameAlone)
        guard let index = known else { return unsafe lookUp(field, at: place, &writer) }
        if isWhole {
            unsafe writer.integer(index, prefix: 7, pattern: 0x80)
        } else {
            unsafe writer.literal(field, name: index, prefix: 4, pattern: 0x10)
        }
    }

    /// Writes a field that `FieldMemory` does not know.
    private mutating func lookUp(
        _ field: HeaderFieldReader.Field,
        at place: Int,
        _ writer: inout HPACKWriter
    ) {
        let fixed = unsafe StaticHeaderTable.find(field.name, field.value)
        let isWhole = unsafe field.indexing == .indexed
        let found =
            unsafe isWhole ? fixed.field ?? table.find(field.name, field.value) : fixed.field
        if let found {
            if isWhole {
                unsafe memory.remember(
                    found,
                    at: place,
                    field.nameAndValue,
                    nameByteCount: field.name.count
                )
            }
            return unsafe writer.integer(found, prefix: 7, pattern: 0x80)
        }
        let name = unsafe fixed.name ?? table.find(field.name, nil)
        if unsafe wantsEntry(field, isNameKnown: name != nil) {
            if !isWhole { unsafe namesSent.append(Array(field.name)) }
            unsafe writer.literal(field, name: name, prefix: 6, pattern: 0x40)
            unsafe table.insert(field.name, field.value)
            return memory.forget()
        }
        unsafe writer.literal(field, name: name, prefix: 4, pattern: 0x10)
        if let name, !isWhole {
            unsafe memory.remember(
                name,
                at: place,
                field.name,
                nameByteCount: FieldMemory.nameAlone
            )
        }
    }

    private func wantsEntry(_ field: HeaderFieldReader.Field, isNameKnown: Bool) -> Bool {
        let isWanted =
            switch unsafe field.indexing {
            case .indexed: true
            // Not again if its entry was evicted: it is indexed once per connection.
            case .nameIndexedOnce:
                !isNameKnown && !namesSent.contains { unsafe $0.elementsEqual(field.name) }
            case .neverIndexed: false
            }
        return unsafe isWanted
            && table.isWorthwhile(
                nameByteCount: field.name.count,
                valueByteCount: field.value.count
            )
    }
}

/// Writes HPACK's primitives into a borrowed buffer that is large enough.
@unsafe private struct HPACKWriter {
    private let start: UnsafeMutablePointer<UInt8>
    private var end: UnsafeMutablePointer<UInt8>

    init(_ start: UnsafeMutablePointer<UInt8>) {
        unsafe self.start = start
        unsafe end = start
    }

    var count: Int { unsafe end - start }

    /// Writes an integer (RFC 7541, 5.1); the pattern is in the bits above the prefix.
    @inline(__always)
    mutating func integer(_ value: Int, prefix: Int, pattern: UInt8) {
        let mask = 1 << prefix &- 1
        guard value >= mask else {
            return unsafe byte(pattern | UInt8(truncatingIfNeeded: value))
        }
        unsafe byte(pattern | UInt8(truncatingIfNeeded: mask))
        unsafe rest(value - mask)
    }

    /// Writes a literal field (RFC 7541, 6.2); a name without an index is written out.
    mutating func literal(
        _ field: HeaderFieldReader.Field,
        name: Int?,
        prefix: Int,
        pattern: UInt8
    ) {
        unsafe integer(name ?? 0, prefix: prefix, pattern: pattern)
        if name == nil { unsafe text(field.name) }
        unsafe text(field.value)
    }

    /// Writes the part of an integer that does not fit into its prefix.
    private mutating func rest(_ value: Int) {
        var rest = value
        while rest >= 128 {
            unsafe byte(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        unsafe byte(UInt8(rest))
    }

    /// Writes a string (RFC 7541, 5.2), without Huffman coding.
    private mutating func text(_ bytes: UnsafeBufferPointer<UInt8>) {
        unsafe integer(bytes.count, prefix: 7, pattern: 0)
        guard let source = bytes.baseAddress else { return }
        unsafe end.update(from: source, count: bytes.count)
        unsafe end += bytes.count
    }

    private mutating func byte(_ value: UInt8) {
        unsafe end.pointee = value
        unsafe end += 1
    }
}

/// Caches where the tables contain the fields of recent blocks, by a field's position in its block.
///
/// Most blocks have the same field at the same position as the block before.
///
/// Must be cleared with every change of the dynamic table, which shifts the indices.
private struct FieldMemory {
    /// A field, or a name alone, that is in a table.
    private struct Entry {
        var index = 0
        /// The length of the name within the text, or `nameAlone`.
        var nameByteCount = 0
        /// The length of name and value, or of the name alone; -1: unused.
        var byteCount = -1
    }

    /// Used instead of the name's length if there is no value.
    static let nameAlone = -1

    /// Fields at later positions, and longer ones, are looked up every time.
    private static let maxFieldCount = 16
    private static let maxByteCount = 64

    private var entries = [Entry](repeating: Entry(), count: maxFieldCount)
    private var texts = [UInt8](repeating: 0, count: maxFieldCount * maxByteCount)

    /// Looks up a field or a name.
    ///
    /// - Parameters:
    ///   - place: The field's position in its block.
    ///   - text: The field's name and value, or its name alone.
    ///   - nameByteCount: The length of the name within the text, or `nameAlone`.
    /// - Returns: Its index in the tables; nil if unknown.
    @inline(__always)
    func index(at place: Int, _ text: UnsafeBufferPointer<UInt8>, nameByteCount: Int) -> Int? {
        guard place < Self.maxFieldCount, let start = text.baseAddress else { return nil }
        let entry = entries[place]
        guard entry.byteCount == text.count, entry.nameByteCount == nameByteCount else {
            return nil
        }
        let isKnown = unsafe texts.withUnsafeBytes { texts in
            guard let known = texts.baseAddress else { return false }
            // SAFETY: every position has room for `maxByteCount`, and no entry is longer.
            return unsafe memcmp(known + place * Self.maxByteCount, start, text.count) == 0
        }
        return isKnown ? entry.index : nil
    }

    mutating func remember(
        _ index: Int,
        at place: Int,
        _ text: UnsafeBufferPointer<UInt8>,
        nameByteCount: Int
    ) {
        guard place < Self.maxFieldCount, text.count <= Self.maxByteCount else { return }
        entries[place] = Entry(index: index, nameByteCount: nameByteCount, byteCount: text.count)
        let start = place * Self.maxByteCount
        // SAFETY: the text is valid during the call; the array checks its own bounds.
        unsafe texts.replaceSubrange(start..<start + text.count, with: text)
    }

    mutating func forget() {
        for place in entries.indices { entries[place].byteCount = -1 }
    }
}

/// The part of the static table (RFC 7541, appendix A) that requests to APNs use.
private enum StaticHeaderTable {
    /// The index of a field, or else that of its name.
    struct Match {
        var field: Int?
        var name: Int?
    }

    /// The first index of the dynamic table.
    static let nextIndex = 62

    static func find(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Match {
        switch name.count {
        case 5 where unsafe equal(name, ":path"): return Match(name: 4)
        case 7 where unsafe equal(name, ":method"):
            if unsafe equal(value, "POST") { return Match(field: 3) }
            return unsafe Match(field: equal(value, "GET") ? 2 : nil, name: 2)
        case 7 where unsafe equal(name, ":scheme"):
            return unsafe Match(field: equal(value, "https") ? 7 : nil, name: 6)
        case 10 where unsafe equal(name, ":authority"): return Match(name: 1)
        case 13 where unsafe equal(name, "authorization"): return Match(name: 23)
        default: return Match()
        }
    }

    private static func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
    }
}

/// The peer's dynamic table as this side has filled it (RFC 7541, 2.3.2).
private struct HeaderTable {
    private struct Entry {
        /// Counted from the first byte that was ever stored.
        var start: Int
        var nameByteCount: Int
        var valueByteCount: Int

        /// The size as defined in RFC 7541, 4.1.
        var size: Int { nameByteCount + valueByteCount + 32 }
    }

    /// The largest table size to use, even if the peer allows more.
    static let maxSize = 4096

    /// Oldest first; names and values are concatenated in the same order.
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    private var droppedByteCount = 0
    private var size = 0
    /// The size that the peer allows; entries that no longer fit are evicted.
    var limit = HeaderTable.maxSize {
        didSet { makeRoom(for: 0) }
    }

    /// The index of the newest entry with this name, and with this value if it is not nil.
    func find(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>?
    ) -> Int? {
        let entries = entries.span
        for position in entries.indices.reversed() {
            let entry = entries[position]
            guard entry.nameByteCount == name.count,
                unsafe value.map({ $0.count == entry.valueByteCount }) ?? true
            else { continue }
            let start = entry.start - droppedByteCount
            guard unsafe areBytes(name, at: start) else { continue }
            if let value = unsafe value, unsafe !areBytes(value, at: start + name.count) {
                continue
            }
            return StaticHeaderTable.nextIndex + entries.count - 1 - position
        }
        return nil
    }

    /// Whether an entry of this size leaves room for others.
    func isWorthwhile(nameByteCount: Int, valueByteCount: Int) -> Bool {
        4 * (nameByteCount + valueByteCount + 32) <= 3 * limit
    }

    /// Adds an entry, and evicts the oldest ones, as the peer will.
    mutating func insert(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let entry = Entry(
            start: droppedByteCount + bytes.count,
            nameByteCount: name.count,
            valueByteCount: value.count
        )
        makeRoom(for: entry.size)
        entries.append(entry)
        unsafe bytes.append(contentsOf: name)
        unsafe bytes.append(contentsOf: value)
        size += entry.size
    }

    /// Evicts entries (RFC 7541, 4.3 and 4.4).
    private mutating func makeRoom(for wanted: Int) {
        var dropped = 0
        while size + wanted > limit, dropped < entries.count {
            size -= entries[dropped].size
            dropped += 1
        }
        guard dropped > 0 else { return }
        let last = entries[dropped - 1]
        let end = last.start + last.nameByteCount + last.valueByteCount
        bytes.removeFirst(end - droppedByteCount)
        droppedByteCount = end
        entries.removeFirst(dropped)
    }

    private func areBytes(_ wanted: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        guard let wantedStart = wanted.baseAddress else { return true }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            // SAFETY: the entry has that many bytes from `start` on.
            return unsafe memcmp(wantedStart, base + start, wanted.count) == 0
        }
    }
}
