import Telemetry
import Testing
import Vocabulary

@Suite struct MetricsTests {
    private static let lists = MetricLists(
        credentials: ["key", "legacy"],
        topics: ["source", "source.retry.1m"],
        retryDelays: ["1m"]
    )

    private func metrics(_ prepare: (ShardMetrics, ShardMetrics) -> Void) -> [String] {
        let shards = (ShardMetrics(lists: Self.lists), ShardMetrics(lists: Self.lists))
        prepare(shards.0, shards.1)
        let metrics = Metrics(
            version: "1.2.3",
            lists: Self.lists,
            shards: [shards.0, shards.1]
        )
        return PrometheusText.render(metrics.families).split(separator: "\n").map(String.init)
    }

    @Test func `metrics are summed over shards`() {
        let lines = metrics { first, second in
            first.count(.accepted, reason: nil, credential: 1)
            second.count(.accepted, reason: nil, credential: 1)
            first.inFlightEvents.set(3)
            second.inFlightEvents.set(4)
            second.inFlightEvents.add(-1)
        }
        let name = "heliograph_events_terminal_total"
        #expect(lines.contains("\(name){credential=\"legacy\",outcome=\"accepted\"} 2"))
        #expect(lines.contains("\(name){credential=\"key\",outcome=\"accepted\"} 0"))
        #expect(lines.contains("heliograph_inflight_events 6"))
        #expect(lines.contains("heliograph_shards 2"))
    }

