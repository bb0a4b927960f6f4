import CSimdjson

/// A reusable parser, together with the last document it parsed.
///
/// Parsing copies no strings and converts no numbers: the tape contains source positions, and
/// values are read from the source on request. Nothing is allocated once the buffers have reached
/// the documents' size. Objects may contain repeated names; callers must check for them if they
/// matter.
///
/// A copy keeps the same document when the original parses another one, which then allocates a new
/// tape. Copies share the parser, so all of them belong to one thread.
public struct JSONDocument {
    private let parser: Parser
    /// Two words per entry, in the layout of `hg_json_parse`.
    public private(set) var tape: [UInt64]
    private(set) var entryCount = 0
    /// The document's text and any bytes after it; empty after a failure.
    public private(set) var source: [UInt8] = []
    /// The length of the text alone.
    public private(set) var byteCount = 0

    /// Makes a parser.
    ///
    /// Traps if simdjson does not support the CPU, or if out of memory.
    public init(limits: JSONLimits = JSONLimits()) {
        parser = Parser(limits)
        tape = Array(repeating: 0, count: 512)
    }

    /// Owns a C parser, which keeps no state of a document after parsing it.
    @safe private final class Parser {
        // SAFETY: created in `init`, freed only in `deinit`, and never passed out.
        private let handle: OpaquePointer

        init(_ limits: JSONLimits) {
            let maxByteCount = min(max(limits.maxByteCount, 0), Int(hg_json_longest_text))
            let parser = unsafe hg_json_parser_new(
                UInt32(maxByteCount),
                UInt32(clamping: min(max(limits.maxDepth, 1), 100_000))
            )
            guard let parser = unsafe parser else { preconditionFailure("no JSON parser") }
            unsafe handle = unsafe parser
        }

        deinit { unsafe hg_json_parser_free(handle) }

        /// Fills the tape as far as its capacity allows.
        func run(_ bytes: [UInt8], upTo end: Int, _ tape: inout [UInt64]) -> hg_json_result {
            // SAFETY: the capacity is counted in entries of two words.
            unsafe tape.withUnsafeMutableBufferPointer { tape in
                unsafe bytes.withUnsafeBufferPointer { bytes in
                    unsafe hg_json_parse(
                        handle,
                        bytes.baseAddress,
                        end,
                        tape.baseAddress,
                        tape.count / 2
                    )
                }
            }
        }
    }

    /// Parses a text; the previous document is gone even after a failure.
    public mutating func parse(_ bytes: [UInt8]) throws(JSONError) {
        try parse(bytes, upTo: bytes.count)
    }

    /// Parses the first bytes as a text; the previous document is gone even after a failure.
    public mutating func parse(_ bytes: [UInt8], upTo end: Int) throws(JSONError) {
        precondition(0...bytes.count ~= end, "a text ends where its bytes do, or before")
        var result = parser.run(bytes, upTo: end, &tape)
        if result.status == hg_json_error_tape {
            tape = Array(repeating: 0, count: Int(result.entry_count) * 2 + 512)
            result = parser.run(bytes, upTo: end, &tape)
        }
        guard result.status == hg_json_ok else {
            entryCount = 0
            source = []
            byteCount = 0
            throw JSONError(result)
        }
        entryCount = Int(result.entry_count)
        source = bytes
        byteCount = end
    }
}

/// Navigation from the root.
extension JSONDocument {
    /// The whole document's value.
    ///
    /// Traps if nothing was parsed, or the last `parse` failed.
    public var root: JSONNode {
        precondition(entryCount > 0, "no document")
        return node(at: 0)
    }

    /// The node of a tape entry; traps if the index is beyond the tape.
    @inline(__always)
    public func node(at index: Int) -> JSONNode {
        JSONNode(index: index, span: tape[2 &* index], shape: tape[2 &* index &+ 1])
    }

    /// A cursor before the first child of an object or array; scalars have none.
    @inline(__always)
    public func children(of container: JSONNode) -> JSONCursor {
        let count = container.isObject || container.isArray ? container.count : 0
        return JSONCursor(index: container.index &+ 1, remaining: count)
    }

