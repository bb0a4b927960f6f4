/// Appends JSON to a byte buffer, and puts the commas.
///
/// The caller keeps to the grammar: a name before each value of an object, and as many ends as
/// beginnings.
package struct JSONWriter {
    /// What was written so far, behind what the buffer held.
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    package init(buffer: consuming [UInt8] = []) {
        bytes = buffer
    }

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    package mutating func name(_ text: String) {
        string(text)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a name that is known to need no escape.
    package mutating func name(plain text: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        // SAFETY: a static string of more than one scalar has its bytes at an address, for ever.
        unsafe bytes.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        )
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func null() { raw("null".utf8) }

    package mutating func bool(_ value: Bool) { raw((value ? "true" : "false").utf8) }

    package mutating func integer(_ value: some BinaryInteger) { raw("\(value)".utf8) }

    /// The same for the common type: generic code is not specialised in other modules.
    package mutating func integer(_ value: Int64) {
        separate()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var weight: UInt64 = 1
        while rest / weight >= 10 { weight *= 10 }
        while weight > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / weight))
            rest %= weight
            weight /= 10
        }
    }

    /// Writes a number; what JSON has no number for (infinity, NaN) becomes null.
    package mutating func number(_ value: Double) {
        value.isFinite ? raw("\(value)".utf8) : null()
    }

    package mutating func string(_ text: String) { string(utf8: text.utf8.span) }

    /// Writes a string of UTF-8 bytes.
    package mutating func string(utf8 content: Span<UInt8>) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        if Self.needsEscape(content) {
            for index in content.indices { appendEscaped(content[index]) }
        } else {
            unsafe content.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a string that the caller appends, of characters that need no escape.
    package mutating func plainString(_ append: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        append(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Looks at all bytes, because a loop that cannot end early is one over vectors.
    private static func needsEscape(_ content: Span<UInt8>) -> Bool {
        var isFound = false
        for index in content.indices {
            let byte = content[index]
            let isSpecial = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20
            isFound = isFound || isSpecial
        }
        return isFound
    }

    /// Writes a string or null.
    package mutating func string(_ text: String?) {
        if let text { string(text) } else { null() }
    }

    /// Appends a whole value that is JSON already.
    package mutating func raw(_ json: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Appends a whole value that is JSON already.
    package mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Writes a tree.
    package mutating func value(_ value: JSONValue) {
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

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
        case UInt8(ascii: "\r"): bytes.append(contentsOf: "\\r".utf8)
        case UInt8(ascii: "\t"): bytes.append(contentsOf: "\\t".utf8)
        case 0..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            let low = byte & 15
            bytes.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") - 10 + low)
        default: bytes.append(byte)
        }
    }
}
