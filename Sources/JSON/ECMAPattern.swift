/// Turns a regular expression of ECMA-262 (with the `u` flag) into one of RE2 that means the same.
///
/// Every class is written out, because the two differ in what `.`, `\s`, `\w` and `$` take. Groups
/// lose their names: nothing is captured.
struct ECMAPattern {
    /// An expression of RE2.
    struct Translation {
        let text: String
        /// What it is made of, repetitions written out: at most so many places of the expression are
        /// looked at for each character of a text.
        let placeCount: Int
        /// How many classes are properties of Unicode, which stand for hundreds of ranges.
        let propertyCount: Int
    }

    var scalars: [Unicode.Scalar]
    var position = 0
    var output = ""
    private var openGroups = 0
    /// Something that a quantifier may follow was written last.
    private var canRepeat = false
    /// The places of what a quantifier would repeat.
    private var lastCount = 0
    /// The places written so far, in the expression and in each group that is open.
    private var counts = [0]
    var propertyCount = 0

    /// More places than any compiled form has.
    private static let maxCount = 1 << 30

    private init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    static func translated(_ text: String) throws(TextPatternError) -> Translation {
        var pattern = ECMAPattern(text)
        while pattern.position < pattern.scalars.count { try pattern.translateTerm() }
        guard pattern.openGroups == 0 else { throw .syntax("a group is not closed") }
        return Translation(
            text: pattern.output,
            placeCount: pattern.counts[0],
            propertyCount: pattern.propertyCount
        )
    }

    private mutating func translateTerm() throws(TextPatternError) {
        let scalar = scalars[position]
        position += 1
        switch scalar {
        case "^": write("\\A", canRepeat: false)
        case "$": write("\\z", canRepeat: false)
        case "|": write("|", canRepeat: false)
        case ".": write("[^\\n\\r\\x{2028}\\x{2029}]", canRepeat: true)
        case "(": try openGroup()
        case ")":
            guard openGroups > 0 else { throw .syntax("a ')' without its '('") }
            openGroups -= 1
            write(")", canRepeat: true, count: counts.removeLast() + 1)
        case "[": try translateClass()
        case "\\": try translateEscape()
        case "*", "+", "?": try repeatLast(String(scalar), times: 1)
        case "{":
            if let (bounds, times) = readBounds() {
                try repeatLast(bounds, times: times)
            } else {
                write("\\{", canRepeat: true)
            }
        default: write(Self.literal(scalar), canRepeat: true)
        }
    }

    mutating func write(_ text: String, canRepeat: Bool, count: Int = 1) {
        output += text
        self.canRepeat = canRepeat
        lastCount = count
        self.count(count)
    }

    private mutating func count(_ places: Int) {
        counts[counts.count - 1] = min(counts[counts.count - 1] + places, Self.maxCount)
    }

    private mutating func openGroup() throws(TextPatternError) {
        openGroups += 1
        guard openGroups <= 200 else { throw .tooLarge }
        counts.append(0)
        guard take("?") else { return write("(?:", canRepeat: false, count: 0) }
        if take(":") { return write("(?:", canRepeat: false, count: 0) }
        if take("=") || take("!") { throw .unsupported("a lookahead") }
        guard take("<") else { throw .syntax("an unknown kind of group") }
        if take("=") || take("!") { throw .unsupported("a lookbehind") }
        try skipName()
        write("(?:", canRepeat: false, count: 0)
    }

    /// A group's name up to its `>`.
    private mutating func skipName() throws(TextPatternError) {
        let start = position
        while position < scalars.count, Self.isName(scalars[position], isFirst: position == start) {
            position += 1
        }
        guard position > start, take(">") else { throw .syntax("a bad name of a group") }
    }

    private static func isName(_ scalar: Unicode.Scalar, isFirst: Bool) -> Bool {
        if scalar == "$" || scalar == "_" { return true }
        return isFirst ? scalar.properties.isIDStart : scalar.properties.isIDContinue
    }

    private mutating func repeatLast(
        _ quantifier: String,
        times: Int
    ) throws(TextPatternError) {
        guard canRepeat else { throw .syntax("a quantifier without anything to repeat") }
        write(quantifier, canRepeat: false, count: min(lastCount * (times - 1), Self.maxCount))
        // Lazy or greedy is the same where only a match is requested.
        _ = take("?")
    }

    /// `{2}`, `{2,}` or `{2,3}` behind its brace, and how often it writes out what it repeats; nil, and
    /// nothing is read, if it is none.
    private mutating func readBounds() -> (text: String, times: Int)? {
        let start = position
        let low = readDigits()
        var text = "{\(low)"
        var high = ""
        if take(",") {
            high = readDigits()
            text += ",\(high)"
        }
        guard !low.isEmpty, take("}") else {
            position = start
            return nil
        }
        let times = Int(high.isEmpty ? low : high) ?? Self.maxCount
        return (text + "}", min(max(times, 1), Self.maxCount))
    }

    private mutating func readDigits() -> String {
        var digits = ""
        while position < scalars.count, ("0"..."9").contains(scalars[position]) {
            digits.unicodeScalars.append(scalars[position])
            position += 1
        }
        return digits
    }

    private mutating func translateEscape() throws(TextPatternError) {
        guard position < scalars.count else { throw .syntax("a '\\' at the end") }
        switch scalars[position] {
        case "b", "B":
            write("\\\(scalars[position])", canRepeat: false)
            position += 1
        case "1"..."9": throw .unsupported("a backreference")
        case "k": throw .unsupported("a backreference")
        default:
            if let members = try readClassEscape() {
                write(
                    members.isNegated ? "[^\(members.text)]" : "[\(members.text)]",
                    canRepeat: true
                )
            } else {
                write(Self.literal(try readCharacterEscape()), canRepeat: true)
            }
        }
    }

    mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard position < scalars.count, scalars[position] == scalar else { return false }
        position += 1
        return true
    }

    /// A scalar that stands for itself, inside a class or outside.
    static func literal(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": String(scalar)
        default: "\\x{\(String(scalar.value, radix: 16))}"
        }
    }
}
