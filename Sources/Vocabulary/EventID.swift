/// The `id` of an event, which its producer chose.
///
/// Up to 40 bytes, as UUIDs and most others have them, need no memory of their own.
public struct EventID: Hashable, Sendable {
    private let text: InlineText<40>

    public init(_ text: String) {
        self.init(utf8: text.utf8.span)
    }

    /// Takes bytes that are known to be UTF-8.
    public init(utf8: Span<UInt8>) {
        text = InlineText(utf8)
    }

    /// Lends the text's bytes.
    @inline(__always)
    public func withUTF8<Value>(_ body: (Span<UInt8>) -> Value) -> Value { text.withUTF8(body) }
}

extension EventID: CustomStringConvertible, ExpressibleByStringInterpolation {
    /// Made for whoever asks.
    public var description: String { text.string }

    public init(stringLiteral text: String) { self.init(text) }
}