    @Test func `an event without a credential has an empty label`() {
        let lines = metrics { shard, _ in
            shard.count(.invalid, reason: .local(.schemaViolation), credential: nil)
        }
        #expect(
            lines.contains(
                "heliograph_events_terminal_total{credential=\"\",outcome=\"invalid\"} 1"
            )
        )
    }

    @Test func `given-up events are counted by credential, or by none`() {
        let lines = metrics { first, second in
            first.eventsGivenUp[1].add()
            second.eventsGivenUp[1].add()
            second.eventsGivenUp[2].add()
            first.credentialsGivingUp[1].set(1)
            second.credentialsGivingUp[1].set(1)
        }
        for sample in [
            "events_given_up_total{credential=\"key\"} 0",
            "events_given_up_total{credential=\"legacy\"} 2",
            "events_given_up_total{credential=\"\"} 1",
            "events_giving_up{credential=\"legacy\"} 2",
            "events_giving_up{credential=\"\"} 0",
        ] {
            #expect(lines.contains("heliograph_\(sample)"), "\(sample)")
        }
    }

    @Test(arguments: BrokenStreamLabel.allCases)
    func `a stream without an answer is counted by its cause`(cause: BrokenStreamLabel) {
        let lines = metrics { shard, _ in shard.brokenStreams[cause].add() }
        let counted = lines.filter {
            $0.hasPrefix("heliograph_apns_broken_streams_total{") && $0.hasSuffix(" 1")
        }
        #expect(counted == ["heliograph_apns_broken_streams_total{cause=\"\(cause)\"} 1"])
    }

    @Test func `events are counted by framing and topic`() {
        let lines = metrics { first, second in
            first.countConsumed(.plain, topic: 0)
            for _ in 0..<2 { second.countConsumed(.plain, topic: 1) }
        }
        let name = "heliograph_events_consumed_total"
        #expect(lines.contains("\(name){framing=\"plain\",topic=\"source\"} 1"))
        #expect(lines.contains("\(name){framing=\"plain\",topic=\"source.retry.1m\"} 2"))
    }

    @Test func `retries are counted by reason and tier`() {
        let lines = metrics { first, second in
            first.setRetriesHere(2, because: .local(.requestTimeout))
            second.setRetriesHere(3, because: .local(.requestTimeout))
            second.setRetriesHere(4, because: .local(.requestTimeout))
            second.setRetriesHere(1, because: .unknownAPNs("Sur\"prise"))
            second.countDeferral(tier: 0, because: .apns(.internalServerError))
        }
        for sample in [
            "{decided_by=\"heliograph\",reason=\"RequestTimeout\",tier=\"here\"} 6",
            "{decided_by=\"heliograph\",reason=\"RequestTimeout\",tier=\"1m\"} 0",
            "{decided_by=\"apns\",reason=\"other\",tier=\"here\"} 1",
            "{decided_by=\"apns\",reason=\"InternalServerError\",tier=\"1m\"} 1",
        ] {
            #expect(lines.contains("heliograph_retries_total\(sample)"), "\(sample)")
        }
        #expect(lines.contains("heliograph_events_deferred_total 1"))
    }

    @Test func `an answer other than 200 is counted by its reason, or as one without`() {
        let lines = metrics { shard, _ in
            shard.countResponse(status: 200, route: 3, nanoseconds: 0)
            shard.countResponse(status: 503, route: 3, nanoseconds: 0)
            shard.countResponse(
                status: 429,
                reason: .apns(.tooManyRequests),
                route: 3,
                nanoseconds: 0
            )
        }
        let route = "credential=\"legacy\",environment=\"sandbox\""
        for sample in [
            "apns_responses_total{\(route),status=\"200\"} 1",
            "apns_responses_total{\(route),status=\"429\"} 1",
            "apns_refusals_total{reason=\"TooManyRequests\"} 1",
            "apns_refusals_total{reason=\"none\"} 1",
        ] {
            #expect(lines.contains("heliograph_\(sample)"), "\(sample)")
        }
    }

    @Test(arguments: [
        (200, "200"), (500, "500"), (502, "502"), (503, "503"), (504, "504"), (501, "other"),
        (505, "other"),
    ])
    func `an answer is counted by its status`(status: Int, label: String) {
        let lines = metrics { shard, _ in
            shard.countResponse(status: status, route: 3, nanoseconds: 0)
        }
        let counted = lines.filter {
            $0.hasPrefix("heliograph_apns_responses_total{") && $0.hasSuffix(" 1")
        }
        let route = "credential=\"legacy\",environment=\"sandbox\""
        #expect(
            counted == ["heliograph_apns_responses_total{\(route),status=\"\(label)\"} 1"]
        )
    }

    @Test func `a route has samples for its connections, streams and breaker`() {
        let lines = metrics { first, second in
            first.routes[0].setConnections { $0 == .ready ? 2 : 0 }
            second.routes[0].setConnections { $0 == .proving ? 1 : 0 }
            first.routes[0].streamsLimit.set(2000)
            second.routes[0].streamsLimit.set(1)
            second.routes[0].setBreaker(.open)
            second.routes[0].blownTokenFuse.set(1)
            second.parkedCredentials[0].set(1)
        }
        let route = "credential=\"key\",environment=\"production\""
        for sample in [
            "apns_connections{\(route),state=\"ready\"} 2",
            "apns_connections{\(route),state=\"proving\"} 1",
            "apns_connections{\(route),state=\"draining\"} 0",
            "apns_streams_limit{\(route)} 2001",
            "apns_breakers{\(route),state=\"closed\"} 1",
            "apns_breakers{\(route),state=\"open\"} 1",
            "apns_breakers{\(route),state=\"half_open\"} 0",
            "token_fuse_blown{\(route)} 1",
            "apns_credentials_parked{credential=\"key\"} 1",
            "apns_credentials_parked{credential=\"legacy\"} 0",
        ] {
            #expect(lines.contains("heliograph_\(sample)"), "\(sample)")
        }
    }

    @Test func `a credential has samples only for properties that it has`() {
        let reloads = CounterTable<CallResult>()
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

    @Test func `certificates for other peers than APNs have an expiry time and a lifetime`() {
        @Sendable func certificate(_ use: FileMetrics.Use, _ seconds: Range<Int64>)
            -> FileMetrics.Certificate
        {
            FileMetrics.Certificate(
                use,
                from: Timestamp(milliseconds: seconds.lowerBound * 1000),
                until: Timestamp(milliseconds: seconds.upperBound * 1000)
            )
        }
        let files = FileMetrics(certificates: {
            [certificate(.admin, 5..<7), certificate(.kafka, 5..<8)]
        })
        let metrics = Metrics(version: "1.2.3", shards: [], files: files)
        let lines = PrometheusText.render(metrics.families).split(separator: "\n")
        let name = "heliograph_tls_certificate_"
        #expect(
            lines.filter { $0.hasPrefix(name) } == [
                "\(name)expiry_timestamp_seconds{use=\"admin\"} 7",
                "\(name)expiry_timestamp_seconds{use=\"kafka\"} 8",
                "\(name)lifetime_seconds{use=\"admin\"} 2",
                "\(name)lifetime_seconds{use=\"kafka\"} 3",
            ]
        )
    }

    @Test func `reloads of files for other peers than APNs are counted by their use`() {
        let admin = CounterTable<CallResult>()
        let kafka = CounterTable<CallResult>()
        admin[.failed].add(2)
        kafka[.ok].add()
        let files = FileMetrics(reloads: [(.admin, admin), (.kafka, kafka)])
        let metrics = Metrics(version: "1.2.3", shards: [], files: files)
        let lines = PrometheusText.render(metrics.families).split(separator: "\n")
        let name = "heliograph_files_reloads_total"
        #expect(
            lines.filter { $0.hasPrefix(name) } == [
                "\(name){use=\"admin\",result=\"ok\"} 0",
                "\(name){use=\"admin\",result=\"failed\"} 2",
                "\(name){use=\"kafka\",result=\"ok\"} 1",
                "\(name){use=\"kafka\",result=\"failed\"} 0",
            ]
        )
    }

    @Test func `unusable files are counted by their use`() {
        let files = FileMetrics(unusable: { [(.admin, 0), (.credentials, 2)] })
        let lines = PrometheusText.render(
            Metrics(version: "1.2.3", shards: [], files: files).families
        )
        #expect(lines.contains("\nheliograph_unusable_files{use=\"admin\"} 0\n"))
        #expect(lines.contains("\nheliograph_unusable_files{use=\"credentials\"} 2\n"))
    }

    @Test func `the label of a reason in both lists includes its decider`() {
        let lines = metrics { shard, _ in
            shard.count(.rejected, reason: .apns(.payloadTooLarge), credential: 0)
            shard.count(.invalid, reason: .local(.payloadTooLarge), credential: nil)
            shard.count(.invalid, reason: .local(.payloadTooLarge), credential: nil)
        }
        let name = "heliograph_outcome_reasons_total"
        #expect(lines.contains("\(name){decided_by=\"apns\",reason=\"PayloadTooLarge\"} 1"))
        #expect(lines.contains("\(name){decided_by=\"heliograph\",reason=\"PayloadTooLarge\"} 2"))
    }

    @Test func `a peer's text never becomes a label`() {
        let strange = Reason.unknownAPNs("Sur\"prise")
        let lines = metrics { shard, _ in
            shard.count(.rejected, reason: strange, credential: 0)
            shard.countResponse(status: 418, reason: strange, route: 0, nanoseconds: 1_000_000)
            shard.goAways[APNsReasonLabel(strange)].add()
            shard.deadLetters[ReasonLabel(strange)].add()
            shard.setRetriesHere(1, because: strange)
        }
        #expect(!lines.contains { $0.contains("prise") || $0.contains("418") })
        let route = "credential=\"key\",environment=\"production\""
        for sample in [
            "outcome_reasons_total{decided_by=\"apns\",reason=\"other\"} 1",
            "apns_responses_total{\(route),status=\"other\"} 1",
            "apns_refusals_total{reason=\"other\"} 1",
            "apns_goaway_total{reason=\"other\"} 1",
            "dlq_total{decided_by=\"apns\",reason=\"other\"} 1",
            "retries_total{decided_by=\"apns\",reason=\"other\",tier=\"here\"} 1",
        ] {
            #expect(lines.contains("heliograph_\(sample)"), "\(sample)")
        }
    }

    @Test func `each label's position is its index in its list`() {
        func expectPlaces<Label: MetricLabel>(_ type: Label.Type) {
            #expect(Label.allCases.map(\.position) == Array(Label.allCases.indices), "\(type)")
        }
        expectPlaces(ReasonLabel.self)
        expectPlaces(APNsReasonLabel.self)
        expectPlaces(RecordLabel.self)
        expectPlaces(StatusLabel.self)
        expectPlaces(CallResult.self)
        expectPlaces(RecordFraming.self)
        expectPlaces(OutcomeKind.self)
    }

    @Test func `no sample appears twice`() {
        var seen: Set<Substring> = []
        for line in metrics({ _, _ in }) where !line.hasPrefix("#") {
            let series = line.prefix { $0 != " " }
            #expect(seen.insert(series).inserted, "\(series)")
        }
    }

    @Test func `the set of samples is the same before and after anything is counted`() {
        func names(_ lines: [String]) -> Set<String> {
            Set(lines.compactMap { $0.split(separator: " ").first.map(String.init) })
        }
        let before = names(metrics { _, _ in })
        let after = names(
            metrics { shard, _ in
                for reason in APNsReason.allCases {
                    shard.count(.rejected, reason: .apns(reason), credential: 0)
                    shard.countResponse(
                        status: 400,
                        reason: .apns(reason),
                        route: 0,
                        nanoseconds: 1_000_000_000
                    )
                }
                for reason in LocalReason.allCases {
                    shard.count(.undeliverable, reason: .local(reason), credential: nil)
                    shard.countDeferral(tier: 0, because: .local(reason))
                }
            }
        )
        #expect(before == after)
    }

    @Test(arguments: [
        (Accounting(consumed: 10, terminal: 6, inFlight: 3, deferred: 1), "0"),
        (Accounting(consumed: 10, terminal: 6, inFlight: 2, deferred: 1), "1"),
        (Accounting(consumed: 10, terminal: 7, inFlight: 3, deferred: 1), "-1"),
    ])
    func `an unaccounted event is reported`(accounting: Accounting, shown: String) {
        let lines = metrics { _, second in second.accounting.set(accounting) }
        #expect(lines.contains("heliograph_events_unaccounted \(shown)"))
    }
}
