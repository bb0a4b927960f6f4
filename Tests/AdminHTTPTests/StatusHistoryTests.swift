import AdminHTTP
import Telemetry
import Testing
import Vocabulary

/// Families written by hand, so that the page's values do not depend on the service's metrics.
private func counter(
    _ name: String,
    _ samples: [([(String, String)], String)]
) -> MetricFamily {
    MetricFamily(
        name: name,
        help: "",
        kind: .counter,
        samples: samples.map { labels, value in
            .init(labels: labels.map { .init($0.0, $0.1) }, value: value)
        }
    )
}

private func outcomes(_ accepted: Int, _ rejected: Int = 0) -> MetricFamily {
    counter(
        "events_terminal_total",
        [
            ([("credential", "a"), ("outcome", "accepted")], "\(accepted)"),
            ([("credential", "b"), ("outcome", "accepted")], "1"),
            ([("credential", "a"), ("outcome", "rejected")], "\(rejected)"),
        ]
    )
}

private func reason(_ count: Int, _ name: String, decidedBy: String) -> MetricFamily {
    counter(
        "outcome_reasons_total",
        [([("decided_by", decidedBy), ("reason", name)], "\(count)")]
    )
}

private func durations(_ counts: [Int]) -> MetricFamily {
    let bounds = ["0.1", "0.2", "+Inf"]
    var cumulative = 0
    var samples: [MetricFamily.Sample] = []
    for (bound, count) in zip(bounds, counts) {
        cumulative += count
        let labels = [MetricFamily.Label("le", bound)]
        samples.append(.init(suffix: "_bucket", labels: labels, value: "\(cumulative)"))
    }
    return MetricFamily(
        name: "apns_request_duration_seconds",
        help: "",
        kind: .histogram,
        samples: samples
    )
}

private func json(_ history: StatusHistory) -> String {
    let document = StatusDocument(
        version: "1",
        state: "running",
        uptimeSeconds: 1,
        readiness: Readiness(),
        families: [],
        history: history,
        campaigns: StatusCampaigns(now: Timestamp(milliseconds: 0))
    )
    return String(decoding: document.utf8, as: UTF8.self)
}

@Suite struct StatusHistoryTests {
    private func history(_ readings: [[MetricFamily]]) -> StatusHistory {
        var history = StatusHistory()
        for (index, families) in readings.enumerated() {
            history.record(
                families,
                uptimeMilliseconds: Int64(index) * StatusHistory.interval * 1000
            )
        }
        return history
    }

    @Test func `a rate is the difference divided by the time between two samples`() {
        let text = json(history([[outcomes(0)], [outcomes(10, 5)], [outcomes(10, 6)]]))
        #expect(text.contains("\"at_seconds\":[5,10]"))
        #expect(text.contains("\"accepted\":[2,0],\"rejected\":[1,0.2]"))
    }

    @Test func `a late sample spreads its count over the elapsed time`() {
        var history = StatusHistory()
        history.record([outcomes(0)], uptimeMilliseconds: 0)
        history.record([outcomes(100)], uptimeMilliseconds: 20_000)
        #expect(json(history).contains("\"accepted\":[5]"))
    }

    @Test func `a sample at the same instant is ignored`() {
        var history = StatusHistory()
        history.record([outcomes(0)], uptimeMilliseconds: 5)
        let before = history
        history.record([outcomes(9)], uptimeMilliseconds: 5)
        #expect(history == before)
    }

    @Test func `one sample gives no rate`() {
        #expect(json(history([[outcomes(1)]])).contains("\"at_seconds\":[],"))
        #expect(json(history([])).contains("\"at_seconds\":[],\"outcomes_per_second\":{}"))
    }

    @Test func `a missing family gives no number`() {
        let lag = MetricFamily(
            name: "kafka_consumer_lag_records",
            help: "",
            kind: .gauge,
            samples: [
                .init(labels: [.init("partition", "0")], value: "3"),
                .init(labels: [.init("partition", "1")], value: "4"),
            ]
        )
        let text = json(history([[], [], [lag]]))
        #expect(text.contains("\"levels\":{\"lag\":[null,7]}"))
        #expect(text.contains("\"per_second\":{}"))
    }

