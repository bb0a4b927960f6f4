public import Vocabulary

/// All counters of one shard.
///
/// The shard's thread writes them, and the admin port reads them; see `Counter`. Each number is
/// explained in `MetricFamily`, together with its name.
public final class ShardMetrics: Sendable {
    // Events.
    /// One row for each topic in the lists.
    let eventsConsumed: CounterGrid<RecordFraming>
    public let tombstones = Counter()
    /// One row for each credential, and a last one for events without a credential.
    let outcomes: CounterGrid<OutcomeKind>
    public let reasons = CounterTable<ReasonLabel>()
    /// Events that were given up although they were valid, by credential.
    ///
    /// The last one counts events without a credential.
    public let eventsGivenUp: [Counter]
    /// By the same positions; 1: a large share of events is given up.
    public let credentialsGivingUp: [Gauge]
    public let accounting = AccountingCell()
    public let recipients = Counter()
    public let inFlightEvents = Gauge()
    public let waitingRecipients = Gauge()
    public let inFlightBytes = Gauge()
    public let awaitingSchema = Gauge()
    public let deferred = Counter()
    public let returned = Counter()
    public let released = Counter()
    public let skippedSettled = Counter()
    public let waitingForDue = Gauge()
    public let awaitingCampaign = Gauge()
    public let endToEnd: EndToEnd

    // APNs.
    public let attempts = Counter()
    /// One row for retries from memory, and one for each retry delay in the lists.
    let retries: CounterGrid<ReasonLabel>
    public let retriesDenied = Counter()
    public let madeRoom = Counter()
    public let rateLimitedEvents = Gauge()
    /// One row for each route.
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
    /// By route index.
    public let routes: [RouteMetrics]
    /// By credential; 1: APNs refused it.
    public let parkedCredentials: [Gauge]
    public let clockSkewSeconds = Gauge()
    public let tokenFuseTrips = Counter()

    // Kafka.
    public let resultsProduced = Counter()
    public let tokenStatusRecords = Counter()
    public let deadLetters = CounterTable<ReasonLabel>()
    public let campaignTallyRecords = Counter()
    public let produceErrors = CounterTable<RecordLabel>()
    public let recordsDropped = CounterTable<RecordLabel>()
    public let commits = CounterTable<CallResult>()
    public let commitMetadataRefused = Counter()
    public let droppedRecipients = Gauge()
    public let untalliedOutcomes = Gauge()
    public let offsetsLost = CounterTable<LostOffsetLabel>()
    public let rebalances = Counter()
    public let assignedPartitions = Gauge()

    private let noCredential: Int

    /// - Parameter lists: The same lists for all shards of a process.
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
    ///   - framing: How the record wrapped it.
    ///   - topic: The topic's position in the lists.
    public func countConsumed(_ framing: RecordFraming, topic: Int) {
        eventsConsumed[row: topic, label: framing].add()
    }

    /// Counts the recipients of such an event, besides the first: each is an event.
    public func countFurtherRecipients(_ count: Int, _ framing: RecordFraming, topic: Int) {
        eventsConsumed[row: topic, label: framing].add(UInt64(count))
    }

    /// Counts an event's final outcome by kind and, if it has one, by reason.
    ///
    /// - Parameters:
    ///   - kind: How the event ended.
    ///   - reason: The reason; nil only for accepted events.
    ///   - credential: The credential's position; nil: none covers the event, or it is unknown.
    public func count(_ kind: OutcomeKind, reason: Reason?, credential: Int?) {
        outcomes[row: credential ?? noCredential, label: kind].add()
        if let reason { reasons[ReasonLabel(reason)].add() }
    }

    /// Counts an APNs answer, and the time from opening the stream to its end.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - reason: The reason in its body.
    ///   - route: The route's index.
    ///   - nanoseconds: The time since the stream was requested.
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

    /// Counts an event that was written to a retry topic.
    ///
    /// - Parameters:
    ///   - tier: The position of the topic's delay in the lists.
    ///   - reason: Why the last attempt failed.
    public func countDeferral(tier: Int, because reason: Reason) {
        deferred.add()
        retries[row: tier + 1, label: ReasonLabel(reason)].add()
    }
}
