/// The metrics of all shards together.
public struct Metrics: Sendable {
    /// The version of this build, shown in `heliograph_build_info`.
    public let version: String
    private let libraries: [MetricFamily.Label]
    let lists: MetricLists
    public let shards: [ShardMetrics]
    public let schemas: SchemaMetrics
    public let tokens: TokenMetrics
    public let campaigns: CampaignMetrics
    public let credentials: CredentialMetrics
    private let files: FileMetrics
    private let kafka: KafkaMetrics
    private let process: ProcessMetrics

    /// - Parameters:
    ///   - version: The version of this build.
    ///   - libraries: The names and versions of libraries, for `build_info`.
    ///   - lists: The lists with which the shards' metrics were made.
    ///   - shards: The metrics of each shard.
    ///   - schemas: Metrics about external schemas.
    ///   - tokens: Metrics about device tokens.
    ///   - campaigns: Metrics about the orders of campaigns.
    ///   - credentials: Metrics about keys and certificates.
    ///   - files: Metrics about the files for Kafka and the admin port.
    ///   - kafka: Metrics about partitions and brokers.
    ///   - process: Metrics about the process itself.
    public init(
        version: String,
        libraries: KeyValuePairs<String, String> = [:],
        lists: MetricLists = MetricLists(),
        shards: [ShardMetrics],
        schemas: SchemaMetrics = SchemaMetrics(),
        tokens: TokenMetrics = TokenMetrics(),
        campaigns: CampaignMetrics = CampaignMetrics(),
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
        self.campaigns = campaigns
        self.credentials = credentials
        self.files = files
        self.kafka = kafka
        self.process = process
    }

    /// The current values of every family, in the order of the documentation.
    public var families: [MetricFamily] {
        eventFamilies + schemaFamilies + apnsFamilies + routeFamilies + credentials.families
            + files.families + tokens.families(shards) + campaigns.families + producedFamilies
            + groupFamilies
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
