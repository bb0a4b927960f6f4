import JSON

/// A pattern that somebody else keeps alive: to run it counts no reference.
///
/// Atomic counts around each match take as long as the match of a short string.
@safe struct BorrowedPattern: Sendable {
    // SAFETY: a program has each of these beside the pattern itself, and never gives one out.
    private let pattern: Unmanaged<TextPattern>

    init(_ pattern: TextPattern) {
        unsafe self.pattern = Unmanaged.passUnretained(pattern)
    }

    /// Whether the expression matches anywhere in a string.
    @inline(__always)
    func matches(_ value: JSONNode, in document: JSONDocument) -> Bool {
        unsafe pattern._withUnsafeGuaranteedRef { document.matches(value, $0) }
    }
}
