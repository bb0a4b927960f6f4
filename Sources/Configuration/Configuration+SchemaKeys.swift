// The keys for schemas; see Configuration+Keys.swift.

extension Configuration.Schemas {
    init(_ section: ConfigurationSection) {
        directory = section.optional(
            "directory",
            .directoryPath,
            """
            Directory of your JSON Schemas, `*.json`. A schema's name is its file name without \
            `.schema.json` or `.json`. Read again when it changes; null: none.
            """
        )
        payloadSchemas = section.entries(
            "payload_schemas",
            Configuration.PayloadSchema.init
        )
        assertFormat = section.value(
            "assert_format",
            .boolean,
            default: false,
            """
            Whether your schemas and the registry's enforce `format` even if their draft treats it \
            as an annotation.
            """
        )
        payload = section.value(
            "payload",
            .word(placeholder: .warn),
            default: .warn,
            """
            What happens to a payload that violates Apple's documentation: `warn` sends it and \
            lists the violations in the outcome, `strict` makes the event `invalid`, `off` does \
            not check.
            """
        )
    }
}

extension Configuration.PayloadSchema {
    fileprivate init(_ section: ConfigurationSection) {
        bundleIDs = section.list(
            "bundle_ids",
            of: .bundleID,
            "The apps whose payloads must match it. An exact bundle ID beats a pattern, a"
                + " longer pattern beats a shorter one."
        )
        schema = section.required(
            "schema",
            .schemaName,
            "Name of a schema in `schemas.directory`."
        )
    }
}

extension Configuration.SchemaRegistry {
    init(_ section: ConfigurationSection) {
        let url = section.optional(
            "url",
            .registryURLs,
            """
            Base URL of a Confluent Schema Registry, or several separated by commas, which are \
            tried in turn; null: records in the wire format are only checked against the event's \
            schema.
            """
        )
        urls = url.map(RegistryURL.list) ?? []
        username = section.optional("username", .nonEmpty, "User for HTTP basic authentication.")
        password = section.secret(
            "password",
            file: "File with the user's password; read again for each schema.",
            "The password itself."
        )
        bearerToken = section.secret(
            "bearer_token",
            file:
                "File with a bearer token, instead of user and password; read again for each schema.",
            "The token itself."
        )
        caFile = section.optional(
            "ca_file",
            .filePath,
            "PEM file of trusted roots; null: the system's."
        )
        requestTimeout = section.value(
            "request_timeout",
            .duration(in: .milliseconds(100)...(.seconds(60))),
            default: .seconds(5),
            "How long the registry may take to answer one request."
        )
    }
}

/// The base URL of a Schema Registry.
enum RegistryURL {
    /// The URLs in a list, without trailing slashes.
    static func list(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            var url = part.drop { $0 == " " }
            while url.last == " " || url.last == "/" { url.removeLast() }
            return String(url)
        }
    }

    /// Whether it has `http` or `https`, a host, and optionally a port and a path, but nothing
    /// else.
    static func isValid(_ url: String) -> Bool {
        guard let scheme = ["http://", "https://"].first(where: url.hasPrefix) else { return false }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        return Endpoint(url: "https://\(authority)") != nil
            && path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x23 }
    }
}

extension ValueType where Value == String {
    static let directoryPath = text("path", expectation: "the path of a directory") {
        filePath.parse($0) != nil
    }

    static let schemaName = text("name", expectation: "the name of a schema") {
        nonEmpty.parse($0) != nil && !$0.utf8.contains(UInt8(ascii: "/"))
    }

    static let registryURLs = text(
        "URL",
        expectation: "http://host:port or https://host:port, or several separated by commas"
    ) { RegistryURL.list($0).allSatisfy(RegistryURL.isValid) }
}
