import JSON

/// A schema as the registry has it, with everything that it refers to.
package struct RegisteredText: Hashable, Sendable {
    /// The schema itself.
    package var text: [UInt8]
    /// What it refers to, directly or not, by the names that the references give.
    package var references: [String: [UInt8]]

    package init(text: [UInt8], references: [String: [UInt8]] = [:]) {
        self.text = text
        self.references = references
    }
}

/// What the registry says of a schema.
package enum RegistryVerdict: Hashable, Sendable {
    case found(RegisteredText)
    /// There is no such schema.
    case unknown
    /// The schema is not one that can be used, with the cause.
    case unusable(String)
}

/// One schema in one answer ("Schema Registry API Reference", `GET /schemas/ids/{int: id}` and
/// `GET /subjects/(string: subject)/versions/(versionId: version)`).
struct RegistryAnswer: Hashable, Sendable {
    struct Reference: Hashable, Sendable {
        var name: String
        var subject: String
        var version: Int64
    }

    /// Absent means Avro.
    var type: String
    var text: [UInt8]
    var references: [Reference]

    /// Reads the body of a 200; nil when it is none that a registry gives.
    init?(_ body: [UInt8]) {
        guard let value = try? JSONValue.parse(body), let schema = value["schema"]?.string
        else { return nil }
        type = value["schemaType"]?.string ?? "AVRO"
        text = Array(schema.utf8)
        references = []
        for item in value["references"]?.array ?? [] {
            guard let name = item["name"]?.string, let subject = item["subject"]?.string,
                let version = item["version"]?.integer
            else { return nil }
            references.append(Reference(name: name, subject: subject, version: version))
        }
    }

    /// Whether the body of a 404 says that a schema, subject or version is missing.
    ///
    /// Error codes 40400 to 40499; a proxy's 404, or that of a path that this registry does not
    /// have, says nothing about the schema.
    static func saysMissing(_ body: [UInt8]) -> Bool {
        guard let code = (try? JSONValue.parse(body))?["error_code"]?.integer else { return false }
        return (40400...40499).contains(code)
    }
}