    @Test func `events in retry topics are not lag`() {
        let counts = [
            ("notifications", "3"), ("notifications.retry.15m", "1000"), ("a.b.retry.1m", "1000"),
            ("retry.notifications", "4"), ("notifications.retry.later.urgent", "5"),
        ]
        let lag = MetricFamily(
            name: "kafka_consumer_lag_records",
            help: "",
            kind: .gauge,
            samples: counts.map { .init(labels: [.init("topic", $0.0)], value: $0.1) }
        )
        #expect(json(history([[], [lag]])).contains("\"levels\":{\"lag\":[12]}"))
    }

    @Test(arguments: [
        ([10, 0, 0], "0.05", "0.099"),
        ([5, 5, 0], "0.1", "0.198"),
        // Beyond the last bound only the bound is known.
        ([0, 0, 4], "0.2", "0.2"),
        ([0, 0, 0], "null", "null"),
    ])
    func `percentiles are interpolated within their bucket`(
        counts: [Int],
        p50: String,
        p99: String
    ) {
        let text = json(history([[durations([7, 7, 7])], [durations(counts.map { $0 + 7 })]]))
        let wanted =
            p50 == "null"
            ? "\"apns_seconds\":{}" : "\"apns_seconds\":{\"p50\":[\(p50)],\"p99\":[\(p99)]}"
        #expect(text.contains(wanted))
    }

    @Test func `percentiles ignore samples older than a minute`() {
        let slow = Array(repeating: [durations([0, 9, 0])], count: 13)
        let quick = Array(repeating: [durations([9, 9, 0])], count: 13)
        let text = json(history([[durations([0, 0, 0])]] + slow + quick))
        // Twelve points have slow events, one has none, twelve have fast ones, one has none.
        let p99 = text.split(separator: "\"p99\":[")[1].split(separator: "]")[0]
        let values = p99.split(separator: ",")
        #expect(values.count == 26)
        #expect(values[..<12].allSatisfy { $0 == "0.199" })
        #expect(values[12] == "null")
        #expect(values[13..<25].allSatisfy { $0 == "0.099" })
        #expect(values[25] == "null")
    }

    @Test func `samples older than the shown ones are dropped`() {
        let many = (0...500).map { [outcomes($0 * 5)] }
        let text = json(history(many))
        let at = text.split(separator: "\"at_seconds\":[")[1].split(separator: "]")[0]
        #expect(at.split(separator: ",").count == StatusHistory.pointCount)
        #expect(at.hasSuffix(",2500"))
        let accepted = text.split(separator: "\"accepted\":[")[1].split(separator: "]")[0]
        #expect(accepted.split(separator: ",").allSatisfy { $0 == "1" })
    }

    @Test func `reasons have counts since the start and recently, and their last time`() {
        let old = reason(4, "Expired", decidedBy: "heliograph")
        let both = counter(
            "outcome_reasons_total",
            [
                ([("decided_by", "heliograph"), ("reason", "Expired")], "4"),
                ([("decided_by", "apns"), ("reason", "BadTopic")], "2"),
                ([("decided_by", "apns"), ("reason", "Shutdown")], "0"),
            ]
        )
        let refusals = counter("apns_refusals_total", [([("reason", "BadTopic")], "3")])
        let quiet = Array(repeating: [old], count: StatusHistory.pointCount)
        let reasons = history([[]] + quiet + [[both, refusals]]).reasons
        let nothing = StatusReasonCount.Count(recent: 0, total: 0)
        #expect(
            reasons == [
                StatusReasonCount(
                    reason: "BadTopic",
                    decidedBy: "apns",
                    outcomes: .init(recent: 2, total: 2),
                    refusals: .init(recent: 3, total: 3),
                    lastSeenSeconds: Int64(StatusHistory.pointCount + 1) * StatusHistory.interval
                ),
                StatusReasonCount(
                    reason: "Expired",
                    decidedBy: "heliograph",
                    outcomes: .init(recent: 0, total: 4),
                    refusals: nothing,
                    lastSeenSeconds: nil
                ),
            ]
        )
    }
}