    /// The next item of an array.
    @inline(__always)
    public func nextItem(_ cursor: inout JSONCursor) -> JSONNode? {
        guard cursor.remaining > 0 else { return nil }
        let item = node(at: cursor.index)
        cursor.remaining &-= 1
        cursor.index = item.next
        return item
    }

    /// The next member of an object, in source order.
    @inline(__always)
    public func nextMember(
        _ cursor: inout JSONCursor
    ) -> (name: JSONNode, value: JSONNode)? {
        guard cursor.remaining > 0 else { return nil }
        let name = node(at: cursor.index)
        let value = node(at: cursor.index &+ 1)
        cursor.remaining &-= 1
        cursor.index = value.next
        return (name, value)
    }
}

/// The contents of strings and numbers, and the positions of values.
extension JSONDocument {
    /// The bytes of a string with resolved escapes; empty for any other value.
    ///
    /// A string without escapes is a slice of the source, without a copy.
    public func content(of node: JSONNode) -> ArraySlice<UInt8> {
        guard node.isString else { return [] }
        guard node.kind == .escapedString else { return source[node.contentRange] }
        return StringContent.unescaped(source[node.contentRange])?[...] ?? []
    }

    /// A string's content; nil for any other value.
    public func string(_ node: JSONNode) -> String? {
        guard node.isString else { return nil }
        return withContent(of: node) { content in
            unsafe content.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The same, but returns `known` if it has the same content, which avoids an allocation.
    public func string(_ node: JSONNode, reusing known: String) -> String? {
        guard node.kind == .string,
            StringContent.isEqual(source.span.extracting(node.contentRange), known.utf8.span)
        else { return string(node) }
        return known
    }

    /// Whether a pattern matches anywhere in a string; false for any other value.
    public func matches(_ node: JSONNode, _ pattern: TextPattern) -> Bool {
        node.isString && withContent(of: node) { pattern.matches($0) }
    }

    /// Passes the content to `body`, without a reference count.
    @inline(__always)
    public func withContent<R>(of node: JSONNode, _ body: (Span<UInt8>) -> R) -> R {
        if node.kind == .escapedString { return body(content(of: node).span) }
        return body(source.span.extracting(node.contentRange))
    }

    /// A string's length in Unicode scalars, as JSON Schema counts it (Validation, 6.3.1).
    public func scalarCount(of node: JSONNode) -> Int {
        guard node.isString else { return 0 }
        return withContent(of: node) { content in
            var count = 0
            for index in content.indices where content[index] & 0xC0 != 0x80 { count += 1 }
            return count
        }
    }

    /// A number's exact value; nil if it is not a number, has a fraction, or does not fit.
    ///
    /// `1.0` and `1e3` are integers (JSON Schema Core, 4.2.3).
    public func integer(_ node: JSONNode) -> Int64? {
        switch node.kind {
        case .integer:
            return Self.parseInteger(source.span.extracting(node.range))
        case .number:
            return DecimalText(source, node.range).integer(in: source)
        case .null, .false, .true, .string, .escapedString, .array, .object:
            return nil
        }
    }

    /// The `Double` nearest to a number, infinite beyond its range; nil for any other value.
    public func double(_ node: JSONNode) -> Double? {
        guard node.isNumber else { return nil }
        return StringContent.double(source.span.extracting(node.range))
    }

    private static func parseInteger(_ digits: Span<UInt8>) -> Int64? {
        guard digits.count <= 20 else { return nil }
        let isNegative = digits[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        if digits.count <= 18 {
            // This number of digits always fits.
            for index in (isNegative ? 1 : 0)..<digits.count {
                value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0"))
            }
            return isNegative ? -value : value
        }
        for index in (isNegative ? 1 : 0)..<digits.count {
            let digit = digits[index]
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.subtractingReportingOverflow(
                Int64(digit &- UInt8(ascii: "0"))
            )
            guard !overflow, !carry else { return nil }
            value = sum
        }
        // Counted downwards, because -Int64.min does not fit.
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The JSON Pointer (RFC 6901) of a value, or of a member's value.
    public func pointer(to target: JSONNode) -> String { pointer(to: target, from: root) }

    /// The part of the pointer below a value that contains the target.
    public func pointer(to target: JSONNode, from ancestor: JSONNode) -> String {
        var pointer = ""
        var container = ancestor
        while container.index < target.index {
            guard let (step, child) = child(of: container, around: target.index) else { break }
            pointer += "/" + step
            container = child
        }
        return pointer
    }

    private func child(
        of container: JSONNode,
        around index: Int
    ) -> (step: String, child: JSONNode)? {
        var cursor = children(of: container)
        if container.kind == .object {
            while let (name, value) = nextMember(&cursor) {
                guard index < value.next else { continue }
                return (JSONPointer.escaped(string(name) ?? ""), value)
            }
            return nil
        }
        var position = 0
        while let item = nextItem(&cursor) {
            if index < item.next { return ("\(position)", item) }
            position += 1
        }
        return nil
    }
}

/// A value or a member's name in the last parsed document.
///
/// Valid only with the `JSONDocument` that returned it, and until its next `parse`. After that it
/// denotes some other value or traps, but never reads invalid memory.
public struct JSONNode: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case null
        case `false`
        case `true`
        /// A number without fraction and exponent, of any size.
        case integer
        case number
        case string
        /// A string with at least one backslash.
        case escapedString
        case array
        case object
    }

    /// The index of the tape entry.
    public var index: Int
    /// The entry's two words, as written by `hg_json_parse`.
    public var span: UInt64
    public var shape: UInt64

    init(index: Int, span: UInt64, shape: UInt64) {
        self.index = index
        self.span = span
        self.shape = shape
    }

    @inline(__always) public var kind: Kind {
        switch shape >> 56 {
        case 0: .null
        case 1: .false
        case 2: .true
        case 3: .integer
        case 4: .number
        case 5: .string
        case 6: .escapedString
        case 7: .array
        default: .object
        }
    }

    /// A bit for each kind, at the position of its raw value.
    @inline(__always) public var kindBit: UInt16 { 1 &<< UInt16(truncatingIfNeeded: shape >> 56) }

    @inline(__always) public var isObject: Bool { shape >> 56 == 8 }
    @inline(__always) public var isArray: Bool { shape >> 56 == 7 }
    @inline(__always) public var isString: Bool { shape >> 56 == 5 || shape >> 56 == 6 }
    @inline(__always) public var isNumber: Bool { shape >> 56 == 3 || shape >> 56 == 4 }

    /// The value's range in the source, including quotes and brackets.
    @inline(__always) public var range: Range<Int> {
        Int(span & 0xFFFF_FFFF)..<Int(span >> 32)
    }

    /// The range between a string's quotes.
    @inline(__always) var contentRange: Range<Int> {
        Int(span & 0xFFFF_FFFF) + 1..<Int(span >> 32) - 1
    }

    @inline(__always) public var byteCount: Int {
        Int(span >> 32) - Int(span & 0xFFFF_FFFF)
    }

    /// The number of an object's members or an array's items.
    @inline(__always) public var count: Int { Int(shape >> 32 & 0xFF_FFFF) }

    /// The hash of a string's content.
    @inline(__always) public var hash: UInt32 { UInt32(truncatingIfNeeded: shape) }

    /// The tape index after the value and everything inside it.
    @inline(__always) public var next: Int { isString ? index + 1 : Int(shape & 0xFFFF_FFFF) }
}

/// A position in an object or array while visiting its children.
public struct JSONCursor: Hashable, Sendable {
    public var index: Int
    public var remaining: Int

    init(index: Int, remaining: Int) {
        self.index = index
        self.remaining = remaining
    }
}

extension JSONError {
    fileprivate init(_ result: hg_json_result) {
        let kind: Kind =
            switch Int(result.status) {
            case hg_json_error_too_large: .tooLarge
            case hg_json_error_utf8: .invalidUTF8
            case hg_json_error_empty: .empty
            case hg_json_error_unclosed_string: .unclosedString
            case hg_json_error_control_character: .controlCharacter
            case hg_json_error_depth: .tooDeep
            case hg_json_error_number: .invalidNumber
            case hg_json_error_escape: .invalidEscape
            case hg_json_error_trailing: .trailingContent
            case hg_json_error_memory: .outOfMemory
            default: .unexpectedToken
            }
        let offset = result.offset == HG_JSON_NO_OFFSET ? nil : Int(result.offset)
        self.init(kind: kind, offset: offset)
    }
}

/// The C parser's functions for strings and numbers.
enum StringContent {
    /// The hash that `hg_json_parse` stores on the tape for such a string.
    static func hash(of bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_hash(bytes.baseAddress, bytes.count)
        }
    }

    /// Whether two ranges contain the same bytes.
    ///
    /// Traps if a range exceeds its array.
    static func isEqual(
        _ left: borrowing [UInt8],
        _ leftRange: Range<Int>,
        _ right: borrowing [UInt8],
        _ rightRange: Range<Int>
    ) -> Bool {
        guard leftRange.count == rightRange.count else { return false }
        precondition(leftRange.lowerBound >= 0 && leftRange.upperBound <= left.count)
        precondition(rightRange.lowerBound >= 0 && rightRange.upperBound <= right.count)
        // SAFETY: both ranges lie in their arrays.
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe hg_json_equal(
                    left.baseAddress,
                    leftRange.lowerBound,
                    right.baseAddress,
                    rightRange.lowerBound,
                    leftRange.count
                )
            }
        }
    }

    /// Whether two pieces of text have the same bytes.
    static func isEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe hg_json_equal(left.baseAddress, 0, right.baseAddress, 0, left.count)
            }
        }
    }

    /// The number of bytes at the start of a text that belong to a set.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - members: Concatenated sets of 256 bytes each; 1 for each byte value in the set.
    ///   - start: The start of the set in `members`.
    /// - Returns: The count; that of the whole text if all bytes belong to the set.
    static func count(of text: Span<UInt8>, in members: [UInt8], from start: Int) -> Int {
        precondition(start >= 0 && members.count - start >= 256)
        // SAFETY: a byte is below 256, and `members` has that many bytes from `start` on.
        return unsafe text.withUnsafeBufferPointer { text in
            unsafe members.withUnsafeBufferPointer { members in
                unsafe hg_json_member_count(
                    text.baseAddress,
                    text.count,
                    members.baseAddress,
                    start
                )
            }
        }
    }

    /// Resolves the escapes in the text between a string's quotes.
    ///
    /// - Returns: nil if an escape is invalid, which does not occur in a parsed document.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var resolved = [UInt8](repeating: 0, count: bytes.count)
        // SAFETY: an escape is never shorter than its result, so the output fits.
        let count = unsafe resolved.withUnsafeMutableBufferPointer { output in
            unsafe bytes.withUnsafeBufferPointer { input in
                unsafe hg_json_unescape(input.baseAddress, input.count, output.baseAddress)
            }
        }
        guard count != .max else { return nil }
        resolved.removeLast(resolved.count - count)
        return resolved
    }

    /// The `Double` nearest to a number's text.
    static func double(_ bytes: Span<UInt8>) -> Double {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_double(bytes.baseAddress, bytes.count)
        }
    }
}

