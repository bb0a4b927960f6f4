/// The closed lists of label values that depend on the configuration.
///
/// Together with the labels that are closed lists themselves (`MetricLabel`), they bound the number
/// of samples: nothing from a record or a peer becomes a label.
public struct MetricLists: Hashable, Sendable {
    /// The names of the credentials, in configuration order.
    public let credentials: [String]
    /// How each of them authenticates with APNs.
    let credentialClasses: [CredentialClassLabel]
    /// The source topics, in configuration order.
    let sources: [String]
    /// Every topic from which events are read: sources and their retry topics.
    public let topics: [String]
    /// The delays of the retry topics, such as `15m`.
    public let retryDelays: [String]
    /// Every combination of credential and environment.
    let routes: [Route]

    /// `certificates` contains the positions of credentials that are certificates.
    ///
    /// The first `sources` of `topics` are sources; nil: all of them.
    public init(
        credentials: [String] = [],
        certificates: Set<Int> = [],
        topics: [String] = [],
        sources: Int? = nil,
        retryDelays: [String] = []
    ) {
        self.credentials = credentials
        credentialClasses = credentials.indices.map {
            certificates.contains($0) ? .certificate : .providerToken
        }
        self.sources = Array(topics.prefix(sources ?? topics.count))
        self.topics = topics
        self.retryDelays = retryDelays
        routes = credentials.flatMap { credential in
            ["production", "sandbox"].map { Route(credential: credential, environment: $0) }
        }
    }

    /// A credential in an environment; its position is the route's index in `Delivery`.
    struct Route: Hashable, Sendable {
        var credential: String
        var environment: String

        var labels: [MetricFamily.Label] {
            [.init("credential", credential), .init("environment", environment)]
        }
    }

    /// The labels for retries from memory, and for retries through each retry topic.
    var retryTiers: [String] { ["here"] + retryDelays }
}
