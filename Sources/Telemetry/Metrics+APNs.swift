import Vocabulary

extension Metrics {
    var apnsFamilies: [MetricFamily] {
        attemptFamilies + [
            .histogram(
                "apns_request_duration_seconds",
                "Seconds from opening a stream to its answer.",
                of: shards,
                \.requestDuration
            ),
            .counter(
                "apns_connects_total",
                "Connection attempts to APNs.",
                of: shards,
                \.connects
            ),
            .counter(
                "apns_connection_failures_total",
                "Connections to APNs that could not be opened, or broke.",
                of: shards,
                \.connectionFailures
            ),
            .counters(
                "apns_goaway_total",
                "GOAWAY frames from APNs, by reason.",
                of: shards,
                \.goAways
            ) { [.init("reason", $0.text)] },
            .counter(
                "apns_stalled_connections_total",
                "Connections replaced because they answered PINGs but no request, or allowed none.",
                of: shards,
                \.stalls
            ),
            .counter(
                "apns_request_timeouts_total",
                "Requests to APNs that timed out.",
                of: shards,
                \.requestTimeouts
            ),
            .counters(
                "apns_broken_streams_total",
                "Streams to APNs that ended without an answer or a timeout, by cause.",
                of: shards,
                \.brokenStreams
            ) { [.init("cause", $0.rawValue)] },
            .gauge(
                "apns_clock_skew_seconds",
                "APNs' clock minus this machine's, if known.",
                value: "\(largestClockSkew)"
            ),
            .gauge(
                "rate_limited_events",
                "Events that wait because their app has reached limits.rates.",
                of: shards,
                \.rateLimitedEvents
            ),
            .counter(
                "events_made_room_total",
                "Events moved to a retry topic without an attempt, because their route or"
                    + " device blocked others.",
                of: shards,
                \.madeRoom
            ),
        ]
    }

    private var attemptFamilies: [MetricFamily] {
        [
            .counter(
                "apns_attempts_total",
                "Streams opened for notifications.",
                of: shards,
                \.attempts
            ),
            .counters(
                "retries_total",
                "Retries from memory (here) or through a retry topic, by the reason of the"
                    + " failed attempt.",
                of: shards,
                grid: \.retries
            ) { row, reason in
                [
                    .init("decided_by", reason.decidedBy.rawValue), .init("reason", reason.text),
                    .init("tier", lists.retryTiers[row]),
                ]
            },
            .counter(
                "retries_denied_total",
                "Retries denied by the credential's budget.",
                of: shards,
                \.retriesDenied
            ),
            .counters(
                "apns_responses_total",
                "Answers of APNs, by HTTP status.",
                of: shards,
                grid: \.responses
            ) { lists.routes[$0].labels + [.init("status", $1.text)] },
            .counters(
                "apns_refusals_total",
                "Answers of APNs other than 200, by reason.",
                of: shards,
                \.refusals
            ) { [.init("reason", $0.text)] },
            .counter(
                "apns_implausible_times_total",
                "410 answers with an implausible time: not in milliseconds, before 2009, or in the"
                    + " future.",
                of: shards,
                \.implausibleTimes
            ),
        ]
    }

    private var largestClockSkew: Int {
        shards.map(\.clockSkewSeconds.value).max { abs($0) < abs($1) } ?? 0
    }
}
