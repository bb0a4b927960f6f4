public import JSONSchema
public import Vocabulary

extension Violation {
    /// Converts a schema's finding to a violation in an outcome.
    public init(_ finding: SchemaFinding) {
        self.init(
            instanceLocation: finding.instanceLocation,
            keywordLocation: finding.keywordLocation,
            message: finding.message
        )
    }
}
