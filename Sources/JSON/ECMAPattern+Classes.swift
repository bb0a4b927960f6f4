extension ECMAPattern {
    /// The contents of a character class.
    struct Members {
        var text: String
        var isNegated = false
    }

    static let everything = "\\x{0}-\\x{10ffff}"
    /// White space and line terminators (ECMA-262, 12.2 and 12.3).
    private static let spaces =
        "\\t-\\r\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
        + "\\x{3000}\\x{feff}"
    private static let otherThanSpaces =
        "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}"
        + "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"
        + "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

    /// Translates a class after its opening bracket.
    mutating func translateClass() throws(TextPatternError) {
        let isNegated = take("^")
        var members = ""
        while !take("]") {
            guard position < scalars.count else { throw .syntax("a class is not closed") }
            members += try readClassMember()
        }
        switch (members.isEmpty, isNegated) {
        case (true, true): write("[\(Self.everything)]", canRepeat: true)
        case (true, false): write("[^\(Self.everything)]", canRepeat: true)
        case (false, true): write("[^\(members)]", canRepeat: true)
        case (false, false): write("[\(members)]", canRepeat: true)
        }
    }

    /// Reads a single scalar, a range, or an escape for several scalars.
    private mutating func readClassMember() throws(TextPatternError) -> String {
        guard let first = try readClassAtom() else { return try readClassSet() }
        let start = position
        guard take("-"), position < scalars.count, scalars[position] != "]" else {
            position = start
            return Self.literal(first)
        }
        guard let last = try readClassAtom() else { throw .syntax("a range that ends in a class") }
        guard first <= last else { throw .syntax("a range that ends before it begins") }
        return "\(Self.literal(first))-\(Self.literal(last))"
    }

    /// Reads a single scalar; nil, reading nothing, if an escape for several scalars follows.
    private mutating func readClassAtom() throws(TextPatternError) -> Unicode.Scalar? {
        guard position < scalars.count else { throw .syntax("a class is not closed") }
        guard scalars[position] == "\\" else {
            position += 1
            return scalars[position - 1]
        }
        guard position + 1 < scalars.count else { throw .syntax("a '\\' at the end") }
        switch scalars[position + 1] {
        case "d", "D", "w", "W", "s", "S", "p", "P": return nil
        case "b":
            position += 2
            return "\u{8}"
        default:
            position += 1
            return try readCharacterEscape()
        }
    }

    private mutating func readClassSet() throws(TextPatternError) -> String {
        position += 1
        guard let members = try readClassEscape() else { throw .syntax("an unknown escape") }
        guard members.isNegated else { return members.text }
        switch members.text {
        case Self.spaces: return Self.otherThanSpaces
        case Self.everything: throw .syntax("an empty class")
        default: return Self.negated(members.text)
        }
    }

    /// The complement of `\d`, `\w` or a property, in RE2's syntax within a class.
    private static func negated(_ members: String) -> String {
        switch members {
        case "0-9": "\\D"
        case "0-9A-Za-z_": "\\W"
        case "\\x{0}-\\x{7f}": "\\x{80}-\\x{10ffff}"
        default: "\\P" + members.dropFirst(2)
        }
    }

    /// Reads an escape for several scalars after its `\`; nil, reading nothing, if it is not one.
    mutating func readClassEscape() throws(TextPatternError) -> Members? {
        let letter = scalars[position]
        let text: String
        switch letter {
        case "d", "D": text = "0-9"
        case "w", "W": text = "0-9A-Za-z_"
        case "s", "S": text = Self.spaces
        case "p", "P":
            position += 1
            return Members(text: try readProperty(), isNegated: letter == "P")
        default: return nil
        }
        position += 1
        return Members(text: text, isNegated: ("A"..."Z").contains(letter))
    }

    /// Reads an escape for one scalar after its `\` (ECMA-262, 22.2.1, CharacterEscape).
    mutating func readCharacterEscape() throws(TextPatternError) -> Unicode.Scalar {
        let letter = scalars[position]
        position += 1
        switch letter {
        case "t": return "\t"
        case "n": return "\n"
        case "v": return "\u{B}"
        case "f": return "\u{C}"
        case "r": return "\r"
        case "0":
            if position < scalars.count, ("0"..."9").contains(scalars[position]) {
                throw .syntax("an octal escape")
            }
            return "\0"
        case "c":
            guard position < scalars.count, scalars[position].properties.isAlphabetic,
                scalars[position].isASCII
            else { throw .syntax("'\\c' without a letter") }
            position += 1
            return Unicode.Scalar(UInt8(scalars[position - 1].value & 31))
        case "x": return try scalar(try readHexadecimal(2))
        case "u": return try readUnicodeEscape()
        case "a"..."z", "A"..."Z", "1"..."9", "_":
            throw .syntax("an unknown escape '\\\(letter)'")
        default: return letter
        }
    }

    private mutating func readUnicodeEscape() throws(TextPatternError) -> Unicode.Scalar {
        if take("{") {
            var digits = ""
            while position < scalars.count, scalars[position] != "}" {
                digits.unicodeScalars.append(scalars[position])
                position += 1
            }
            guard take("}"), let value = UInt32(digits, radix: 16) else {
                throw .syntax("a bad '\\u{}'")
            }
            return try scalar(value)
        }
        let first = try readHexadecimal(4)
        guard (0xD800...0xDBFF).contains(first), take("\\"), take("u") else {
            return try scalar(first)
        }
        let second = try readHexadecimal(4)
        guard (0xDC00...0xDFFF).contains(second) else { throw .syntax("half of a surrogate pair") }
        return try scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private mutating func readHexadecimal(_ count: Int) throws(TextPatternError) -> UInt32 {
        guard position + count <= scalars.count else { throw .syntax("an escape is cut off") }
        var value: UInt32 = 0
        for scalar in scalars[position..<position + count] {
            guard let digit = Character(scalar).hexDigitValue, scalar.isASCII else {
                throw .syntax("an escape needs hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
        }
        position += count
        return value
    }

    private func scalar(_ value: UInt32) throws(TextPatternError) -> Unicode.Scalar {
        guard let scalar = Unicode.Scalar(value) else {
            // A text consists of Unicode scalars, so half of a surrogate pair could never match.
            throw .syntax("half of a surrogate pair, or no code point")
        }
        return scalar
    }
}
