import AdminHTTP
import Telemetry
import Testing
import Vocabulary

@Suite struct StatusDocumentTests {
    @Test func `the document carries state, obstacles and every family`() {
        let lists = MetricLists(credentials: ["key"], topics: ["source"])
        let shard = ShardMetrics(lists: lists)
        shard.eventsConsumed[row: 0, label: .plain].add()
        shard.countResponse(status: 200, route: 0, after: .milliseconds(20))
        let document = StatusDocument(
            version: "1\u{1}\"",
            state: "running",
            uptimeSeconds: 7,
            readiness: Readiness(obstacles: [.init(part: "kafka", reason: "a\nb")]),
            families: Metrics(version: "1", lists: lists, shards: [shard]).families
        )
        let text = String(decoding: document.utf8, as: UTF8.self)
        #expect(text.hasPrefix("{\"version\":\"1\\u0001\\\"\",\"state\":\"running\","))
        for part in [
            "\"uptime_seconds\":7", "{\"part\":\"kafka\",\"reason\":\"a\\nb\"}",
            "\"events_consumed_total\":[{\"framing\":\"plain\",\"topic\":\"source\",\"value\":1},",
            "\"inflight_events\":[{\"value\":0}]",
            "\"apns_request_duration_seconds\":[{\"sample\":\"sum\",\"value\":0.02},"
                + "{\"sample\":\"count\",\"value\":1}]",
        ] {
            #expect(text.contains(part), "\(part)")
        }
    }
}
