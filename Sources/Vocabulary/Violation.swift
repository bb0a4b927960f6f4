/// One violation of a schema by a document.
///
/// The three fields are those of JSON Schema's "basic" output format (draft 2020-12, 12.4.2).
public struct Violation: Hashable, Sendable {
    /// JSON Pointer (RFC 6901) to the value in the document; empty is the whole document.
    public var instanceLocation: String
    /// JSON Pointer to the keyword in the schema, or the rule's name.
    public var keywordLocation: String
    /// A sentence for people.
    ///
    /// Never repeats a device token or a payload's value.
    public var message: String

    public init(instanceLocation: String, keywordLocation: String, message: String) {
        self.instanceLocation = instanceLocation
        self.keywordLocation = keywordLocation
        self.message = message
    }
}
