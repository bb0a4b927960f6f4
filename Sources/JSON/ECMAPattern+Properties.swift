extension ECMAPattern {
    /// The long names of general categories, and RE2's names for them (UAX 44, table 12).
    private static let categories: [String: String] = [
        "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
        "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
        "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc",
        "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd",
        "Letter_Number": "Nl", "Other_Number": "No", "Punctuation": "P", "punct": "P",
        "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd", "Open_Punctuation": "Ps",
        "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf",
        "Other_Punctuation": "Po", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc",
        "Modifier_Symbol": "Sk", "Other_Symbol": "So", "Separator": "Z", "Space_Separator": "Zs",
        "Line_Separator": "Zl", "Paragraph_Separator": "Zp", "Control": "Cc", "cntrl": "Cc",
        "Format": "Cf", "Private_Use": "Co",
    ]

    /// Reads the `{…}` of a `\p`, as members of a class.
    mutating func readProperty() throws(TextPatternError) -> String {
        propertyCount += 1
        guard take("{") else { throw .syntax("'\\p' without its braces") }
        var name = ""
        while position < scalars.count, scalars[position] != "}" {
            name.unicodeScalars.append(scalars[position])
            position += 1
        }
        guard take("}") else { throw .syntax("'\\p' without its closing brace") }
        let parts = name.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isNameByte) }) else {
            throw .syntax("a bad name of a property")
        }
        switch (parts.first, parts.count) {
        case ("Any", 1): return Self.everything
        case ("ASCII", 1): return "\\x{0}-\\x{7f}"
        case (let category?, 1): return try Self.category(category)
        case ("General_Category", 2), ("gc", 2): return try Self.category(parts[1])
        // RE2 has the scripts' long names, and rejects unknown ones.
        case ("Script", 2), ("sc", 2): return "\\p{\(parts[1])}"
        default: throw .unsupported("the property '\(name)'")
        }
    }

    private static func category(_ name: String) throws(TextPatternError) -> String {
        let short = categories[name] ?? name
        switch short {
        case "LC": throw .unsupported("the property '\(name)'")
        case _ where categories.values.contains(short) || short == "C" || short == "Cs":
            return "\\p{\(short)}"
        default: throw .unsupported("the property '\(name)'")
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
