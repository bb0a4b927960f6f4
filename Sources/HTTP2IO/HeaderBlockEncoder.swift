import Vocabulary

/// Writes the header blocks of one connection's requests in HPACK (RFC 7541), each field in the
/// representation that it asks for.
///
/// Strings are written as they are: Huffman's code would take a sixth off a notification's bytes,
/// and cost as much CPU time as all the rest of its way to the socket.
struct HeaderBlockEncoder {
    private var table = HeaderTable()
    private var memory = FieldMemory()
    /// The lowest limit of the peer's since the last block, to be told with the next.
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

    /// Writes a field of which nothing is known.
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
            case .nameIndexedOnce: !isNameKnown
            case .neverIndexed: false
            }
        return unsafe isWanted
            && table.isWorthwhile(
                nameByteCount: field.name.count,
                valueByteCount: field.value.count
            )
    }
}

/// Writes HPACK's primitives into room that somebody lends, and that is large enough.
@unsafe private struct HPACKWriter {
    private let start: UnsafeMutablePointer<UInt8>
    private var end: UnsafeMutablePointer<UInt8>

    init(_ start: UnsafeMutablePointer<UInt8>) {
        unsafe self.start = start
        unsafe end = start
    }

    var count: Int { unsafe end - start }

    /// RFC 7541, 5.1; the pattern stands in the bits above the prefix.
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
