import CRE2

/// A regular expression of ECMA-262 over strings of a document, run by RE2.
///
/// Time is linear in the text, so neither an operator's expression nor a producer's text can stall
/// a shard. What would need backtracking is refused instead of being read differently.
@safe public final class TextPattern: Sendable {
    // SAFETY: a compiled RE2 is immutable and may be shared (re2/re2.h, "Thread-safe").
    private nonisolated(unsafe) let expression: OpaquePointer
    /// The same without RE2, where it is that simple.
    private let bytePattern: BytePattern?
    /// As it was written.
    public let text: String

    /// Compiles an expression in the syntax of ECMA-262 with the `u` flag (JSON Schema Core, 6.4).
    public init(_ text: String) throws(TextPatternError) {
        let bytes = Array(try ECMAPattern.translated(text).utf8)
        var error: Int32 = 0
        let compiled = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_re2_new(bytes.baseAddress, bytes.count, &error)
        }
        guard let compiled = unsafe compiled else {
            switch Int(error) {
            case hg_re2_error_size: throw .tooLarge
            default: throw .syntax("it cannot be read")
            }
        }
        unsafe expression = unsafe compiled
        bytePattern = BytePattern(text)
        self.text = text
    }

    deinit { unsafe hg_re2_free(expression) }

    /// Whether the expression matches anywhere in the bytes.
    public func matches(_ bytes: ArraySlice<UInt8>) -> Bool { matches(bytes.span) }

    /// Whether the expression matches anywhere in the bytes.
    func matches(_ bytes: Span<UInt8>) -> Bool {
        if let bytePattern { return bytePattern.matches(bytes) }
        let expression = unsafe expression
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

/// Why an expression is refused.
public enum TextPatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No expression of ECMA-262.
    case syntax(String)
    /// An expression that cannot be run in linear time, or not by RE2.
    case unsupported(String)
    /// Larger than RE2's limits: 1000 repetitions, 8 MiB for the compiled form.
    case tooLarge

    public var description: String {
        switch self {
        case .syntax(let problem): "not a regular expression: \(problem)"
        case .unsupported(let construct):
            "\(construct) is not supported, because it cannot be run in linear time"
        case .tooLarge: "the regular expression is too large: more than 1000 repetitions or 8 MiB"
        }
    }
}
