import CNghttp2
import Glibc
public import Vocabulary

/// The header blocks of requests on their way into frames.
///
/// nghttp2 makes HEADERS frames with a single field that is never sent; here they get the request's
/// own, in the order in which the frames are made.
struct HeaderQueue: ~Copyable {
    /// The most bytes of one request's names and values; a frame holds them in any case.
    static let maxByteCount = 15_000

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
        // SAFETY: the frame's bytes are valid during the closure; its length is checked first.
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

/// The header fields of requests that are submitted and not yet made frames of, in the order of
/// their streams.
///
/// Not encoded yet: a request that is cancelled before it is sent must leave no trace in the peer's
/// dynamic table.
private struct WaitingHeaders: ~Copyable {
    /// A request after the other: its stream, the number of its fields and the length of their
    /// bytes, four bytes each, then the fields as their block has them, and the bytes.
    private var records = ByteQueue(capacity: 16384)
    private static let headByteCount = 12

    /// Adds a request, whose stream is above all before.
    mutating func append(_ block: borrowing HeaderBlock, streamID: Int32) {
        precondition(block.bytes.count <= HeaderQueue.maxByteCount, "headers too long")
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

    /// Gives access to the fields of a stream, and forgets them and all before: those were never
    /// sent.
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
                // SAFETY: `append` wrote it so; the fields are valid during the call.
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

/// The fields of a header block in borrowed memory.
@unsafe private struct HeaderFieldReader {
    @unsafe struct Field {
        var indexing: HeaderBlock.Indexing
        var name: UnsafeBufferPointer<UInt8>
        var value: UnsafeBufferPointer<UInt8>

        var nameAndValue: UnsafeBufferPointer<UInt8> {
            // SAFETY: a HeaderBlock's value is behind its name.
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

/// Writes the header blocks of one connection's requests in HPACK (RFC 7541), each field in the
/// representation that it asks for.
///
/// Strings are written as they are: Huffman's code would take a sixth off a notification's bytes,
/// and cost as much CPU time as all the rest of its way to the socket.
private struct HeaderBlockEncoder {
    private var table = HeaderTable()
    private var memory = FieldMemory()
    /// Names that have been indexed for their own sake; a few, whatever became of their entries.
    private var namesSent: [[UInt8]] = []
    /// The peer's lowest limit since the last block, to be announced with the next.
    private var lowestLimit: Int?

    /// Takes the peer's SETTINGS_HEADER_TABLE_SIZE.
    mutating func limitTable(to byteCount: Int) {
        let limit = min(byteCount, HeaderTable.maxSize)
        guard limit != table.limit else { return }
        lowestLimit = min(lowestLimit ?? limit, limit)
        table.limit = limit
        memory.forget()
    }

    /// Appends the block to `output`.
    mutating func encode(_ fields: HeaderFieldReader, into output: inout ByteQueue) {
        var fields = unsafe fields
        // A field's index and two lengths take fifteen bytes at most, a change of the table ten.
        unsafe output.append(upTo: fields.byteCount + 15 * fields.count + 10) { room in
            // SAFETY: a queue's room is bytes, and large enough for all that is written.
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

    /// Writes a field that is in no table.
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
            // Not again when its entry has been pushed out: "once" is for the connection.
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

/// Writes HPACK's primitives into borrowed room that is large enough.
@unsafe private struct HPACKWriter {
    private let start: UnsafeMutablePointer<UInt8>
    private var end: UnsafeMutablePointer<UInt8>

    init(_ start: UnsafeMutablePointer<UInt8>) {
        unsafe self.start = start
        unsafe end = start
    }

    var count: Int { unsafe end - start }

    /// RFC 7541, 5.1; the pattern is in the bits above the prefix.
    @inline(__always)
    mutating func integer(_ value: Int, prefix: Int, pattern: UInt8) {
        let mask = 1 << prefix &- 1
        guard value >= mask else {
            return unsafe byte(pattern | UInt8(truncatingIfNeeded: value))
        }
        unsafe byte(pattern | UInt8(truncatingIfNeeded: mask))
        unsafe rest(value - mask)
    }

    /// RFC 7541, 6.2; a name that no table has is written out.
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

    /// What does not fit an integer's prefix.
    private mutating func rest(_ value: Int) {
        var rest = value
        while rest >= 128 {
            unsafe byte(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        unsafe byte(UInt8(rest))
    }

    /// RFC 7541, 5.2, without Huffman's code.
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

/// Where the tables hold the fields of a connection's last blocks, by a field's place in its block:
/// most blocks have in the same place what the one before had there.
///
/// To be forgotten with every change of the dynamic table, which moves the indices.
private struct FieldMemory {
    /// A field, or a name alone, that a table holds.
    private struct Entry {
        var index = 0
        /// `nameAlone`, or how much of the text is the name.
        var nameByteCount = 0
        /// Of name and value, or of the name alone; -1: nothing is known.
        var byteCount = -1
    }

    /// Instead of the name's length: there is no value.
    static let nameAlone = -1

    /// What is further back, or longer, is looked up every time.
    private static let maxFieldCount = 16
    private static let maxByteCount = 64

    private var entries = [Entry](repeating: Entry(), count: maxFieldCount)
    private var texts = [UInt8](repeating: 0, count: maxFieldCount * maxByteCount)

    /// Looks a field, or a name, up.
    ///
    /// - Parameters:
    ///   - place: The field's place in its block.
    ///   - text: The field's name and value, or its name alone.
    ///   - nameByteCount: How much of the text is the name, or `nameAlone`.
    /// - Returns: Its index in the tables; nil if that is not known.
    @inline(__always)
    func index(at place: Int, _ text: UnsafeBufferPointer<UInt8>, nameByteCount: Int) -> Int? {
        guard place < Self.maxFieldCount, let start = text.baseAddress else { return nil }
        let entry = entries[place]
        guard entry.byteCount == text.count, entry.nameByteCount == nameByteCount else {
            return nil
        }
        let isKnown = unsafe texts.withUnsafeBytes { texts in
            guard let known = texts.baseAddress else { return false }
            // SAFETY: every place has room for `maxByteCount`, and no entry is longer.
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
        // SAFETY: the text is valid during the call; the array looks after its own bounds.
        unsafe texts.replaceSubrange(start..<start + text.count, with: text)
    }

    mutating func forget() {
        for place in entries.indices { entries[place].byteCount = -1 }
    }
}

/// The static table (RFC 7541, appendix A), as far as requests to APNs need it.
private enum StaticHeaderTable {
    /// The index of a field, or else of its name.
    struct Match {
        var field: Int?
        var name: Int?
    }

    /// The dynamic table's first index.
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
        /// Counts from the first byte that was ever kept.
        var start: Int
        var nameByteCount: Int
        var valueByteCount: Int

        /// RFC 7541, 4.1.
        var size: Int { nameByteCount + valueByteCount + 32 }
    }

    /// The largest table that is made use of, whatever the peer allows.
    static let maxSize = 4096

    /// Oldest first; names and values of the entries in their order.
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    private var droppedByteCount = 0
    private var size = 0
    /// What the peer allows; entries that do not fit any more are dropped.
    var limit = HeaderTable.maxSize {
        didSet { makeRoom(for: 0) }
    }

    /// The index of the newest entry of that name, and of that value if it is not nil.
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

    /// Whether an entry of these sizes leaves room for others.
    func isWorthwhile(nameByteCount: Int, valueByteCount: Int) -> Bool {
        4 * (nameByteCount + valueByteCount + 32) <= 3 * limit
    }

    /// Adds an entry that is worthwhile, and drops the oldest as the peer will.
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

    /// RFC 7541, 4.3 and 4.4.
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

extension HeaderBlock {
    /// Whether every value may be in HTTP (RFC 9113, 8.2.1).
    ///
    /// A value may not hold NUL, CR or LF, nor begin or end with white space: a producer's text
    /// must not break the framing.
    public var hasValidValues: Bool {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            let hasControls = unsafe Self.hasControls(bytes)
            // SAFETY: a HeaderBlock's ranges lie in its bytes.
            for field in fields {
                let value = unsafe UnsafeBufferPointer(rebasing: bytes[field.value])
                guard unsafe Self.isValid(value, hasControls: hasControls) else {
                    return false
                }
            }
            return true
        }
    }

    private static func isValid(
        _ value: UnsafeBufferPointer<UInt8>,
        hasControls: Bool
    ) -> Bool {
        if hasControls {
            return unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        }
        return unsafe value.first != UInt8(ascii: " ") && value.last != UInt8(ascii: " ")
    }

    /// Whether any byte is a control character, which few requests have.
    ///
    /// Looks at all bytes, because a loop that cannot end early is one over vectors.
    private static func hasControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            found |= (byte < 0x20 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }
}
