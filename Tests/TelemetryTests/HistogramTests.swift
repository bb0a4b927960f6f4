import Synchronization
import Telemetry
import Testing
import Vocabulary

@Suite struct HistogramTests {
    @Test(
        arguments: [
            (Duration.milliseconds(-5), [1, 0, 0]),
            (.zero, [1, 0, 0]),
            (.milliseconds(10), [1, 0, 0]),
            (.nanoseconds(10_000_001), [0, 1, 0]),
            (.seconds(1), [0, 1, 0]),
            (.nanoseconds(1_000_000_001), [0, 0, 1]),
        ] as [(Duration, [UInt64])]
    )
    func `a value equal to a bound is counted in its bucket`(duration: Duration, counts: [UInt64]) {
        let histogram = Histogram(bounds: [.milliseconds(10), .seconds(1)])
        histogram.record(nanoseconds: duration.nanoseconds)
        #expect(histogram.reading.counts == counts)
    }

    @Test(
        arguments: [
            (Int64.min, [1, 0, 0]), (-1, [1, 0, 0]), (10, [1, 0, 0]), (11, [0, 1, 0]),
            (1001, [0, 0, 1]), (Int64.max, [0, 0, 1]),
        ] as [(Int64, [UInt64])]
    )
    func `every number of milliseconds has a bucket`(milliseconds: Int64, counts: [UInt64]) {
        let histogram = Histogram(bounds: [.milliseconds(10), .seconds(1)])
        histogram.record(milliseconds: milliseconds)
        #expect(histogram.reading.counts == counts)
    }

    @Test func `the total increases even for events with absurd times`() {
        let histogram = Histogram(bounds: [.seconds(1)])
        var last: UInt64 = 0
        for _ in 0..<20_000 {
            histogram.record(milliseconds: .max)
            #expect(histogram.reading.totalMicroseconds > last)
            last = histogram.reading.totalMicroseconds
        }
    }

    @Test func `buckets are cumulative, in seconds, and cover all shards`() {
        let lists = MetricLists(credentials: ["example"])
        let shards = [ShardMetrics(lists: lists), ShardMetrics(lists: lists)]
        shards[0].countResponse(status: 200, route: 0, nanoseconds: 4_000_000)
        shards[1].countResponse(status: 200, route: 1, nanoseconds: 7_000_000)
        shards[1].countResponse(status: 500, route: 0, nanoseconds: 31_000_000_000)
        let families = Metrics(version: "1", lists: lists, shards: shards).families
        let text = PrometheusText.render(families)
        let name = "heliograph_apns_request_duration_seconds"
        for line in [
            "\(name)_bucket{le=\"0.005\"} 1", "\(name)_bucket{le=\"0.01\"} 2",
            "\(name)_bucket{le=\"30.0\"} 2", "\(name)_bucket{le=\"+Inf\"} 3",
            "\(name)_sum 31.011", "\(name)_count 3",
        ] {
            #expect(text.contains("\(line)\n"), "\(line)")
        }
    }

    @Test func `end-to-end times are recorded by source, credential class and round`() {
        let lists = MetricLists(
            credentials: ["key", "legacy"],
            certificates: [1],
            topics: ["news", "bulk", "news.retry.1m"],
            sources: 2,
            retryDelays: ["1m"]
        )
        let shard = ShardMetrics(lists: lists)
        // Each row has a different count, so that rows cannot be confused.
        let rows: [(source: Int, credential: Int?, round: RoundLabel, labels: String)] = [
            (0, 0, .first, #"source="news",credential_class="provider_token",round="first""#),
            (0, 0, .later, #"source="news",credential_class="provider_token",round="later""#),
            (0, 1, .first, #"source="news",credential_class="certificate",round="first""#),
            (0, nil, .first, #"source="news",credential_class="none",round="first""#),
            (1, 0, .first, #"source="bulk",credential_class="provider_token",round="first""#),
            (1, nil, .later, #"source="bulk",credential_class="none",round="later""#),
        ]
        for (index, row) in rows.enumerated() {
            for _ in 0...index {
                shard.endToEnd.record(
                    milliseconds: 30,
                    source: row.source,
                    credential: row.credential,
                    row.round
                )
            }
        }
        let text = PrometheusText.render(
            Metrics(version: "1", lists: lists, shards: [shard]).families
        )
        let name = "heliograph_end_to_end_seconds"
        for (index, row) in rows.enumerated() {
            #expect(text.contains("\(name)_count{\(row.labels)} \(index + 1)\n"), "\(row)")
            #expect(text.contains("\(name)_bucket{\(row.labels),le=\"0.025\"} 0\n"), "\(row)")
        }
        #expect(shard.endToEnd.count == 21)
    }

    @Test(
        arguments: [
            ([], [], 2), ([], ["1m"], 4), ([0], [], 2), ([0], ["1m"], 4),
        ] as [(Set<Int>, [String], Int)]
    )
    func `rows that a configuration cannot fill are omitted`(
        certificates: Set<Int>,
        delays: [String],
        count: Int
    ) {
        let lists = MetricLists(
            credentials: ["only"],
            certificates: certificates,
            topics: ["news"],
            retryDelays: delays
        )
        let metrics = Metrics(version: "1", lists: lists, shards: [ShardMetrics(lists: lists)])
        let lines = PrometheusText.render(metrics.families).split(separator: "\n")
        let name = "heliograph_end_to_end_seconds_count"
        #expect(lines.count { $0.hasPrefix(name) } == count)
    }

    @Test func `accounting is read consistently while it is written`() async {
        let cell = AccountingCell()
        let writer = Writer()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for count in 0..<Int64(200_000) {
                    cell.set(
                        Accounting(consumed: count, terminal: 0, inFlight: count, deferred: 0)
                    )
                }
                writer.isDone.store(true, ordering: .releasing)
            }
            group.addTask {
                while !writer.isDone.load(ordering: .acquiring) {
                    #expect((cell.read()?.unaccounted ?? 0) == 0)
                }
            }
        }
        #expect(cell.read()?.consumed == 199_999)
    }
}

private final class Writer: Sendable {
    let isDone = Atomic(false)
}
