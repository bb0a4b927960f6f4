import JSON

/// How much work a check may be.
///
/// A schema whose alternatives all describe the same children can make the work double with each
/// level of a document; no producer shall stall a shard with that, or use up its stack.
///
/// A step is a subschema applied to 64 bytes: some 50 ns. What takes longer is more steps, so that
/// their number bounds the time.
struct SchemaWork {
    /// Subschemas inside each other: a document's depth times the chains for one value.
    ///
    /// A level takes about a kilobyte of stack.
    private static let maxDepth = 2000

    private let maxSteps: Int
    private var remainingSteps: Int
    private var depth = 0

    /// Enough for any schema that looks at each value a bounded number of times.
    ///
    /// A shard may take 256 records in one turn, and its watchdog waits 30 s for the next: if all of
    /// them are as bad as can be, each has a tenth of a second.
    ///
    /// - Parameter byteCount: the size of the value, without what stands around it.
    init(byteCount: Int) {
        maxSteps = min(100_000 + 20 * byteCount, 1_000_000 + 2 * byteCount)
        remainingSteps = maxSteps
    }

    /// When the work has run out, answers mean nothing.
    var isExhausted: Bool { remainingSteps <= 0 }

    /// How many steps the check took so far.
    var stepCount: Int { min(maxSteps &- remainingSteps, maxSteps) }

    /// Whether one more subschema may be applied to a value.
    ///
    /// A step is the application itself, and every 64 bytes that it may have to read.
    @inline(__always)
    mutating func spend(_ value: JSONNode) -> Bool {
        remainingSteps &-= 1 &+ value.byteCount >> 6
        return remainingSteps > 0
    }

    /// Whether something may be done that takes as long as so many steps.
    @inline(__always)
    mutating func spend(steps: Int) -> Bool {
        remainingSteps &-= steps
        return remainingSteps > 0
    }

    /// The same as for a value, for a subschema that may apply others; after true, `end` is called.
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
