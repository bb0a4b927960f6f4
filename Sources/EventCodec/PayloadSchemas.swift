import JSON
public import JSONSchema
public import Vocabulary

/// A schema from outside, and its name in violations.
public struct NamedSchema: Sendable {
    /// The part before the `#` in a violation's keyword location.
    public let name: String
    public let schema: Schema

    public init(name: String, schema: Schema) {
        self.name = name
        self.schema = schema
    }

    /// Adds to a report what is wrong with a value; nothing when it keeps to the schema.
    ///
    /// A name that stands twice is wrong under every schema: what `if` and `properties` say of one
    /// of the values is not said of the one that the app takes.
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

/// The operator's own schemas for payloads, bound to source topics and bundle IDs.
///
/// A payload must keep to the schema of its source topic and to that of its bundle ID, where there
/// are such.
public struct PayloadSchemas: Sendable {
    private let byTopic: [KafkaTopic: NamedSchema]
    private let byBundleID: [String: NamedSchema]
    /// Longest prefix first.
    private let byPrefix: [(prefix: String, schema: NamedSchema)]
    private let bundleID: @Sendable (APNsTopic, PushType) -> String

    /// No schema for anything.
    public static var none: PayloadSchemas {
        PayloadSchemas(topics: [:], bundleIDs: [:]) { topic, _ in topic.name }
    }

    /// Binds schemas.
    ///
    /// - Parameters:
    ///   - topics: The schemas of source topics.
    ///   - bundleIDs: The schemas of bundle IDs, or of prefixes with `*` at the end; an exact
    ///     bundle ID beats a prefix, a longer prefix beats a shorter one.
    ///   - bundleID: The bundle ID in an APNs topic, for the events that name no bundle ID.
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

    /// The schema of the app that an event is for.
    func schema(of event: Event) -> NamedSchema? {
        guard !byBundleID.isEmpty || !byPrefix.isEmpty else { return nil }
        let name =
            switch event.destination {
            case .bundleID(let name): name
            case .topic(let topic): bundleID(topic, event.pushType)
            }
        if let exact = byBundleID[name] { return exact }
        return byPrefix.first { prefix, _ in
            name.utf8.count > prefix.utf8.count && name.hasPrefix(prefix)
        }?.schema
    }
}

/// What is known about a schema that a record names.
public enum RegisteredSchema: Sendable {
    case usable(Schema)
    /// The registry does not have it.
    case unknown
    /// It cannot be enforced, with the cause.
    case unusable(String)

    /// About how much memory it takes: that of what can be enforced.
    public var byteCount: Int {
        if case .usable(let schema) = self { schema.byteCount } else { 0 }
    }
}
