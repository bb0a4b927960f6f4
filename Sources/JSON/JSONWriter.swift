/// Appends JSON to a byte buffer; inserts the commas.
///
/// The caller must follow the grammar: a name before each value of an object, and an end for each
/// beginning. Whatever a string contains, the output contains no line break and no terminal control
/// character: these are written as equivalent escapes.
public struct JSONWriter {
    /// The buffer's initial contents, followed by what was written so far.
    public private(set) var bytes: [UInt8]
    private var needsComma = false

    public init(buffer: consuming [UInt8] = []) {
        bytes = buffer
    }

    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    public mutating func name(_ text: String) {
        string(text)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a name known to need no escapes.
    public mutating func name(plain text: StaticString) {
        append(atMost: text.utf8CodeUnitCount + Self.nameMarks) { $0.write(name: text) }
        needsComma = false
    }

    public mutating func null() { literal("null") }

    public mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    private mutating func literal(_ text: StaticString) {
        append(atMost: text.utf8CodeUnitCount) { $0.write(literal: text) }
    }

    public mutating func integer(_ value: some BinaryInteger) { raw("\(value)".utf8) }

    /// The same for the most common type: generic code is not specialised across modules.
    public mutating func integer(_ value: Int64) {
        append(atMost: Self.longestInteger) { $0.write(decimal: value) }
    }

    /// Writes a number; values without a JSON number (infinity, NaN) become null.
    public mutating func number(_ value: Double) {
        value.isFinite ? raw("\(value)".utf8) : null()
    }

    public mutating func string(_ text: String) { string(utf8: text.utf8.span) }

    /// Writes a string given as UTF-8 bytes.
    public mutating func string(utf8 content: Span<UInt8>) {
        if Self.needsEscape(content) {
            escapedString(content)
        } else {
            append(atMost: content.count + Self.stringMarks) { $0.write(string: content) }
        }
    }

    /// Writes a string that the caller appends; its characters must need no escapes.
    public mutating func plainString(_ append: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a string or null.
    public mutating func string(_ text: String?) {
        if let text { string(text) } else { null() }
    }

    /// Appends a complete value that is already JSON.
    public mutating func raw(_ json: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Appends a complete value, or members of an object, that are already JSON.
    public mutating func raw(utf8 json: Span<UInt8>) {
        append(atMost: json.count) { $0.write(json) }
    }

    /// Appends a complete value that is already JSON.
    public mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Writes a tree.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .number(let value): raw(value.text.utf8)
        case .string(let text): string(text)
        case .array(let items):
            beginArray()
            for item in items { self.value(item) }
            endArray()
        case .object(let object):
            beginObject()
            for member in object.members {
                name(member.name)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func begin(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    /// Reserves room once, for a comma if needed and for `count` bytes.
    @inline(__always)
    private mutating func append(atMost count: Int, _ write: (inout TextRoom) -> Void) {
        let isNext = needsComma
        TextRoom.fill(&bytes, atMost: count + 1) { room in
            if isNext { room.write(UInt8(ascii: ",")) }
            write(&room)
        }
        needsComma = true
    }

    private mutating func escapedString(_ content: Span<UInt8>) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        let text = unsafe content.withUnsafeBufferPointer {
            unsafe String(decoding: $0, as: UTF8.self)
        }
        for scalar in text.unicodeScalars { appendEscaped(scalar) }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": bytes.append(contentsOf: "\\\"".utf8)
        case "\\": bytes.append(contentsOf: "\\\\".utf8)
        case "\n": bytes.append(contentsOf: "\\n".utf8)
        case "\r": bytes.append(contentsOf: "\\r".utf8)
        case "\t": bytes.append(contentsOf: "\\t".utf8)
        case _ where scalar.steersTerminals:
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                bytes.append(contentsOf: "\\u".utf8)
                bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.count))
                bytes.append(contentsOf: digits.utf8)
            }
        default: bytes.append(contentsOf: String(scalar).utf8)
        }
    }
}

