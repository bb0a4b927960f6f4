/// One violation of a schema by a document.
///
/// The three fields are those of JSON Schema's "basic" output format (draft 2020-12, 12.4.2).
public struct SchemaFinding: Hashable, Sendable {
    /// JSON Pointer (RFC 6901) to the value in the document; empty is the whole document.
    public var instanceLocation: String
    /// JSON Pointer to the keyword in the schema.
    public var keywordLocation: String
    /// A message for people; never contains a string from the document.
    public var message: String
}
