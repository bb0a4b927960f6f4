/// A text that is equal to another one if its bytes are, as JSON has it (RFC 8259, 8.3).
///
/// Two `String`s are equal as well where they write a letter in ways that Unicode calls equivalent.
public struct ExactText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    public func hash(into hasher: inout Hasher) {
        unsafe text.utf8.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}
