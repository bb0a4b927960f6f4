public import JSON

/// The state of checking a document: its data, counters and caches.
///
/// Passed as a single `inout`, because a recursion writes by-value arguments to the stack at each
/// level.
public struct SchemaCheck {
    public private(set) var document: JSONDocument
    private var work = SchemaWork(byteCount: 0)
    /// The program whose names are cached in `objects`.
    private var program: ObjectIdentifier?
    /// How many arrays and objects enclose the current value, up to where the check began.
    @usableFromInline var level = 0
    private var objects = InlineArray<4, KnownObject>(repeating: KnownObject())
    /// The tape index of the array whose items are checked on their own; -1: there is none.
    ///
    /// See `ItemSchema`.
    public var arrayApart = -1
    /// The last date-time parsed, and its position.
    private var dateTime: (index: Int, milliseconds: Int64?) = (-1, nil)
    /// The tape indices of members' values: 64 symbols for each of `objects`.
    @usableFromInline var places = InlineArray<256, UInt32>(repeating: 0)

    /// Makes an empty state; inlined, because returning it would copy more than a kilobyte.
    @inline(__always)
    public init(_ document: JSONDocument) {
        self.document = document
    }

    /// Parses another text, and clears the caches.
    public mutating func parse(_ text: [UInt8], upTo end: Int) throws(JSONError) {
        program = nil
        dateTime = (-1, nil)
        arrayApart = -1
        try document.parse(text, upTo: end)
    }

    /// Starts to check a value with a schema.
    ///
    /// What is known about members is kept if the schema is the same.
    mutating func start(_ program: SchemaProgram, _ value: JSONNode) {
        work = SchemaWork(byteCount: value.byteCount)
        guard self.program != ObjectIdentifier(program) else { return }
        self.program = ObjectIdentifier(program)
        for level in objects.indices { objects[level].index = -1 }
    }

    /// Whether the limit of work was reached; answers are then meaningless.
    var isExhausted: Bool { work.isExhausted }

    /// The number of steps since the last `start`.
    var stepCount: Int { work.stepCount }

    /// Accounts for a subschema without subschemas of its own; false: the limit is reached.
    @inline(__always)
    mutating func spend(_ value: JSONNode) -> Bool { work.spend(value) }

    /// Accounts for work of this many steps; false: the limit is reached.
    @inline(__always)
    mutating func spend(steps: Int) -> Bool { work.spend(steps: steps) }

    /// Accounts for a subschema; false: the limit is reached.
    ///
    /// After true, call `end`.
    @inline(__always)
    mutating func begin(_ value: JSONNode) -> Bool { work.begin(value) }

    @inline(__always)
    mutating func end() { work.end() }

    /// Descends to a child of the current value; call `leaveChild` afterwards.
    @inline(__always)
    mutating func enterChild() { level &+= 1 }

    @inline(__always)
    mutating func leaveChild() { level &-= 1 }

    /// Parses a string as a date-time, in milliseconds since 1970; the result is cached.
    public mutating func milliseconds(ofDateTime string: JSONNode) -> Int64? {
        if dateTime.index != string.index {
            dateTime = (string.index, RFC3339.milliseconds(of: document.content(of: string)))
        }
        return dateTime.milliseconds
    }

    // MARK: Members

    /// Looks up a schema's names in an object; the result is cached.
    ///
    /// - Returns: the names found; nil if they must be looked up individually, because the schema
    ///   has too many, one is repeated, or the object is nested too deep.
    @inline(__always)
    mutating func members(of object: JSONNode, for program: SchemaProgram) -> SymbolSet? {
        guard level < objects.count, program.symbols.count > 0 else { return nil }
        if objects[level].index != object.index { findMembers(of: object, for: program) }
        return objects[level].names
    }

    /// The value of a member that `members` has just reported.
    ///
    /// Remains valid while children are checked, because they use other levels. It is `mutating`
    /// although it changes nothing: otherwise the whole value might be copied.
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

    /// Static, because the whole value cannot be read while `places` is written.
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

/// Which of a schema's names one object has.
private struct KnownObject {
    /// The object's tape index; -1: none yet.
    var index = -1
    /// Nil: a name is repeated.
    var names: SymbolSet?
}

/// A set of a schema's names that have symbols, which are numbers below 64.
public struct SymbolSet: OptionSet, Hashable, Sendable {
    public private(set) var rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Makes a set of one symbol.
    public init(_ symbol: Int) { rawValue = 1 &<< UInt64(truncatingIfNeeded: symbol) }

    var count: Int { rawValue.nonzeroBitCount }

    /// Removes and returns the lowest symbol.
    mutating func popFirst() -> Int? {
        guard rawValue != 0 else { return nil }
        let symbol = rawValue.trailingZeroBitCount
        rawValue &= rawValue &- 1
        return symbol
    }
}

/// Limits the work of a check.
///
/// If a schema's alternatives all describe the same children, the work can double with each level
/// of a document. No producer must be able to block a shard, or to exhaust its stack, that way.
///
/// A step is one subschema applied to 64 bytes, about 50 ns. Slower work counts as several steps,
/// so that limiting steps limits the time.
private struct SchemaWork {
    /// The maximum nesting of subschemas: a document's depth times the chains for one value.
    ///
    /// A level takes about a kilobyte of stack.
    private static let maxDepth = 2000

    private let maxSteps: Int
    private var remainingSteps: Int
    private var depth = 0

    /// Enough for every schema that examines each value a bounded number of times.
    ///
    /// A shard may take 256 records per turn, and its watchdog waits 30 s for the next turn: in the
    /// worst case, each record may take a tenth of a second.
    ///
    /// - Parameter byteCount: The size of the value in bytes, without its surroundings.
    init(byteCount: Int) {
        maxSteps = min(100_000 + 20 * byteCount, 1_000_000 + 2 * byteCount)
        remainingSteps = maxSteps
    }

    /// Whether the limit was reached; answers are then meaningless.
    var isExhausted: Bool { remainingSteps <= 0 }

    /// The number of steps so far.
    var stepCount: Int { min(maxSteps &- remainingSteps, maxSteps) }

    /// Accounts for applying a subschema to a value; false: the limit is reached.
    ///
    /// Counts one step for the application, and one for every 64 bytes that it may have to read.
    @inline(__always)
    mutating func spend(_ value: JSONNode) -> Bool {
        remainingSteps &-= 1 &+ value.byteCount >> 6
        return remainingSteps > 0
    }

    /// Accounts for work of this many steps; false: the limit is reached.
    @inline(__always)
    mutating func spend(steps: Int) -> Bool {
        remainingSteps &-= steps
        return remainingSteps > 0
    }

    /// Accounts for a subschema with subschemas of its own.
    ///
    /// After true, call `end`.
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
