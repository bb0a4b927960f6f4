extension Configuration {
    /// Every place that refers to one of the operator's schemas.
    var schemaUses: [(path: String, name: String)] {
        let ofSources = sources.enumerated().compactMap { index, source in
            source.payloadSchema.map { (path: "sources.\(index).payload_schema", name: $0) }
        }
        let ofApps = schemas.payloadSchemas.enumerated().map { index, entry in
            (path: "schemas.payload_schemas.\(index).schema", name: entry.schema)
        }
        return ofSources + ofApps
    }

    func checkSchemas(_ reader: ConfigurationReader) {
        if schemas.directory == nil, reader.isSound("schemas.directory") {
            for use in schemaUses where !use.name.isEmpty {
                reader.report(
                    "is \(use.name.quoted); set schemas.directory as well",
                    at: use.path
                )
            }
        }
        var covers: [BundleIDPattern: String] = [:]
        for (index, entry) in schemas.payloadSchemas.enumerated() {
            let path = "schemas.payload_schemas.\(index).bundle_ids"
            for pattern in entry.bundleIDs {
                if let other = covers[pattern] {
                    reader.report(
                        "has \(pattern.description.quoted), as has \(other); remove one of them",
                        at: path
                    )
                }
                covers[pattern] = covers[pattern] ?? path
            }
        }
    }

    func checkSchemaRegistry(_ reader: ConfigurationReader) {
        let registry = schemaRegistry
        let settings = [
            registry.username.map { _ in "username" }, registry.password?.key("password"),
            registry.bearerToken?.key("bearer_token"), registry.caFile.map { _ in "ca_file" },
        ]
        if registry.urls.isEmpty, reader.isSound("schema_registry.url") {
            for name in settings.compactMap(\.self) {
                reader.report(
                    "is set; set schema_registry.url as well",
                    at: "schema_registry.\(name)"
                )
            }
        }
        if let password = registry.password, registry.username == nil,
            reader.isSound("schema_registry.username")
        {
            reader.report(
                "is set; set schema_registry.username as well",
                at: "schema_registry.\(password.key("password"))"
            )
        }
        if let token = registry.bearerToken, registry.username != nil {
            reader.report(
                "is set together with schema_registry.username; remove one of them",
                at: "schema_registry.\(token.key("bearer_token"))"
            )
        }
    }
}
