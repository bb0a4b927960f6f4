import Configuration
import JSONSchema
import RegistryIO

extension SchemaCompilation {
    /// Compiles a registered schema; without `$schema`, it is draft-07.
    ///
    /// - Parameter registered: The schema, and the schemas it refers to, by reference name.
    /// - Throws: `SchemaError` with the location of a keyword that cannot be enforced.
    /// - Returns: The compiled schema.
    func compile(_ registered: RegisteredText) throws(SchemaError) -> Schema {
        var library = SchemaLibrary(defaultDraft: .draft7)
        let references = registered.references.sorted { $0.key < $1.key }
        let uris = try SchemaLibrary.uris(
            of: references.map(\.key),
            referredToBy: registered.text
        )
        for (reference, uri) in zip(references, uris) {
            try library.add(reference.value, baseURI: uri)
        }
        return try Schema(
            text: registered.text,
            library: library,
            options: SchemaOptions(defaultDraft: .draft7, assertsFormat: assertsFormat)
        )
    }
}