extension String {
    /// Whether two texts have the same bytes, which is how JSON compares them.
    ///
    /// `==` compares by Unicode equivalence: different encodings of a letter are equal.
    public func hasSameBytes(as other: String) -> Bool {
        StringContent.isEqual(utf8.span, other.utf8.span)
    }
}

/// A text that is compared by its bytes, as in JSON (RFC 8259, 8.3).
///
/// Two `String`s are equal even if they encode a letter in different, equivalent ways.
public struct ExactText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        unsafe text.utf8.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

/// The escaping of JSON Pointers (RFC 6901, 3).
public enum JSONPointer {
    /// A name as a reference token: `~` becomes `~0`, and `/` becomes `~1`.
    public static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") })
        else { return name }
        // By scalars, not characters: a "/" followed by a combining mark is one character.
        return name.unicodeScalars.reduce(into: "") { token, scalar in
            switch scalar {
            case "~": token += "~0"
            case "/": token += "~1"
            default: token.unicodeScalars.append(scalar)
            }
        }
    }

    /// The name that a reference token denotes.
    public static func unescaped(_ token: some StringProtocol) -> String {
        guard token.utf8.contains(UInt8(ascii: "~")) else { return String(token) }
        var name = ""
        var rest = Array(token.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            switch (scalar, rest.first) {
            case ("~", "0"): name.unicodeScalars.append("~")
            case ("~", "1"): name.unicodeScalars.append("/")
            default:
                name.unicodeScalars.append(scalar)
                continue
            }
            rest = rest.dropFirst()
        }
        return name
    }
}
