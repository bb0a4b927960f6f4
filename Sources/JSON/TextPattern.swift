import CRE2

/// A regular expression of ECMA-262 over strings of a document, run by RE2.
///
/// Time is linear in the text, so neither an operator's expression nor a producer's text can stall
/// a shard. What would need backtracking is refused instead of being read differently.
@safe public final class TextPattern: Sendable {
    // SAFETY: a compiled RE2 is immutable and may be shared (re2/re2.h, "Thread-safe").
    private nonisolated(unsafe) let expression: OpaquePointer?
    /// Instead of RE2, where it is that simple.
    private let bytePattern: BytePattern?
    /// As it was written.
    public let text: String
    /// How long a match may take, in steps of a check for each 32 bytes of a text.
    ///
    /// RE2 looks at every place of the expression for a byte, at worst, which takes 20 ns each.
    public let weight: Int

    /// Compiles an expression in the syntax of ECMA-262 with the `u` flag (JSON Schema Core, 6.4).
    public convenience init(_ text: String) throws(TextPatternError) {
        var budget = PatternBudget()
        try self.init(text, within: &budget)
    }

    /// The same, at the cost of a budget.
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

    /// With no more memory than it needs, in powers of two: each expression has its share
    /// permanently.
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

    /// Whether a text is an expression of ECMA-262, be it one that can be run here or not.
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

/// How much memory the expressions of one schema may take together, and how long compiling them may
/// take.
///
/// Anyone who writes a schema chooses how many there are and how large they become: `\p{L}{400}` is
/// half a million instructions, and half a second.
public struct PatternBudget: Sendable {
    /// RE2 needs so much for any expression that is of use.
    static let leastByteCount = 64 << 10
    /// Of one expression.
    static let mostByteCount = 8 << 20
    /// To read a property of Unicode takes as long as an expression of that size.
    static let propertyByteCount = 4 << 10
    /// To read a character takes as much, once RE2 has made a tree of it.
    private static let characterByteCount = 64

    /// What is left.
    public private(set) var byteCount = maxByteCount

    /// Of all expressions of a schema.
    public static let maxByteCount = 32 << 20

    public init() {}

    /// With less RE2 would forget what it has seen of a text, and be slow: it remembers at least 20
    /// combinations of instructions, or, of the largest expressions, does without.
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

/// Why an expression is refused.
public enum TextPatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No expression of ECMA-262.
    case syntax(String)
    /// An expression that cannot be run in linear time, or not by RE2.
    case unsupported(String)
    /// Larger than RE2's limits: 1000 repetitions, 8 MiB for the compiled form.
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

/// An expression that needs no engine: classes of characters in a row, over the whole of a text.
///
/// Tokens, identifiers and UUIDs are described like that, and a loop over their bytes takes a
/// fraction of what it costs to set RE2 going. `^[0-9a-f]{8}-[A-Z]+$` is one such expression;
/// whatever is not recognised is none, and RE2 runs it.
private struct BytePattern: Sendable {
    /// Every step but the last takes a fixed number of bytes, so there is nothing to try twice.
    private var steps: [Step] = []
    /// For each step 256 bytes, one for each value that a byte may have: 1 if the step takes it.
    private var members: [UInt8] = []
    /// `^([0-9a-f]{2})+$`: the bytes are a multiple of this.
    private var unit = 1

    /// A step takes 256 bytes, and some nanoseconds for each text, however short that is.
    private static let maxStepCount = 64

    var byteCount: Int { members.count + steps.count * MemoryLayout<Step>.stride }

    private struct Step {
        /// The table of its members begins here in `members`.
        let table: Int
        var least = 1
        var most = 1
    }

    /// Recognises an expression of ECMA-262.
    ///
    /// - Returns: nil if it is anything but classes in a row, or no expression at all.
    init?(_ text: String) {
        var parser = BytePatternParser(Array(text.utf8))
        guard parser.take("^") else { return nil }
        let isGroup = parser.take("(")
        while let members = parser.readMembers() {
            if let last = steps.last, last.least != last.most { return nil }
            guard let bounds = parser.readBounds() else { return nil }
            // A character beyond ASCII is several bytes: they cannot be counted here.
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

    /// Whether the whole of a text is what the expression says; the text is UTF-8.
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

/// Bytes of ASCII, and either all bytes beyond it or none.
private struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private(set) var takesOthers = false

    /// 1 for each byte that is a member, 0 for the others.
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

/// Reads the few constructs of ECMA-262 that a `BytePattern` is made of.
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

    /// A class or a single character; nil, and nothing is read, before anything else.
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

    /// A class behind its opening bracket.
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

    /// A character of ASCII as it is, as `\xHH`, or behind a backslash that makes it plain.
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

    /// What a quantifier says, or once; nil at one that is not recognised.
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

    /// Characters that mean themselves everywhere.
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
