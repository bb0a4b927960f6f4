public import JSON

/// The checks of a document: what their steps read, and what they count and remember.
///
/// It travels as one `inout`, because what a recursion takes by value is written to the stack at
/// each of its levels.
public struct SchemaCheck {
    public private(set) var document: JSONDocument
    private var work = SchemaWork(byteCount: 0)
    /// The program whose names `objects` speaks of.
    private var program: ObjectIdentifier?
    /// How many arrays and objects stand around the present value, from where the check began.
    @usableFromInline var level = 0
    private var objects = InlineArray<4, KnownObject>(repeating: KnownObject())
    /// The date-time that was read last, and where it is.
    private var dateTime: (index: Int, milliseconds: Int64?) = (-1, nil)
    /// The tape indexes of the values of members: 64 symbols for each of `objects`.
    @usableFromInline var places = InlineArray<256, UInt32>(repeating: 0)

    /// Knows nothing yet; made in place, because to return it is to copy more than a kilobyte.
    @inline(__always)
    public init(_ document: JSONDocument) {
        self.document = document
    }

    /// Continues with another text, about which nothing is known.
    public mutating func parse(_ text: [UInt8], upTo end: Int) throws(JSONError) {
        program = nil
        dateTime = (-1, nil)
        try document.parse(text, upTo: end)
    }

    /// Starts over, with another schema or another value; what is known of members is kept as long
    /// as the schema is the same.
    mutating func start(_ program: SchemaProgram, _ value: JSONNode) {
        work = SchemaWork(byteCount: value.byteCount)
        guard self.program != ObjectIdentifier(program) else { return }
        self.program = ObjectIdentifier(program)
        for level in objects.indices { objects[level].index = -1 }
    }

    /// When the work has run out, answers mean nothing.
    var isExhausted: Bool { work.isExhausted }

    /// How many steps were taken since the last `start`.
    var stepCount: Int { work.stepCount }

    /// Whether one more subschema that applies no others may be applied to a value.
    @inline(__always)
    mutating func spend(_ value: JSONNode) -> Bool { work.spend(value) }

    /// Whether something may be done that takes as long as so many steps.
    @inline(__always)
    mutating func spend(steps: Int) -> Bool { work.spend(steps: steps) }

    /// Whether one more subschema may be applied to a value; after true, `end` is called.
    @inline(__always)
    mutating func begin(_ value: JSONNode) -> Bool { work.begin(value) }

    @inline(__always)
    mutating func end() { work.end() }

    /// The check continues with a child of the present value; `leaveChild` is called in the end.
    @inline(__always)
    mutating func enterChild() { level &+= 1 }

    @inline(__always)
    mutating func leaveChild() { level &-= 1 }

    /// What a string says as a date-time, since 1970; the schema and its user ask for the same one.
    public mutating func milliseconds(ofDateTime string: JSONNode) -> Int64? {
        if dateTime.index != string.index {
            dateTime = (string.index, RFC3339.milliseconds(of: document.content(of: string)))
        }
        return dateTime.milliseconds
    }

    // MARK: Members

    /// Where the names of a schema are in an object; found once for all that ask.
    ///
    /// - Returns: the names that are there; nil where they have to be looked
    ///   for one by one: the schema has too many, one stands twice, or the object is too deep.
    @inline(__always)
    mutating func members(of object: JSONNode, for program: SchemaProgram) -> SymbolSet? {
        guard level < objects.count, program.symbols.count > 0 else { return nil }
        if objects[level].index != object.index { findMembers(of: object, for: program) }
        return objects[level].names
    }

    /// The value of a member that `members` has just named.
    ///
    /// It holds while children are checked, because theirs are other levels. It mutates nothing,
    /// but what does not mutate may be given a copy of the whole.
    @inlinable @inline(__always)
    public mutating func member(_ symbol: Int) -> JSONNode {
        document.node(at: Int(places[level &* 64 &+ symbol]))
    }

    private mutating func findMembers(of object: JSONNode, for program: SchemaProgram) {
        objects[level].index = object.index
        objects[level].names = Self.names(
            of: object,
            in: document,
            program.symbols,
            &places,
            from: level &* JSONNameTable.maxCount
        )
    }

    /// A function of its parts, because the whole cannot be read while `places` is written.
    private static func names(
        of object: JSONNode,
        in document: JSONDocument,
        _ symbols: JSONNameTable,
        _ places: inout InlineArray<256, UInt32>,
        from first: Int
    ) -> SymbolSet? {
        var places = places.mutableSpan
        return document.findMembers(of: object, in: symbols, &places, from: first)
            .map(SymbolSet.init(rawValue:))
    }
}

/// The names that one object has, of those that a schema speaks of.
private struct KnownObject {
    /// The object's place on the tape; -1: none was looked at yet.
    var index = -1
    /// Nil: one of them stands twice.
    var names: SymbolSet?
}

/// Names of a schema that have symbols, numbers below 64.
public struct SymbolSet: OptionSet, Hashable, Sendable {
    public private(set) var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The set of one symbol.
    public init(_ symbol: Int) { rawValue = 1 &<< UInt64(truncatingIfNeeded: symbol) }

    var count: Int { rawValue.nonzeroBitCount }

    /// Takes the lowest symbol out.
    mutating func popFirst() -> Int? {
        guard rawValue != 0 else { return nil }
        let symbol = rawValue.trailingZeroBitCount
        rawValue &= rawValue &- 1
        return symbol
    }
}

/// How much work a check may be.
///
/// A schema whose alternatives all describe the same children can make the work double with each
/// level of a document; no producer shall stall a shard with that, or use up its stack.
///
/// A step is a subschema applied to 64 bytes: some 50 ns. What takes longer is more steps, so that
/// their number bounds the time.
private struct SchemaWork {
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
