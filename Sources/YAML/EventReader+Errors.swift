import CYAML

extension YAMLError {
    /// Makes the error for the reason why libyaml stopped.
    ///
    /// - Parameters:
    ///   - parser: The parser, after a call that failed.
    ///   - source: The text that it parses.
    init(_ parser: yaml_parser_t, _ source: SourceText) {
        switch unsafe parser.error {
        case YAML_READER_ERROR:
            // For reader errors, libyaml sets the byte offset but no mark.
            let mark = unsafe source.mark(ofByteAt: parser.problem_offset)
            let value = unsafe UInt32(exactly: parser.problem_value)
            let name = value.map { "the character U+\(hexadecimal($0, digitCount: 4))" }
            self.init("is not YAML: \(name ?? "a character") is not allowed", mark)
        case YAML_MEMORY_ERROR:
            self.init("cannot be read: out of memory", unsafe source.mark(parser.mark))
        default:
            let mark = unsafe source.mark(parser.problem_mark)
            // SAFETY: libyaml's messages are static strings; the context may be null.
            let problem = unsafe parser.problem.map { unsafe String(cString: $0) }
            let sentence = Self.sentence(
                problem ?? "the text cannot be read",
                unsafe source.scalar(at: parser.problem_mark.index)
            )
            self.init(
                "is not YAML: \(unsafe Self.beginning(parser, mark, source))\(sentence)",
                mark
            )
        }
    }

    /// What libyaml was parsing, and where that begins.
    private static func beginning(
        _ parser: yaml_parser_t,
        _ mark: YAMLMark,
        _ source: SourceText
    ) -> String {
        // SAFETY: as above.
        guard let context = unsafe parser.context.map({ unsafe String(cString: $0) }),
            context != "while scanning for the next token"
        else { return "" }
        let start = unsafe source.mark(parser.context_mark)
        return start == mark ? "\(context), " : "\(context) that begins at \(start), "
    }

    /// libyaml's message, or a clearer one.
    ///
    /// - Parameters:
    ///   - problem: The message of libyaml 0.2.5.
    ///   - scalar: The character at the location; nil at the end of the text.
    /// - Returns: A text that completes "is not YAML: ".
    private static func sentence(_ problem: String, _ scalar: Unicode.Scalar?) -> String {
        switch (problem, scalar) {
        case ("found character that cannot start any token", "\t"):
            "found a tab; expected spaces for indentation"
        case ("found character that cannot start any token", let scalar?):
            "found '\(scalar)'; expected quotes around a value that begins with it"
        case ("mapping values are not allowed in this context", _):
            "\(problem); a value with ': ' needs quotes, the line before may lack a ':', or the"
                + " indentation differs"
        case ("did not find expected node content", nil):
            "found the end of the text; expected a value, '}' or ']'"
        case ("did not find expected alphabetic or numeric character", _):
            "expected a name; a value that begins with '*' or '&' needs quotes"
        // The typo is libyaml's.
        case ("did not find expected hexdecimal number", _):
            "expected hexadecimal digits; a text with '\\' needs single quotes"
        case ("found unexpected end of stream", _): "found the end of the text"
        case ("did not find expected <document start>", _):
            "found more text; expected the end of the document"
        case ("found incompatible YAML document", _):
            "found another version, expected %YAML 1.1 or 1.2"
        default: problem
        }
    }
}
