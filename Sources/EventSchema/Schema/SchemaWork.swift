import JSON

/// How much work a check may be.
///
/// A schema whose alternatives all describe the same children can make the work double with each
/// level of a document; no producer shall stall a shard with that, or use up its stack.
struct SchemaWork {
    /// Subschemas inside each other: a document's depth times the chains for one value.
    ///
    /// A level takes about a kilobyte of stack.
    private static let maxDepth = 2000

    private var remainingSteps: Int
    private var depth = 0

    /// Enough for any schema that looks at each value a bounded number of times.
    ///
    /// - Parameter byteCount: the document's size.
    init(byteCount: Int) {
        remainingSteps = 1_000_000 + 100 * byteCount
    }

    /// When the work has run out, answers mean nothing.
    var isExhausted: Bool { remainingSteps <= 0 }

    /// Whether one more subschema may be applied to a value.
    ///
    /// A step is the application itself, and every 64 bytes that it may have to read.
    @inline(__always)
    mutating func spend(_ value: JSONNode) -> Bool {
        remainingSteps &-= 1 &+ value.byteCount >> 6
        return remainingSteps > 0
    }

    /// The same for a subschema that may apply others; after true, `end` is called.
    @inline(__always)
    mutating func begin(_ value: JSONNode) -> Bool {
        guard spend(value) else { return false }
        guard depth < Self.maxDepth else {
            remainingSteps = 0
            return false
        }
        depth += 1
        return true
    }

    @inline(__always)
    mutating func end() { depth -= 1 }
}
