import CRE2

/// A regular expression of ECMA-262 for strings in a document, executed by RE2.
///
/// The time is linear in the text, so neither an operator's expression nor a producer's text can
/// block a shard. Expressions that need backtracking are rejected.
@safe public final class TextPattern: Sendable {
    // SAFETY: a compiled RE2 is immutable and may be shared (re2/re2.h, "Thread-safe").
    private nonisolated(unsafe) let expression: OpaquePointer?
    /// Used instead of RE2 for simple expressions.
    private let bytePattern: BytePattern?
    /// The expression as written.
    public let text: String
    /// The cost of a match, in steps of a check per 32 bytes of text.
    ///
    /// In the worst case, RE2 examines every place of the expression for each byte, at 20 ns each.
    public let weight: Int

    /// Compiles an expression in the syntax of ECMA-262 with the `u` flag (JSON Schema Core, 6.4).
    public convenience init(_ text: String) throws(TextPatternError) {
        var budget = PatternBudget()
        try self.init(text, within: &budget)
    }

    /// The same, charged to a budget.
    public init(_ text: String, within budget: inout PatternBudget) throws(TextPatternError) {
        try budget.read(text)
        let translation = try ECMAPattern.translated(text)
        try budget.take(PatternBudget.propertyByteCount * translation.propertyCount)
        self.text = text
        if let simple = BytePattern(text) {
            try budget.take(simple.byteCount)
            bytePattern = simple
            unsafe expression = nil
            weight = 1
            return
        }
        bytePattern = nil
        unsafe expression = try unsafe Self.compiled(translation.text, within: &budget)
        weight = 1 + 2 * translation.placeCount
    }

    /// Compiles with as little memory as needed, in powers of two, because each expression keeps
    /// its share.
    private static func compiled(
        _ text: String,
        within budget: inout PatternBudget
    ) throws(TextPatternError) -> OpaquePointer {
        let bytes = Array(text.utf8)
        var byteCount = PatternBudget.leastByteCount
        while byteCount <= PatternBudget.mostByteCount {
            var error: Int32 = 0
            let compiled = unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe hg_re2_new(bytes.baseAddress, bytes.count, Int64(byteCount), &error)
            }
            if let compiled = unsafe compiled {
                if PatternBudget.byteCount(ofSize: unsafe hg_re2_size(compiled)) <= byteCount,
                    budget.hasRoom(for: byteCount)
                {
                    try budget.take(byteCount)
                    return unsafe compiled
                }
                unsafe hg_re2_free(compiled)
            } else if Int(error) != hg_re2_error_size {
                throw .syntax("it cannot be read")
            }
            guard budget.hasRoom(for: 2 * byteCount) else { break }
            byteCount *= 2
        }
        throw byteCount * 2 > PatternBudget.mostByteCount ? .tooLarge : .tooMany
    }

    deinit {
        if let expression = unsafe expression { unsafe hg_re2_free(expression) }
    }

    /// Whether the expression matches anywhere in the bytes.
    public func matches(_ bytes: ArraySlice<UInt8>) -> Bool { matches(bytes.span) }

    /// Whether the expression matches anywhere in the bytes.
    func matches(_ bytes: Span<UInt8>) -> Bool {
        if let bytePattern { return bytePattern.matches(bytes) }
        guard let expression = unsafe expression else { return false }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_re2_matches(expression, bytes.baseAddress, bytes.count)
        }
    }

    /// Whether a text is an expression of ECMA-262, whether or not it can be executed here.
    public static func isExpression(_ text: String) -> Bool {
        do {
            _ = try ECMAPattern.translated(text)
            return true
        } catch .syntax {
            return false
        } catch {
            return true
        }
    }
}

/// Limits the memory and compile time of all expressions in one schema.
///
/// A schema's author chooses their number and size: `\p{L}{400}` compiles to half a million
/// instructions in half a second.
public struct PatternBudget: Sendable {
    /// RE2 needs at least this much for any useful expression.
    static let leastByteCount = 64 << 10
    /// The limit for one expression.
    static let mostByteCount = 8 << 20
    /// Parsing a Unicode property takes as long as compiling an expression of this size.
    static let propertyByteCount = 4 << 10
    /// Parsing a character takes as much, once RE2 has built a tree of it.
    private static let characterByteCount = 64

