public import JSONSchema
public import Vocabulary

extension Violation {
    /// What a schema found, as an outcome reports it.
    public init(_ finding: SchemaFinding) {
        self.init(
            instanceLocation: finding.instanceLocation,
            keywordLocation: finding.keywordLocation,
            message: finding.message
        )
    }
}
