/// The metrics of all shards together.
public struct Metrics: Sendable {
    /// The version of this build, as `heliograph_build_info` shows it.
    public let version: String
    private let libraries: [MetricFamily.Label]
    let lists: MetricLists
    public let shards: [ShardMetrics]
    public let schemas: SchemaMetrics
    public let tokens: TokenMetrics
    public let credentials: CredentialMetrics
    private let files: FileMetrics
    private let kafka: KafkaMetrics
    private let process: ProcessMetrics

    /// - Parameters:
    ///   - version: Of this build.
    ///   - libraries: Names and versions of libraries, for `build_info`.
    ///   - lists: Those that the shards' metrics were made with.
    ///   - shards: One for each shard.
    ///   - schemas: Of schemas that others wrote.
    ///   - tokens: Of device tokens.
    ///   - credentials: Of keys and certificates.
    ///   - files: Of those for Kafka and the admin port.
    ///   - kafka: Of partitions and brokers.
    ///   - process: Of the process itself.
    public init(
        version: String,
        libraries: KeyValuePairs<String, String> = [:],
        lists: MetricLists = MetricLists(),
        shards: [ShardMetrics],
        schemas: SchemaMetrics = SchemaMetrics(),
        tokens: TokenMetrics = TokenMetrics(),
        credentials: CredentialMetrics = CredentialMetrics(),
        files: FileMetrics = FileMetrics(),
        kafka: KafkaMetrics = KafkaMetrics(),
        process: ProcessMetrics = ProcessMetrics()
    ) {
        self.version = version
        self.libraries = libraries.map { MetricFamily.Label($0.key, $0.value) }
        self.lists = lists
        self.shards = shards
        self.schemas = schemas
        self.tokens = tokens
        self.credentials = credentials
        self.files = files
        self.kafka = kafka
        self.process = process
    }

    /// Every family, in the order of the documentation, read now.
    public var families: [MetricFamily] {
        eventFamilies + schemaFamilies + apnsFamilies + routeFamilies + credentials.families
            + files.families + tokens.families(shards) + producedFamilies + groupFamilies
            + kafka.families
            + buildFamilies + process.families
    }

    private var buildFamilies: [MetricFamily] {
        [
            .gauge("shards", "Shards of this process.", value: "\(shards.count)"),
            MetricFamily(
                name: "build_info",
                help: "Always 1; the labels name the versions.",
                kind: .info,
                samples: [.init(labels: [.init("version", version)] + libraries, value: "1")]
            ),
        ]
    }
}
