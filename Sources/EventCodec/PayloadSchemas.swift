import JSON
public import JSONSchema
public import Vocabulary

/// A schema of the operator or the registry, with its name in violations.
public struct NamedSchema: Sendable {
    /// The part before the `#` in a violation's keyword location.
    public let name: String
    public let schema: Schema

    public init(name: String, schema: Schema) {
        self.name = name
        self.schema = schema
    }

    /// Adds a value's violations to a report; none if the value is valid.
    ///
    /// A repeated name violates every schema: `if` and `properties` check only one of the values,
    /// and the app may use the other.
    func addFindings(
        of node: JSONNode,
        in document: JSONDocument,
        to report: inout FindingReport
    ) {
        report.schemaName = name
        if let repeated = document.repeatedMember(in: node) {
            report.add(repeated: repeated, in: document)
        }
        schema.addFindings(of: node, in: document, to: &report)
    }
}

/// The operator's payload schemas, bound to source topics and bundle IDs.
///
/// A payload must satisfy both the schema of its source topic and that of its bundle ID, if there
/// are such schemas.
public struct PayloadSchemas: Sendable {
    private let byTopic: [KafkaTopic: NamedSchema]
    private let byBundleID: [String: NamedSchema]
    /// Longest prefix first.
    private let byPrefix: [(prefix: String, schema: NamedSchema)]
    private let bundleID: @Sendable (APNsTopic, PushType) -> String

    /// No schemas.
    public static var none: PayloadSchemas {
        PayloadSchemas(topics: [:], bundleIDs: [:]) { topic, _ in topic.name }
    }

    /// Binds schemas.
    ///
    /// - Parameters:
    ///   - topics: The schemas of source topics.
    ///   - bundleIDs: The schemas of bundle IDs, or of prefixes followed by `*`; an exact bundle ID
    ///     takes precedence over a prefix, and a longer prefix over a shorter one.
    ///   - bundleID: Extracts the bundle ID from an APNs topic, for events without a bundle ID.
    public init(
        topics: [KafkaTopic: NamedSchema],
        bundleIDs: [String: NamedSchema],
        bundleID: @escaping @Sendable (APNsTopic, PushType) -> String
    ) {
        byTopic = topics
        byBundleID = bundleIDs.filter { !$0.key.hasSuffix("*") }
        byPrefix = bundleIDs.filter { $0.key.hasSuffix("*") }
            .map { (prefix: String($0.key.dropLast()), schema: $0.value) }
            .sorted { ($0.prefix.utf8.count, $0.prefix) > ($1.prefix.utf8.count, $1.prefix) }
        self.bundleID = bundleID
    }

    /// The schema of a source topic.
    func schema(of topic: KafkaTopic) -> NamedSchema? {
        byTopic.isEmpty ? nil : byTopic[topic]
    }

    /// The schema of the event's app.
    @inline(__always)
    func schema(of destination: Event.Destination, _ pushType: PushType) -> NamedSchema? {
        guard !byBundleID.isEmpty || !byPrefix.isEmpty else { return nil }
        return schemaOfApp(destination, pushType)
    }

    private func schemaOfApp(_ destination: Event.Destination, _ pushType: PushType) -> NamedSchema?
    {
        let name =
            switch destination {
            case .bundleID(let name): name
            case .topic(let topic): bundleID(topic, pushType)
            }
        if let exact = byBundleID[name] { return exact }
        return byPrefix.first { prefix, _ in
            name.utf8.count > prefix.utf8.count && name.hasPrefix(prefix)
        }?.schema
    }
}

/// The Schema Registry's answer for a schema that a record names.
public enum RegisteredSchema: Sendable {
    case usable(Schema)
    /// The registry does not have it.
    case unknown
    /// It cannot be enforced, for this reason.
    case unusable(String)

    /// Roughly the memory it takes, in bytes; zero unless it is usable.
    public var byteCount: Int {
        if case .usable(let schema) = self { schema.byteCount } else { 0 }
    }
}