    /// The remaining budget.
    public private(set) var byteCount = maxByteCount

    /// The budget for all expressions of a schema.
    public static let maxByteCount = 32 << 20

    public init() {}

    /// The memory for RE2, in bytes.
    ///
    /// With less, RE2 would discard its cached states and become slow: this holds at least 20
    /// combinations of instructions. For the largest expressions, it does without them.
    static func byteCount(ofSize instructionCount: Int) -> Int {
        min(512 * instructionCount, max(1 << 20, 32 * instructionCount))
    }

    func hasRoom(for byteCount: Int) -> Bool { byteCount <= self.byteCount }

    mutating func take(_ byteCount: Int) throws(TextPatternError) {
        guard hasRoom(for: byteCount) else { throw .tooMany }
        self.byteCount -= byteCount
    }

    fileprivate mutating func read(_ text: String) throws(TextPatternError) {
        try take(Self.characterByteCount * text.utf8.count)
    }
}

/// Why an expression is rejected.
public enum TextPatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Not an expression of ECMA-262.
    case syntax(String)
    /// Cannot be executed in linear time, or not by RE2.
    case unsupported(String)
    /// Exceeds RE2's limits: 1000 repetitions, 8 MiB for the compiled form.
    case tooLarge
    /// All expressions of the schema together are too large.
    case tooMany

    public var description: String {
        switch self {
        case .syntax(let problem): "not a regular expression: \(problem)"
        case .unsupported(let construct):
            "\(construct) is not supported, because it cannot be run in linear time"
        case .tooLarge: "the regular expression is too large: more than 1000 repetitions or 8 MiB"
        case .tooMany:
            "the schema's regular expressions are too large: more than 32 MiB together"
        }
    }
}

/// A sequence of character classes that covers a whole text, executed without an engine.
///
/// Tokens, identifiers and UUIDs are described this way, and looping over their bytes takes a
/// fraction of RE2's start-up cost. `^[0-9a-f]{8}-[A-Z]+$` is an example; expressions that are not
/// recognized are left to RE2.
private struct BytePattern: Sendable {
    /// Every step except the last matches a fixed number of bytes, so there is no backtracking.
    private var steps: [Step] = []
    /// 256 bytes per step, one for each byte value: 1 if the step accepts it.
    private var members: [UInt8] = []
    /// For `^([0-9a-f]{2})+$`: the length is a multiple of this.
    private var unit = 1

    /// A step takes 256 bytes of memory, and some nanoseconds for every text, even a short one.
    private static let maxStepCount = 64

    var byteCount: Int { members.count + steps.count * MemoryLayout<Step>.stride }

    private struct Step {
        /// The start of its table in `members`.
        let table: Int
        var least = 1
        var most = 1
    }

    /// Recognizes an expression of ECMA-262.
    ///
    /// - Returns: nil if it is not a plain sequence of classes, or not an expression.
    init?(_ text: String) {
        var parser = BytePatternParser(Array(text.utf8))
        guard parser.take("^") else { return nil }
        let isGroup = parser.take("(")
        while let members = parser.readMembers() {
            if let last = steps.last, last.least != last.most { return nil }
            guard let bounds = parser.readBounds() else { return nil }
            // A character beyond ASCII takes several bytes, which cannot be counted here.
            if members.takesOthers, bounds.least > 1 || bounds.most != .max { return nil }
            guard steps.count < Self.maxStepCount else { return nil }
            steps.append(
                Step(table: self.members.count, least: bounds.least, most: bounds.most)
            )
            self.members += members.table
        }
        if isGroup {
            guard parser.take(")"), parser.take("+"), steps.count == 1, let step = steps.first,
                step.least == step.most, step.least > 0
            else { return nil }
            unit = step.least
            steps[0].most = .max
        }
        guard parser.take("$"), parser.isAtEnd else { return nil }
    }

