import CSimdjson

/// A reusable parser together with the document that it parsed last.
///
/// Parsing copies no string and converts no number: the tape holds source positions, and what is
/// asked for is read from the source. Nothing is allocated once the buffers have grown to the
/// documents' size. Names may repeat inside an object; whoever minds looks for it.
///
/// A copy is a view of the same document: it stays as it is when the original parses another one,
/// which then takes a new tape. Copies share the parser, so all of them belong to one thread.
public struct JSONDocument {
    private let parser: Parser
    /// Two words an entry; the layout is that of `hg_json_parse`.
    public private(set) var tape: [UInt64]
    private(set) var entryCount = 0
    /// The text of the document, and whatever stands behind it; empty after a failure.
    public private(set) var source: [UInt8] = []
    /// Of the text alone.
    public private(set) var byteCount = 0

    /// Makes a parser.
    ///
    /// It traps when the CPU is not supported by simdjson, or when there is no memory for it.
    public init(limits: JSONLimits = JSONLimits()) {
        parser = Parser(limits)
        tape = Array(repeating: 0, count: 512)
    }

    /// The one owner of a C parser, which keeps nothing of a document after it has parsed it.
    @safe private final class Parser {
        // SAFETY: made in `init`, freed in `deinit` alone, and never given out.
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

        /// Fills a tape as far as it goes.
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

    /// Parses a text; what was parsed before is gone, also after a failure.
    public mutating func parse(_ bytes: [UInt8]) throws(JSONError) {
        try parse(bytes, upTo: bytes.count)
    }

    /// Parses the first bytes as a text; what was parsed before is gone, also after a failure.
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

extension JSONDocument {
    /// The whole document's value.
    ///
    /// It traps if the last `parse` failed, or none was made.
    public var root: JSONNode {
        precondition(entryCount > 0, "no document")
        return node(at: 0)
    }

    /// The node of a tape entry; it traps beyond the tape.
    @inline(__always)
    public func node(at index: Int) -> JSONNode {
        JSONNode(index: index, span: tape[2 &* index], shape: tape[2 &* index &+ 1])
    }

    /// A cursor before the first child of an object or array; for scalars there is none.
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

    /// The value of the first member of that name.
    public func member(of object: JSONNode, named name: JSONName) -> JSONNode? {
        guard object.isObject else { return nil }
        var cursor = children(of: object)
        while let (candidate, value) = nextMember(&cursor) {
            if isEqual(candidate, to: name) { return value }
        }
        return nil
    }

    /// Whether a string's content is that of `name`.
    public func isEqual(_ node: JSONNode, to name: JSONName) -> Bool {
        guard node.isString, node.hash == name.contentHash else { return false }
        return hasContent(node, name.bytes)
    }

    private func hasContent(_ node: JSONNode, _ bytes: [UInt8]) -> Bool {
        guard node.kind == .string else { return content(of: node).elementsEqual(bytes) }
        return StringContent.isEqual(
            source,
            node.contentRange,
            bytes,
            bytes.indices
        )
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
