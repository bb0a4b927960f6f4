import CRE2

/// A regular expression over strings of a document, in RE2's syntax.
///
/// Time is linear in the text, so an operator's expression cannot stall a shard. RE2 takes what
/// JSON Schema asks implementations to agree on (Core, 6.4) and refuses look-around,
/// back-references and `\u` escapes instead of reading them differently.
@safe package final class TextPattern: Sendable {
    // SAFETY: a compiled RE2 is immutable and may be shared (re2/re2.h, "Thread-safe").
    private nonisolated(unsafe) let expression: OpaquePointer
    package let text: String

    /// - Returns: nil if RE2 does not take the expression.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let compiled = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_re2_new(bytes.baseAddress, bytes.count)
        }
        guard let compiled = unsafe compiled else { return nil }
        unsafe expression = unsafe compiled
        self.text = text
    }

    deinit { unsafe hg_re2_free(expression) }

    /// Whether the expression matches anywhere in the bytes.
    package func matches(_ bytes: ArraySlice<UInt8>) -> Bool {
        let expression = unsafe expression
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_re2_matches(expression, bytes.baseAddress, bytes.count)
        }
    }
}
