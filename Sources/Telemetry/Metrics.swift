import Vocabulary

/// The metrics of all shards together.
package struct Metrics: Sendable {
    /// The version of this build, as `heliograph_build_info` shows it.
    package let version: String
    package let shards: [ShardMetrics]
    package let schemas: SchemaMetrics
    package let tokens: TokenMetrics
    package let credentials: CredentialMetrics

    package init(
        version: String,
        shards: [ShardMetrics],
        schemas: SchemaMetrics = SchemaMetrics(),
        tokens: TokenMetrics = TokenMetrics(),
        credentials: CredentialMetrics = CredentialMetrics()
    ) {
        self.version = version
        self.shards = shards
        self.schemas = schemas
        self.tokens = tokens
        self.credentials = credentials
    }

    /// Every family, in the order of the documentation, read now.
    package var families: [MetricFamily] {
        eventFamilies + schemaFamilies + apnsFamilies + credentials.families
            + tokens.families(shards) + kafkaFamilies + processFamilies
    }

    private var eventFamilies: [MetricFamily] {
        [
            .counters(
                "events_consumed_total",
                "Events read from Kafka, by how they were wrapped.",
                of: shards,
                \.eventsConsumed
            ) { [.init("framing", $0.rawValue)] },
            .counter(
                "tombstones_total",
                "Records without a value: skipped, no events.",
                of: shards,
                \.tombstones
            ),
            .counters(
                "events_terminal_total",
                "Events with a terminal outcome that Kafka acknowledged, by outcome.",
                of: shards,
                \.outcomes
            ) { [.init("outcome", $0.rawValue)] },
            .counters(
                "outcome_reasons_total",
                "Terminal outcomes by reason and by who decided; unknown reasons are 'other'.",
                of: shards,
                \.reasons
            ) { [.init("decided_by", $0.decidedBy.rawValue), .init("reason", $0.text)] },
            .gauge(
                "inflight_events",
                "Events in memory, up to the acknowledgement of their outcome.",
                of: shards,
                \.inFlightEvents
            ),
            .gauge(
                "inflight_bytes",
                "Bytes of keys, values and headers of the events in flight.",
                of: shards,
                \.inFlightBytes
            ),
            .counter(
                "events_deferred_total",
                "Consumed events that went on to a retry topic, as far as Kafka acknowledged it.",
                of: shards,
                \.deferred
            ),
            .counter(
                "events_returned_total",
                "Events consumed from a retry topic; among events_consumed_total.",
                of: shards,
                \.returned
            ),
            .counter(
                "events_released_total",
                "Events handed back unfinished: their partition's next owner consumes them again.",
                of: shards,
                \.released
            ),
            .counter(
                "events_skipped_settled_total",
                "Records read again that the commit metadata calls settled: not consumed, not sent.",
                of: shards,
                \.skippedSettled
            ),
            .gauge(
                "waiting_for_due_events",
                "Events from retry topics that are not due; among inflight_events.",
                of: shards,
                \.waitingForDue
            ),
            .gauge(
                "events_unaccounted",
                "Consumed minus terminal, in flight, deferred and released; not 0: a bug.",
                value: unaccounted.map { "\($0)" }
            ),
            .histogram(
                "end_to_end_seconds",
                "Seconds from the event's own time to its terminal outcome.",
                of: shards,
                \.endToEnd
            ),
        ]
    }

    private var apnsFamilies: [MetricFamily] {
        [
            .counter(
                "apns_attempts_total",
                "Streams opened for notifications.",
                of: shards,
                \.attempts
            ),
            .counter(
                "retries_total",
                "Attempts after the first of the same event.",
                of: shards,
                \.retries
            ),
            .counters(
                "apns_responses_total",
                "Answers of APNs, by HTTP status.",
                of: shards,
                \.responses
            ) { [.init("status", $0.text)] },
            .histogram(
                "apns_request_duration_seconds",
                "Seconds from the opening of a stream to its answer.",
                of: shards,
                \.requestDuration
            ),
            .counter(
                "apns_connects_total",
                "Connections to APNs that were opened.",
                of: shards,
                \.connects
            ),
            .counter(
                "apns_connection_failures_total",
                "Connections to APNs that could not be opened, or broke.",
                of: shards,
                \.connectionFailures
            ),
            .counter(
                "apns_goaway_total",
                "GOAWAY frames from APNs.",
                of: shards,
                \.goAways
            ),
            .counter(
                "apns_stalled_connections_total",
                "Connections replaced because they answered PINGs and no request.",
                of: shards,
                \.stalls
            ),
            .counter(
                "apns_request_timeouts_total",
                "Requests to APNs given up because no answer came in time.",
                of: shards,
                \.requestTimeouts
            ),
            .gauge(
                "apns_connections",
                "Open connections to APNs.",
                of: shards,
                \.openConnections
            ),
            .gauge(
                "apns_streams",
                "Open streams on them.",
                of: shards,
                \.streamsInUse
            ),
            .gauge(
                "apns_clock_skew_seconds",
                "APNs' clock minus this machine's, as far as it is certain.",
                value: "\(largestClockSkew)"
            ),
        ] + bulkheadFamilies
    }

    private var bulkheadFamilies: [MetricFamily] {
        [
            .gauge(
                "apns_breakers_open",
                "Endpoints, counted per shard and credential, that are left alone or probed.",
                of: shards,
                \.openBreakers
            ),
            .gauge(
                "apns_credentials_parked",
                "Credentials, counted per shard, that APNs condemned and that are not used.",
                of: shards,
                \.parkedCredentials
            ),
            .gauge(
                "rate_limited_events",
                "Events that wait because their app is at limits.rates.",
                of: shards,
                \.rateLimitedEvents
            ),
            .counter(
                "events_made_room_total",
                "Events put off without an attempt: their route was blocked or did not move.",
                of: shards,
                \.madeRoom
            ),
            .counter(
                "retries_denied_total",
                "Retries that the credential's budget did not allow.",
                of: shards,
                \.retriesDenied
            ),
        ]
    }

    private var kafkaFamilies: [MetricFamily] {
        [
            .counter(
                "results_produced_total",
                "Outcomes that Kafka acknowledged.",
                of: shards,
                \.resultsProduced
            ),
            .counter(
                "token_status_records_total",
                "Token-status records that Kafka acknowledged.",
                of: shards,
                \.tokenStatusRecords
            ),
            .counter(
                "dlq_total",
                "Dead letters that Kafka acknowledged.",
                of: shards,
                \.deadLetters
            ),
            .counter(
                "produce_errors_total",
                "Records that Kafka refused or did not acknowledge in time.",
                of: shards,
                \.produceErrors
            ),
            .counters(
                "commits_total",
                "Offset commits, by result.",
                of: shards,
                \.commits
            ) { [.init("result", $0.rawValue)] },
            .counter(
                "rebalances_total",
                "Rebalances of the consumer group that this process saw.",
                of: shards,
                \.rebalances
            ),
            .gauge(
                "partitions_assigned",
                "Partitions assigned to this process.",
                of: shards,
                \.assignedPartitions
            ),
            .gauge(
                "partition_paused",
                "Assigned partitions whose fetching is paused.",
                of: shards,
                \.pausedPartitions
            ),
        ]
    }

    private var processFamilies: [MetricFamily] {
        [
            .gauge("shards", "Shards of this process.", value: "\(shards.count)"),
            .gauge(
                "build_info",
                "Always 1; the label names the version.",
                labels: [.init("version", version)],
                value: "1"
            ),
        ]
    }

    private var largestClockSkew: Int {
        shards.map(\.clockSkewSeconds.value).max { abs($0) < abs($1) } ?? 0
    }

    /// Nil when a shard's numbers could not be read as one state.
    private var unaccounted: Int64? {
        var sum: Int64 = 0
        for shard in shards {
            guard let accounting = shard.accounting.read() else { return nil }
            sum &+= accounting.unaccounted
        }
        return sum
    }
}
