import Telemetry
import Testing
import Vocabulary

@Suite struct ExpositionTests {
    private static let lists = MetricLists(credentials: ["key"], topics: ["source"])

    private static func families(version: String = "1") -> [MetricFamily] {
        var reading = ProcessMetrics.Reading()
        reading.isReady = true
        reading.oldestUnsettledMilliseconds = 1500
        reading.usage = ProcessMetrics.Usage(
            cpuNanoseconds: 2_500_000_000,
            residentBytes: 1,
            virtualBytes: 2,
            openDescriptors: 3,
            maxDescriptors: 4,
            threads: 5,
            startedAt: 1_700_000_000_250
        )
        return Metrics(
            version: version,
            libraries: ["librdkafka": "2"],
            lists: lists,
            shards: [ShardMetrics(lists: lists)],
            process: ProcessMetrics { [reading] in reading }
        ).families
    }

    private static func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test func `each family has one HELP and one TYPE line, followed by its samples`() {
        var family = ""
        var seen: Set<String> = []
        for line in Self.lines(PrometheusText.render(Self.families())).dropLast() {
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
        #expect(seen.allSatisfy { $0.hasPrefix("heliograph_") || $0.hasPrefix("process_") })
        #expect(seen.contains("heliograph_build_info"))
    }

    @Test func `all counters and nothing else end in _total, all infos and nothing else in _info`()
    {
        for family in Self.families() {
            #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
            #expect((family.kind == .info) == family.name.hasSuffix("_info"), "\(family.name)")
        }
    }

    @Test func `label values are escaped`() {
        let text = PrometheusText.render(Self.families(version: "a\\b\"c\nd"))
        let sample = #"heliograph_build_info{version="a\\b\"c\nd",librdkafka="2"} 1"#
        #expect(text.contains("\(sample)\n"), "\(sample)")
    }

    @Test func `OpenMetrics names families without a suffix, and samples with it`() {
        let text = OpenMetricsText.render(Self.families())
        for line in [
            "# TYPE heliograph_tombstones counter", "heliograph_tombstones_total 0",
            "# TYPE heliograph_build info", "# TYPE heliograph_ready gauge",
            "# TYPE process_cpu_seconds counter", "# UNIT process_cpu_seconds seconds",
            "process_cpu_seconds_total 2.5", "# UNIT heliograph_inflight_bytes bytes",
            "process_start_time_seconds 1700000000.25",
            "heliograph_oldest_unsettled_seconds 1.5",
        ] {
            #expect(text.contains("\(line)\n"), "\(line)")
        }
        #expect(text.hasSuffix("\n# EOF\n"))
    }

    @Test func `both formats have the same samples`() {
        func samples(_ text: String) -> [Substring] {
            Self.lines(text).filter { !$0.hasPrefix("#") }
        }
        let families = Self.families()
        #expect(
            samples(PrometheusText.render(families)) == samples(OpenMetricsText.render(families))
        )
    }

    @Test func `Prometheus' own format has no info type and no end marker`() {
        let text = PrometheusText.render(Self.families())
        #expect(text.contains("# TYPE heliograph_build_info gauge\n"))
        #expect(!text.contains("# EOF") && !text.contains("# UNIT"))
    }

    @Test(
        arguments: [
            (nil, .prometheus),
            ("", .prometheus),
            ("*/*", .prometheus),
            ("text/html, */*;q=0.1", .prometheus),
            ("text/plain;version=0.0.4", .prometheus),
            ("application/openmetrics-text", .openMetrics),
            ("Application/OpenMetrics-Text; version=1.0.0; charset=utf-8", .openMetrics),
            // The values that Prometheus 2 and 3 send.
            (
                """
                application/openmetrics-text;version=1.0.0;q=0.5,\
                application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2
                """, .openMetrics
            ),
            ("text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.4", .prometheus),
            ("application/openmetrics-text;q=0", .prometheus),
            ("application/openmetrics-text;q=0,text/plain;q=0", .prometheus),
            ("application/openmetrics-text;q=junk", .openMetrics),
        ] as [(String?, ExpositionFormat)]
    )
    func `the scraper's Accept header selects the format`(
        accept: String?,
        expected: ExpositionFormat
    ) {
        #expect(ExpositionFormat(accept: accept) == expected)
    }
}
