import Telemetry
import Testing
import Vocabulary

@Suite struct MetricsTests {
    private func metrics(_ prepare: (ShardMetrics, ShardMetrics) -> Void) -> [String] {
        let shards = (ShardMetrics(), ShardMetrics())
        prepare(shards.0, shards.1)
        let metrics = Metrics(version: "1.2.3", shards: [shards.0, shards.1])
        return PrometheusText.render(metrics.families).split(separator: "\n").map(String.init)
    }

    @Test func `shards are summed`() {
        let lines = metrics { first, second in
            first.count(.accepted, reason: nil)
            second.count(.accepted, reason: nil)
            first.inFlightEvents.set(3)
            second.inFlightEvents.set(4)
            second.inFlightEvents.add(-1)
        }
        #expect(lines.contains("heliograph_events_terminal_total{outcome=\"accepted\"} 2"))
        #expect(lines.contains("heliograph_inflight_events 6"))
        #expect(lines.contains("heliograph_shards 2"))
    }

    @Test func `a credential shows what it has`() {
        let reloads = CounterTable(CallResult.allCases)
        reloads[.failed].add()
        let credentials = CredentialMetrics(reloads: reloads) {
            [
                .init(credential: "key", loadedAt: 7, certificateExpiry: nil, tokenAge: 90),
                .init(credential: "legacy", loadedAt: 8, certificateExpiry: 99, tokenAge: nil),
            ]
        }
        let metrics = Metrics(version: "1.2.3", shards: [], credentials: credentials)
        let lines = PrometheusText.render(metrics.families).split(separator: "\n")
            .filter { $0.hasPrefix("heliograph_c") || $0.hasPrefix("heliograph_p") }
        let samples = [
            "heliograph_credentials_reloads_total{result=\"ok\"} 0",
            "heliograph_credentials_reloads_total{result=\"failed\"} 1",
            "heliograph_credentials_last_load_timestamp_seconds{credential=\"key\"} 7",
            "heliograph_credentials_last_load_timestamp_seconds{credential=\"legacy\"} 8",
            "heliograph_certificate_expiry_timestamp_seconds{credential=\"legacy\"} 99",
            "heliograph_provider_token_age_seconds{credential=\"key\"} 90",
        ]
        #expect(
            lines.filter { $0.contains("credential") || $0.contains("reloads") }.map(String.init)
                .filter { !$0.contains("parked") } == samples
        )
    }

    @Test func `a reason both lists know is told apart by its decider`() {
        let lines = metrics { shard, _ in
            shard.count(.rejected, reason: .apns(.payloadTooLarge))
            shard.count(.invalid, reason: .local(.payloadTooLarge))
            shard.count(.invalid, reason: .local(.payloadTooLarge))
        }
        let name = "heliograph_outcome_reasons_total"
        #expect(lines.contains("\(name){decided_by=\"apns\",reason=\"PayloadTooLarge\"} 1"))
        #expect(lines.contains("\(name){decided_by=\"heliograph\",reason=\"PayloadTooLarge\"} 2"))
    }

    @Test func `a peer's text never becomes a label`() {
        let lines = metrics { shard, _ in
            shard.count(.rejected, reason: .unknownAPNs("Sur\"prise"))
            shard.countResponse(status: 418, after: .milliseconds(1))
        }
        #expect(!lines.contains { $0.contains("prise") || $0.contains("418") })
        #expect(
            lines.contains(
                "heliograph_outcome_reasons_total{decided_by=\"apns\",reason=\"other\"} 1"
            )
        )
        #expect(lines.contains("heliograph_apns_responses_total{status=\"other\"} 1"))
    }

    @Test func `every family has one HELP and one TYPE line and every sample follows its own`() {
        var family = ""
        var seen: Set<String> = []
        for line in metrics({ _, _ in }) {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                family = String(words[2])
                #expect(seen.insert(family).inserted, "\(family) stands twice")
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == family)
            } else {
                #expect(line.hasPrefix(family))
                #expect(Double(words.last ?? "") != nil, "\(line)")
            }
        }
        #expect(seen.allSatisfy { $0.hasPrefix("heliograph_") })
        #expect(seen.contains("heliograph_build_info"))
    }

    @Test func `counters end in _total and nothing else does`() {
        for family in Metrics(version: "1", shards: [ShardMetrics()]).families {
            #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
        }
    }

    @Test(arguments: [
        (Accounting(consumed: 10, terminal: 6, inFlight: 3, deferred: 1), "0"),
        (Accounting(consumed: 10, terminal: 6, inFlight: 2, deferred: 1), "1"),
        (Accounting(consumed: 10, terminal: 7, inFlight: 3, deferred: 1), "-1"),
    ])
    func `an event that is nowhere shows`(accounting: Accounting, shown: String) {
        let lines = metrics { _, second in second.accounting.set(accounting) }
        #expect(lines.contains("heliograph_events_unaccounted \(shown)"))
    }

    @Test func `label values are escaped`() {
        let lines = PrometheusText.render(
            Metrics(version: "a\\b\"c\nd", shards: []).families
        )
        #expect(lines.contains("heliograph_build_info{version=\"a\\\\b\\\"c\\nd\"} 1\n"))
    }
}
