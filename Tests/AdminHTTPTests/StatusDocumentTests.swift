import AdminHTTP
import Foundation
import Telemetry
import Testing
import Vocabulary

@Suite struct StatusDocumentTests {
    private static let hostile = "</script>\u{1}\"\\\u{2028}\n"

    private func document() -> StatusDocument {
        let shard = ShardMetrics()
        shard.countResponse(status: 200, after: .milliseconds(20))
        let count = StatusReasonCount(
            reason: "BadTopic",
            decidedBy: "apns",
            outcomes: .init(recent: 1, total: 2),
            refusals: .init(recent: 3, total: 4),
            lastSeenSeconds: nil
        )
        return StatusDocument(
            version: "1\u{1}\"",
            state: "running",
            uptimeSeconds: 7,
            readiness: Readiness(obstacles: [.init(part: "kafka", reason: "a\nb")]),
            families: Metrics(version: "1", shards: [shard]).families,
            reasons: [.init(count: count, meaning: Self.hostile, remedy: "Do.")],
            configuration: [.init(key: "kafka.group_id", value: Self.hostile)]
        )
    }

    @Test func `the document carries state, obstacles and every family`() throws {
        let document = document()
        let value = try JSONSerialization.jsonObject(with: Data(document.utf8))
        let root = try #require(value as? [String: Any])
        #expect(root["version"] as? String == "1\u{1}\"")
        #expect(root["state"] as? String == "running")
        #expect(root["uptime_seconds"] as? Int == 7)
        let readiness = try #require(root["readiness"] as? [String: Any])
        #expect(readiness["ready"] as? Bool == false)
        let metrics = try #require(root["metrics"] as? [String: [[String: Any]]])
        #expect(Set(metrics.keys) == Set(document.families.map(\.name)))
        let duration = try #require(metrics["apns_request_duration_seconds"])
        #expect(duration.map { $0["sample"] as? String } == ["sum", "count"])
        #expect(duration.first?["value"] as? Double == 0.02)
    }

    @Test func `text comes through as it is, whatever it holds`() throws {
        let value = try JSONSerialization.jsonObject(with: Data(document().utf8))
        let root = try #require(value as? [String: Any])
        let reasons = try #require(root["reasons"] as? [[String: Any]])
        #expect(reasons.count == 1)
        #expect(reasons.first?["meaning"] as? String == Self.hostile)
        #expect(reasons.first?["outcomes"] as? [String: Int] == ["recent": 1, "total": 2])
        #expect(reasons.first?["refusals"] as? [String: Int] == ["recent": 3, "total": 4])
        #expect(reasons.first?["last_seen_seconds"] is NSNull)
        let settings = root["configuration"] as? [[String: String]]
        #expect(settings == [["key": "kafka.group_id", "value": Self.hostile]])
    }

    @Test(arguments: ["NaN", "+Inf", "-Inf"])
    func `a number that JSON has no word for is null`(value: String) throws {
        var document = document()
        document.families = [
            MetricFamily(name: "odd", help: "", kind: .gauge, samples: [.init(value: value)])
        ]
        let text = String(decoding: document.utf8, as: UTF8.self)
        #expect(text.contains("\"odd\":[{\"value\":null}]"))
    }

    @Test func `a document without a past still has its shape`() throws {
        let value = try JSONSerialization.jsonObject(with: Data(document().utf8))
        let root = try #require(value as? [String: Any])
        let history = try #require(root["history"] as? [String: Any])
        #expect((history["at_seconds"] as? [Double]) == [])
        #expect(history["interval_seconds"] as? Int == 5)
        #expect(history["point_count"] as? Int == 180)
    }
}
