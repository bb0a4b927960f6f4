package import Vocabulary

/// Everything one shard counts.
///
/// The shard's thread writes, the admin port reads; see `Counter`. The meaning of each number
/// stands in `MetricFamily`, with its name.
package final class ShardMetrics: Sendable {
    // Events.
    /// A row for each topic of the lists.
    let eventsConsumed: CounterGrid<RecordFraming>
    package let tombstones = Counter()
    /// A row for each credential, and a last one for events without.
    let outcomes: CounterGrid<OutcomeKind>
    package let reasons = CounterTable<ReasonLabel>()
    package let accounting = AccountingCell()
    package let inFlightEvents = Gauge()
    package let inFlightBytes = Gauge()
    package let awaitingSchema = Gauge()
    package let deferred = Counter()
    package let returned = Counter()
    package let released = Counter()
    package let skippedSettled = Counter()
    package let waitingForDue = Gauge()
    package let endToEnd = Histogram(bounds: Histogram.endToEndBounds)

    // APNs.
    package let attempts = Counter()
    /// A row for retries from memory, then one for each retry delay of the lists.
    let retries: CounterGrid<ReasonLabel>
    package let retriesDenied = Counter()
    package let madeRoom = Counter()
    package let rateLimitedEvents = Gauge()
    /// A row for each route.
    let responses: CounterGrid<StatusLabel>
    let refusals = CounterTable<APNsReasonLabel>()
    package let requestDuration = Histogram(bounds: Histogram.requestBounds)
    package let connects = Counter()
    package let connectionFailures = Counter()
    package let goAways = CounterTable<APNsReasonLabel>()
    package let stalls = Counter()
    package let requestTimeouts = Counter()
    /// By the route's index.
    package let routes: [RouteMetrics]
    /// By the credential's place; 1: APNs condemned it.
    package let parkedCredentials: [Gauge]
    package let clockSkewSeconds = Gauge()
    package let tokenFuseTrips = Counter()

    // Kafka.
    package let resultsProduced = Counter()
    package let tokenStatusRecords = Counter()
    package let deadLetters = CounterTable<ReasonLabel>()
    package let produceErrors = CounterTable<RecordLabel>()
    package let commits = CounterTable<CallResult>()
    package let rebalances = Counter()
    package let assignedPartitions = Gauge()

    private let noCredential: Int

    /// - Parameter lists: The same for all shards of a process.
    package init(lists: MetricLists = MetricLists()) {
        eventsConsumed = CounterGrid(rowCount: lists.topics.count)
        outcomes = CounterGrid(rowCount: lists.credentials.count + 1)
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
    package func countConsumed(_ framing: RecordFraming, topic: Int) {
        eventsConsumed[row: topic, label: framing].add()
    }

    /// Counts an event's terminal outcome under its kind and, if it has one, its reason.
    ///
    /// - Parameters:
    ///   - kind: What became of the event.
    ///   - reason: Nil only for what was accepted.
    ///   - credential: By its place in the lists; nil: none covers the event, or nobody can tell.
    package func count(_ kind: OutcomeKind, reason: Reason?, credential: Int?) {
        outcomes[row: credential ?? noCredential, label: kind].add()
        if let reason { reasons[ReasonLabel(reason)].add() }
    }

    /// Counts an answer of APNs and the time from opening its stream to its end.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - reason: What its body says.
    ///   - route: By its index.
    ///   - nanoseconds: Since its stream was asked for.
    package func countResponse(
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
    package func setRetriesHere(_ count: Int, because reason: Reason) {
        retries[row: 0, label: ReasonLabel(reason)].raise(to: UInt64(count))
    }

    /// Counts an event that a retry topic has.
    ///
    /// - Parameters:
    ///   - tier: The topic's delay, by its place in the lists.
    ///   - reason: What the last attempt died of.
    package func countDeferral(tier: Int, because reason: Reason) {
        deferred.add()
        retries[row: tier + 1, label: ReasonLabel(reason)].add()
    }
}
