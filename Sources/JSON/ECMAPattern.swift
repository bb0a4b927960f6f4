/// Translates a regular expression of ECMA-262 (with the `u` flag) into an equivalent one of RE2.
///
/// Every class is written out, because the two differ in the meaning of `.`, `\s`, `\w` and `$`.
/// Groups lose their names, because nothing is captured.
struct ECMAPattern {
    /// A regular expression in RE2's syntax.
    struct Translation {
        let text: String
        /// The size of the expression with repetitions written out.
        ///
        /// An upper limit on the places in it that are examined for each character of a text.
        let placeCount: Int
        /// The number of classes that are Unicode properties, each with hundreds of ranges.
        let propertyCount: Int
    }

    var scalars: [Unicode.Scalar]
    var position = 0
    var output = ""
    private var openGroups = 0
    /// Whether the last thing written may be followed by a quantifier.
    private var canRepeat = false
    /// The number of places that a quantifier would repeat.
    private var lastCount = 0
    /// The number of places so far, in the expression and in each open group.
    private var counts = [0]
    var propertyCount = 0

    /// More places than any compilable expression has.
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

    /// Skips a group's name up to its `>`.
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
        // Lazy and greedy are equivalent if only the existence of a match matters.
        _ = take("?")
    }

    /// Reads `{2}`, `{2,}` or `{2,3}` after its brace, and returns the number of repetitions.
    ///
    /// Nil, reading nothing, if it is not one.
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

    /// Writes a scalar that matches itself, inside or outside a class.
    static func literal(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9": String(scalar)
        default: "\\x{\(String(scalar.value, radix: 16))}"
        }
    }
}
