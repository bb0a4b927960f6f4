import JSON

/// A schema from the registry, together with all schemas that it refers to.
package struct RegisteredText: Hashable, Sendable {
    /// The schema itself.
    package var text: [UInt8]
    /// The schemas that it refers to, directly or indirectly, by the names in the references.
    package var references: [String: [UInt8]]

    package init(text: [UInt8], references: [String: [UInt8]] = [:]) {
        self.text = text
        self.references = references
    }

    package var byteCount: Int { references.values.reduce(text.count) { $0 + $1.count } }
}

/// The registry's answer for a schema.
package enum RegistryVerdict: Hashable, Sendable {
    case found(RegisteredText)
    /// The registry has no such schema.
    case unknown
    /// The schema cannot be used; with the cause.
    case unusable(String)
}

/// One schema in one answer.
///
/// See "Schema Registry API Reference", `GET /schemas/ids/{int: id}` and `GET /subjects/(string:
/// subject)/versions/(versionId: version)`.
package struct RegistryAnswer: Hashable, Sendable {
    package struct Reference: Hashable, Sendable {
        package var name: String
        package var subject: String
        package var version: Int64

        package init(name: String, subject: String, version: Int64) {
            self.name = name
            self.subject = subject
            self.version = version
        }
    }

    /// In upper case; `AVRO` if the answer does not give it.
    package let type: String
    package let text: [UInt8]
    package let references: [Reference]

    /// Reads the body of a 200; nil if it is not a registry's answer.
    package init?(_ body: [UInt8]) {
        let limits = JSONLimits(maxByteCount: HTTPTransfer.maxByteCount)
        guard let value = try? JSONValue.parse(body, limits: limits),
            let schema = value["schema"]?.string
        else { return nil }
        type = value["schemaType"]?.string?.uppercased() ?? "AVRO"
        text = Array(schema.utf8)
        var references: [Reference] = []
        for item in value["references"]?.array ?? [] {
            guard let name = item["name"]?.string, let subject = item["subject"]?.string,
                let version = item["version"]?.integer
            else { return nil }
            references.append(Reference(name: name, subject: subject, version: version))
        }
        self.references = references
    }

    /// Interprets a registry's answer to a request for a schema.
    ///
    /// - Returns: nil: the registry has no such schema.
    package static func read(
        status: Int,
        _ body: [UInt8]
    ) throws(RegistryError) -> RegistryAnswer? {
        switch status {
        case 200:
            guard let schema = RegistryAnswer(body) else {
                throw .refused(
                    status: 200,
                    "the answer is not a Schema Registry's; check schema_registry.url"
                )
            }
            return schema
        case 404 where saysMissing(body): return nil
        case 404:
            throw .refused(
                status: 404,
                "no Schema Registry at this address and path; check schema_registry.url"
            )
        case 401, 403:
            throw .refused(
                status: status,
                "the credentials are refused; check schema_registry.username or bearer_token"
            )
        case _ where isFailure(status: status): throw .unreachable("status \(status)")
        default: throw .refused(status: status, "unexpected answer to a request for a schema")
        }
    }

    /// Whether the status reports a failure of the server (RFC 9110, section 15.6).
    static func isFailure(status: Int) -> Bool { status >= 500 }

    /// Whether the body of a 404 says that a schema, subject or version does not exist.
    ///
    /// The error codes are 40400 to 40499. A 404 from a proxy, or for a path that this registry
    /// does not have, says nothing about the schema.
    package static func saysMissing(_ body: [UInt8]) -> Bool {
        guard let code = (try? JSONValue.parse(body))?["error_code"]?.integer else { return false }
        return (40400...40499).contains(code)
    }
}
