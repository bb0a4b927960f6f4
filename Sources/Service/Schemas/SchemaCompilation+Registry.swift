import Configuration
import JSONSchema
import RegistryIO

extension SchemaCompilation {
    /// Compiles a schema of the registry, where draft-07 is what a schema without `$schema` means.
    ///
    /// - Parameter registered: The schema, and what it refers to by the references' names.
    /// - Throws: `SchemaError` with the place of the keyword that cannot be enforced.
    /// - Returns: The schema, ready to check with.
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
