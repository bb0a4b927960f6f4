/// Turns a regular expression of ECMA-262 (with the `u` flag) into one of RE2 that means the same.
///
/// Every class is written out, because the two differ in what `.`, `\s`, `\w` and `$` take. Groups
/// lose their names: nothing is captured.
struct ECMAPattern {
    var scalars: [Unicode.Scalar]
    var position = 0
    var output = ""
    private var openGroups = 0
    /// Something that a quantifier may follow was written last.
    private var canRepeat = false

    private init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    static func translated(_ text: String) throws(TextPatternError) -> String {
        var pattern = ECMAPattern(text)
        while pattern.position < pattern.scalars.count { try pattern.translateTerm() }
        guard pattern.openGroups == 0 else { throw .syntax("a group is not closed") }
        return pattern.output
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
            write(")", canRepeat: true)
        case "[": try translateClass()
        case "\\": try translateEscape()
        case "*", "+", "?": try repeatLast(String(scalar))
        case "{":
            if let bounds = readBounds() {
                try repeatLast(bounds)
            } else {
                write("\\{", canRepeat: true)
            }
        default: write(Self.literal(scalar), canRepeat: true)
        }
    }

    mutating func write(_ text: String, canRepeat: Bool) {
        output += text
        self.canRepeat = canRepeat
    }

    private mutating func openGroup() throws(TextPatternError) {
        openGroups += 1
        guard openGroups <= 200 else { throw .tooLarge }
        guard take("?") else { return write("(?:", canRepeat: false) }
        if take(":") { return write("(?:", canRepeat: false) }
        if take("=") || take("!") { throw .unsupported("a lookahead") }
        guard take("<") else { throw .syntax("an unknown kind of group") }
        if take("=") || take("!") { throw .unsupported("a lookbehind") }
        try skipName()
        write("(?:", canRepeat: false)
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

    private mutating func repeatLast(_ quantifier: String) throws(TextPatternError) {
        guard canRepeat else { throw .syntax("a quantifier without anything to repeat") }
        write(quantifier, canRepeat: false)
        // Lazy or greedy is the same where only a match is asked for.
        _ = take("?")
    }

    /// `{2}`, `{2,}` or `{2,3}` behind its brace; nil, and nothing is read, if it is none.
    private mutating func readBounds() -> String? {
        let start = position
        let low = readDigits()
        var text = "{\(low)"
        if take(",") { text += ",\(readDigits())" }
        guard !low.isEmpty, take("}") else {
            position = start
            return nil
        }
        return text + "}"
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
