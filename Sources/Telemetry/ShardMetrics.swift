package import Vocabulary

/// Everything one shard counts.
///
/// The shard's thread writes, the admin port reads; see `Counter`. The meaning of each number
/// stands in `MetricFamily`, with its name.
package final class ShardMetrics: Sendable {
    // Events.
    package let eventsConsumed = CounterTable(RecordFraming.allCases)
    package let tombstones = Counter()
    package let outcomes = CounterTable(OutcomeKind.allCases)
    package let reasons = CounterTable(ReasonLabel.allCases)
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
    package let retries = Counter()
    package let retriesDenied = Counter()
    package let madeRoom = Counter()
    package let openBreakers = Gauge()
    package let parkedCredentials = Gauge()
    package let rateLimitedEvents = Gauge()
    package let responses = CounterTable(StatusLabel.allCases)
    package let requestDuration = Histogram(bounds: Histogram.requestBounds)
    package let connects = Counter()
    package let connectionFailures = Counter()
    package let goAways = Counter()
    package let stalls = Counter()
    package let requestTimeouts = Counter()
    package let openConnections = Gauge()
    package let streamsInUse = Gauge()
    package let clockSkewSeconds = Gauge()
    package let blownTokenFuses = Gauge()
    package let tokenFuseTrips = Counter()

    // Kafka.
    package let resultsProduced = Counter()
    package let tokenStatusRecords = Counter()
    package let deadLetters = Counter()
    package let produceErrors = Counter()
    package let commits = CounterTable(CallResult.allCases)
    package let rebalances = Counter()
    package let assignedPartitions = Gauge()
    package let pausedPartitions = Gauge()

    package init() {}

    /// Counts an event's terminal outcome under its kind and, if it has one, its reason.
    package func count(_ kind: OutcomeKind, reason: Reason?) {
        outcomes[kind].add()
        if let reason { reasons[ReasonLabel(reason)].add() }
    }

    /// Counts an answer of APNs and the time from opening its stream to its end.
    package func countResponse(status: Int, after duration: Duration) {
        responses[StatusLabel(status)].add()
        requestDuration.record(duration)
    }
}