extension Unicode.Scalar {
    /// Whether it could control a terminal, start another line, or be invisible.
    ///
    /// These are control characters of 7 and 8 bits, line separators, bidirectional marks and
    /// invisible tags.
    public var steersTerminals: Bool {
        if isASCII { return !(0x20...0x7E).contains(value) }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

/// Complete members of objects, whose names are known to need no escapes.
extension JSONWriter {
    /// Writes a string or null.
    public mutating func member(_ name: StaticString, _ text: String?) {
        guard let text else { return member(name, literal: "null") }
        member(name, utf8: text.utf8.span)
    }

    /// Writes a string of characters that need no escapes, or null.
    public mutating func member(_ name: StaticString, plain text: String?) {
        guard let text else { return member(name, literal: "null") }
        member(name, plain: text.utf8.span)
    }

    /// Writes a string of ASCII characters that need no escapes.
    public mutating func member(_ name: StaticString, plain content: Span<UInt8>) {
        let byteCount = name.utf8CodeUnitCount + content.count + Self.nameMarks + Self.stringMarks
        append(atMost: byteCount) { room in
            room.write(name: name)
            room.write(string: content)
        }
    }

    public mutating func member(_ name: StaticString, _ value: Int64) {
        append(atMost: name.utf8CodeUnitCount + Self.nameMarks + Self.longestInteger) { room in
            room.write(name: name)
            room.write(decimal: value)
        }
    }

    /// Writes a string of bytes known to be UTF-8.
    public mutating func member(_ name: StaticString, utf8 content: Span<UInt8>) {
        if Self.needsEscape(content) {
            self.name(plain: name)
            escapedString(content)
        } else {
            member(name, plain: content)
        }
    }

    private mutating func member(_ name: StaticString, literal: StaticString) {
        self.name(plain: name)
        self.literal(literal)
    }
}

extension JSONWriter {
    /// Two quotes and a colon.
    private static let nameMarks = 3
    /// Two quotes.
    private static let stringMarks = 2
    /// The number of characters of the smallest `Int64`.
    private static let longestInteger = 20

    /// Whether the string contains a quote, a backslash or a control character (RFC 8259, 7), or a
    /// non-ASCII character that could control a terminal.
    ///
    /// Checks eight bytes at a time; some of the last eight may be checked twice.
    private static func needsEscape(_ content: Span<UInt8>) -> Bool {
        // SAFETY: bytes have no padding between them.
        let bytes = unsafe content.bytes
        let count = bytes.byteCount
        guard count >= 8 else {
            // Missing bytes are filled with letters.
            var word: UInt64 = 0x6161_6161_6161_6161
            for index in content.indices { word = word << 8 | UInt64(content[index]) }
            return special(word) != 0
        }
        // SAFETY: any eight bytes are a valid integer, and the load checks its bounds.
        let last = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
        var found = special(last)
        for offset in stride(from: 0, to: count - 8, by: 8) {
            let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
            found |= special(word)
        }
        return found != 0
    }

    /// Returns a nonzero word if one of the eight bytes may need an escape, else zero.
    ///
    /// Subtracting n sets the high bit of a byte below n that did not have it before. To find a
    /// given character, an exclusive or makes such bytes 0, that is, below 1. Only a byte that is
    /// found itself can cause a borrow in the next one.
    private static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest = ones << 7
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let deletes = word ^ (ones &* 0x7F)
        let isControl = (word &- (ones << 5)) & ~word
        let isQuote = (quotes &- ones) & ~quotes
        let isBackslash = (backslashes &- ones) & ~backslashes
        let isDelete = (deletes &- ones) & ~deletes
        return (word | isControl | isQuote | isBackslash | isDelete) & highest
    }
}

/// Reserved room for text, filled from its start.
///
/// Writing checks neither whether the array is shared nor its capacity: both were checked once.
/// Writing more than the room holds traps.
@safe private struct TextRoom: ~Copyable {
    // SAFETY: while `fill` runs, only this value accesses the memory from `next` to `end`.
    private var next: UnsafeMutablePointer<UInt8>
    private let end: UnsafeMutablePointer<UInt8>

    /// Appends the output of `write`, at most `byteCount` bytes.
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
        // SAFETY: such a literal is stored at a fixed address forever.
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

    /// Writes a number's digits: at most 20 bytes, including the sign.
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

    @inline(__always)
    mutating func write(name: StaticString) {
        write(UInt8(ascii: "\""))
        write(literal: name)
        write(UInt8(ascii: "\""))
        write(UInt8(ascii: ":"))
    }

    @inline(__always)
    mutating func write(string content: Span<UInt8>) {
        write(UInt8(ascii: "\""))
        write(content)
        write(UInt8(ascii: "\""))
    }
}
