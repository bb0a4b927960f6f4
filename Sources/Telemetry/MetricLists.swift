/// The closed lists of label values from the configuration.
///
/// With the labels that are closed lists of their own (`MetricLabel`) they bound how many samples
/// there can be: nothing that comes out of a record or from a peer becomes a label.
public struct MetricLists: Hashable, Sendable {
    /// The credentials' names, in the order of the configuration.
    public let credentials: [String]
    /// How each of them shows APNs who it is.
    let credentialClasses: [CredentialClassLabel]
    /// The topics of the sources, in the order of the configuration.
    let sources: [String]
    /// Every topic that events are read from: sources and their retry topics.
    public let topics: [String]
    /// The delays of the retry topics, such as `15m`.
    public let retryDelays: [String]
    /// Every credential in every environment.
    let routes: [Route]

    /// `certificates` are the places of the credentials that show one; `sources` is how many of
    /// `topics`, which they begin, are sources, nil: all.
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

    /// A credential in an environment; its place is the route's index in `Delivery`.
    struct Route: Hashable, Sendable {
        var credential: String
        var environment: String

        var labels: [MetricFamily.Label] {
            [.init("credential", credential), .init("environment", environment)]
        }
    }

    /// Retries from memory, then those by way of each retry topic.
    var retryTiers: [String] { ["here"] + retryDelays }
}