    /// Whether the expression matches the whole text, which must be UTF-8.
    func matches(_ text: Span<UInt8>) -> Bool {
        guard unit == 1 || text.count.isMultiple(of: unit) else { return false }
        var position = 0
        for step in steps {
            let available = text.count - position
            guard available >= step.least else { return false }
            let rest = text.extracting(position..<position + min(available, step.most))
            let count = StringContent.count(of: rest, in: members, from: step.table)
            guard count >= step.least else { return false }
            position += count
        }
        return position == text.count
    }
}

/// A set of ASCII bytes, with either all bytes beyond ASCII or none.
private struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private(set) var takesOthers = false

    /// 1 for each byte in the set, 0 for the others.
    var table: [UInt8] {
        (0...UInt8.max).map { byte in
            guard byte < 128 else { return takesOthers ? 1 : 0 }
            return UInt8((byte < 64 ? low : high) >> UInt64(byte & 63) & 1)
        }
    }

    mutating func insert(_ bytes: ClosedRange<UInt8>) {
        for byte in bytes {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
    }

    mutating func invert() {
        low = ~low
        high = ~high
        takesOthers.toggle()
    }
}

/// Parses the few constructs of ECMA-262 that a `BytePattern` supports.
private struct BytePatternParser {
    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) {
        self.text = text
    }

    var isAtEnd: Bool { position == text.count }

    private var next: UInt8? { position < text.count ? text[position] : nil }

    mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: letter) else { return false }
        position += 1
        return true
    }

    /// Parses a class or a single character; nil, reading nothing, if something else follows.
    mutating func readMembers() -> ByteSet? {
        let start = position
        if take("["), let members = readClass() { return members }
        position = start
        guard let byte = next, byte == UInt8(ascii: "\\") || Self.isLiteral(byte),
            let byte = readCharacter()
        else {
            position = start
            return nil
        }
        var members = ByteSet()
        members.insert(byte...byte)
        return members
    }

    /// Parses a class after its opening bracket.
    private mutating func readClass() -> ByteSet? {
        let isNegated = take("^")
        var members = ByteSet()
        guard next != UInt8(ascii: "]") else { return nil }
        while !take("]") {
            guard let first = readCharacter() else { return nil }
            var last = first
            if next == UInt8(ascii: "-"), position + 1 < text.count,
                text[position + 1] != UInt8(ascii: "]")
            {
                position += 1
                guard let end = readCharacter(), end >= first else { return nil }
                last = end
            }
            members.insert(first...last)
        }
        if isNegated { members.invert() }
        return members
    }

    /// Parses an ASCII character, written plainly, as `\xHH`, or escaped by a backslash.
    private mutating func readCharacter() -> UInt8? {
        guard let byte = next, byte < 128 else { return nil }
        position += 1
        guard byte == UInt8(ascii: "\\") else { return byte }
        guard let escaped = next else { return nil }
        position += 1
        if escaped == UInt8(ascii: "x") {
            guard let high = readDigit(), let low = readDigit(), high < 8 else { return nil }
            return high << 4 | low
        }
        return "^$\\.*+?()[]{}|/-".utf8.contains(escaped) ? escaped : nil
    }

    private mutating func readDigit() -> UInt8? {
        guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue
        else { return nil }
        position += 1
        return UInt8(digit)
    }

    /// The bounds of a quantifier, or one if there is none; nil if it is not supported.
    mutating func readBounds() -> (least: Int, most: Int)? {
        var bounds = (least: 1, most: 1)
        if take("+") {
            bounds = (1, .max)
        } else if take("*") {
            bounds = (0, .max)
        } else if take("{") {
            guard let least = readCount() else { return nil }
            bounds = (least, least)
            if take(",") { bounds.most = readCount() ?? .max }
            guard take("}"), bounds.least <= bounds.most else { return nil }
        }
        return next == UInt8(ascii: "?") ? nil : bounds
    }

    private mutating func readCount() -> Int? {
        var count: Int?
        while let byte = next, byte &- UInt8(ascii: "0") < 10, count ?? 0 < 1000 {
            count = (count ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
            position += 1
        }
        return count
    }

    /// Characters without a special meaning.
    private static func isLiteral(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "@"):
            true
        default: false
        }
    }
}
