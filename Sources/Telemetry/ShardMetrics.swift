public import Vocabulary

/// Everything one shard counts.
///
/// The shard's thread writes, the admin port reads; see `Counter`. The meaning of each number is in
/// `MetricFamily`, with its name.
public final class ShardMetrics: Sendable {
    // Events.
    /// A row for each topic of the lists.
    let eventsConsumed: CounterGrid<RecordFraming>
    public let tombstones = Counter()
    /// A row for each credential, and a last one for events without.
    let outcomes: CounterGrid<OutcomeKind>
    public let reasons = CounterTable<ReasonLabel>()
    /// By the credential's place, and a last one for events without: that ended for another reason
    /// than themselves.
    public let eventsGivenUp: [Counter]
    /// The same; 1: a large share of them ends so.
    public let credentialsGivingUp: [Gauge]
    public let accounting = AccountingCell()
    public let inFlightEvents = Gauge()
    public let inFlightBytes = Gauge()
    public let awaitingSchema = Gauge()
    public let deferred = Counter()
    public let returned = Counter()
    public let released = Counter()
    public let skippedSettled = Counter()
    public let waitingForDue = Gauge()
    public let endToEnd: EndToEnd

    // APNs.
    public let attempts = Counter()
    /// A row for retries from memory, then one for each retry delay of the lists.
    let retries: CounterGrid<ReasonLabel>
    public let retriesDenied = Counter()
    public let madeRoom = Counter()
    public let rateLimitedEvents = Gauge()
    /// A row for each route.
    let responses: CounterGrid<StatusLabel>
    let refusals = CounterTable<APNsReasonLabel>()
    public let implausibleTimes = Counter()
    public let requestDuration = Histogram(bounds: Histogram.requestBounds)
    public let connects = Counter()
    public let connectionFailures = Counter()
    public let goAways = CounterTable<APNsReasonLabel>()
    public let stalls = Counter()
    public let requestTimeouts = Counter()
    public let brokenStreams = CounterTable<BrokenStreamLabel>()
    /// By the route's index.
    public let routes: [RouteMetrics]
    /// By the credential's place; 1: APNs refused it.
    public let parkedCredentials: [Gauge]
    public let clockSkewSeconds = Gauge()
    public let tokenFuseTrips = Counter()

    // Kafka.
    public let resultsProduced = Counter()
    public let tokenStatusRecords = Counter()
    public let deadLetters = CounterTable<ReasonLabel>()
    public let produceErrors = CounterTable<RecordLabel>()
    public let recordsDropped = CounterTable<RecordLabel>()
    public let commits = CounterTable<CallResult>()
    public let commitMetadataRefused = Counter()
    public let offsetsLost = CounterTable<LostOffsetLabel>()
    public let rebalances = Counter()
    public let assignedPartitions = Gauge()

    private let noCredential: Int

    /// - Parameter lists: The same for all shards of a process.
    public init(lists: MetricLists = MetricLists()) {
        eventsConsumed = CounterGrid(rowCount: lists.topics.count)
        outcomes = CounterGrid(rowCount: lists.credentials.count + 1)
        eventsGivenUp = (0...lists.credentials.count).map { _ in Counter() }
        credentialsGivingUp = (0...lists.credentials.count).map { _ in Gauge() }
        endToEnd = EndToEnd(lists)
        retries = CounterGrid(rowCount: lists.retryTiers.count)
        responses = CounterGrid(rowCount: lists.routes.count)
        routes = lists.routes.map { _ in RouteMetrics() }
        parkedCredentials = lists.credentials.map { _ in Gauge() }
        noCredential = lists.credentials.count
    }

    /// Counts an event that was read from Kafka.
    ///
    /// - Parameters:
    ///   - framing: How it was wrapped in its record.
    ///   - topic: By its place in the lists.
    public func countConsumed(_ framing: RecordFraming, topic: Int) {
        eventsConsumed[row: topic, label: framing].add()
    }

    /// Counts an event's terminal outcome under its kind and, if it has one, its reason.
    ///
    /// - Parameters:
    ///   - kind: What became of the event.
    ///   - reason: Nil only for what was accepted.
    ///   - credential: By its place in the lists; nil: none covers the event, or it is unknown.
    public func count(_ kind: OutcomeKind, reason: Reason?, credential: Int?) {
        outcomes[row: credential ?? noCredential, label: kind].add()
        if let reason { reasons[ReasonLabel(reason)].add() }
    }

    /// Counts an answer of APNs and the time from opening its stream to its end.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - reason: What its body says.
    ///   - route: By its index.
    ///   - nanoseconds: Since its stream was requested.
    public func countResponse(
        status: Int,
        reason: Reason? = nil,
        route: Int,
        nanoseconds: Int64
    ) {
        responses[row: route, label: StatusLabel(status)].add()
        if status != 200 { refusals[APNsReasonLabel(reason)].add() }
        requestDuration.record(nanoseconds: nanoseconds)
    }

    /// Sets how many retries from memory a reason has caused since the start.
    public func setRetriesHere(_ count: Int, because reason: Reason) {
        retries[row: 0, label: ReasonLabel(reason)].raise(to: UInt64(count))
    }

    /// Counts an event that a retry topic has.
    ///
    /// - Parameters:
    ///   - tier: The topic's delay, by its place in the lists.
    ///   - reason: Why the last attempt failed.
    public func countDeferral(tier: Int, because reason: Reason) {
        deferred.add()
        retries[row: tier + 1, label: ReasonLabel(reason)].add()
    }
}
