import APNsRules
package import EventCodec
import Vocabulary

/// Which of the operator's schemas apply to which payloads.
package struct SchemaBindings: Sendable {
    private struct Use: Sendable {
        /// The configuration key, for problems.
        var path: String
        var name: String
    }

    private var topics: [KafkaTopic: Use] = [:]
    private var bundleIDs: [String: Use] = [:]
    private let compilation: SchemaCompilation

    package init(_ configuration: Configuration) {
        compilation = SchemaCompilation(assertsFormat: configuration.schemas.assertFormat)
        for (index, source) in configuration.sources.enumerated() {
            guard let name = source.payloadSchema else { continue }
            topics[source.topic] = Use(path: "sources.\(index).payload_schema", name: name)
        }
        for (index, entry) in configuration.schemas.payloadSchemas.enumerated() {
            let use = Use(path: "schemas.payload_schemas.\(index).schema", name: entry.schema)
            for pattern in entry.bundleIDs { bundleIDs[pattern.description] = use }
        }
    }

    /// Compiles every schema, and binds those that are used.
    ///
    /// - Parameters:
    ///   - files: The texts of the schemas.
    ///   - directory: Their directory, for problems.
    /// - Throws: `SchemaProblems` with every file that does not compile, and every name without a
    ///   file.
    /// - Returns: The compiled schemas.
    package func compile(
        _ files: SchemaFiles,
        in directory: String
    ) throws(SchemaProblems) -> PayloadSchemas {
        var problems: [SchemaProblems.Problem] = []
        var schemas: [String: NamedSchema] = [:]
        for (file, result) in compilation.compile(files, in: directory) {
            let name = Self.name(ofFile: file)
            switch result {
            case .failure(let error):
                problems += error.problems
            case .success(let schema):
                let named = NamedSchema(name: name, schema: schema)
                guard schemas.updateValue(named, forKey: name) != nil else { continue }
                problems.append(
                    .init(
                        path: "schemas.directory",
                        message: "has two files for the schema '\(name)'; keep one"
                    )
                )
            }
        }
        // Report a broken schema as broken, not as missing.
        guard problems.isEmpty else { throw SchemaProblems(Self.ordered(problems)) }
        let uses = Array(topics.values) + Array(bundleIDs.values)
        problems += uses.compactMap { Self.problem(of: $0, among: schemas) }
        guard problems.isEmpty else { throw SchemaProblems(Self.ordered(problems)) }
        return PayloadSchemas(
            topics: topics.compactMapValues { schemas[$0.name] },
            bundleIDs: bundleIDs.compactMapValues { schemas[$0.name] }
        ) { topic, pushType in
            APNsTopicRule.bundleID(in: topic, for: pushType) ?? APNsTopicRule.bundleID(in: topic)
        }
    }

    private static func problem(
        of use: Use,
        among schemas: [String: NamedSchema]
    ) -> SchemaProblems.Problem? {
        guard schemas[use.name] == nil else { return nil }
        let known = schemas.keys.sorted().joined(separator: ", ")
        let expected = known.isEmpty ? "which has none" : "which has \(known)"
        return .init(
            path: use.path,
            message: "is \(use.name.quoted); expected a schema of schemas.directory, \(expected)"
        )
    }

    /// The name of a file's schema: `order` for both `order.schema.json` and `order.json`.
    package static func name(ofFile file: String) -> String {
        for suffix in [".schema.json", ".json"] where file.hasSuffix(suffix) {
            return String(file.dropLast(suffix.count))
        }
        return file
    }

    /// Without duplicates, in an order independent of dictionaries.
    private static func ordered(
        _ problems: [SchemaProblems.Problem]
    ) -> [SchemaProblems.Problem] {
        Set(problems).sorted { ($0.path, $0.message) < ($1.path, $1.message) }
    }
}

extension Configuration {
    /// The operator's schemas in their current state.
    package func payloadSchemas() throws(SchemaProblems) -> PayloadSchemas {
        guard let directory = schemas.directory else { return .none }
        return try SchemaBindings(self).compile(try SchemaFiles.read(directory), in: directory)
    }

    /// The problems of the operator's schemas.
    func schemaProblems() -> [ConfigurationProblem] {
        do throws(SchemaProblems) {
            _ = try payloadSchemas()
            return []
        } catch {
            return error.problems.map { problem($0.message, at: $0.path) }
        }
    }
}
