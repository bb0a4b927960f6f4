import AdminHTTP
import Foundation
import Telemetry
import Testing
import Vocabulary

@Suite struct StatusDocumentTests {
    private static let hostile = "</script>\u{1}\"\\\u{2028}\n\u{9B}2J\u{202E}\u{7F}"

    private static let families = [
        MetricFamily(
            name: "apns_streams",
            help: "",
            kind: .gauge,
            samples: [.init(labels: [.init("credential", "a\"b")], value: "3")]
        ),
        MetricFamily(
            name: "end_to_end_seconds",
            help: "",
            kind: .histogram,
            samples: [
                .init(suffix: "_bucket", labels: [.init("le", "+Inf")], value: "1"),
                .init(suffix: "_sum", value: "0.02"), .init(suffix: "_count", value: "1"),
            ]
        ),
    ]

    private func document() -> StatusDocument {
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
            readiness: Readiness(
                obstacles: [.init(part: "kafka", reason: "a\nb")],
                warnings: [.init(part: "schemas", reason: "c")]
            ),
            families: Self.families,
            reasons: [.init(count: count, meaning: Self.hostile, remedy: "Do.")],
            campaigns: StatusCampaigns(now: Timestamp(milliseconds: 0)),
            configuration: [.init(key: "kafka.group_id", value: Self.hostile)]
        )
    }

    @Test func `the document has state, obstacles and every family`() throws {
        let document = document()
        let value = try JSONSerialization.jsonObject(with: Data(document.utf8))
        let root = try #require(value as? [String: Any])
        #expect(root["version"] as? String == "1\u{1}\"")
        #expect(root["state"] as? String == "running")
        #expect(root["uptime_seconds"] as? Int == 7)
        let readiness = try #require(root["readiness"] as? [String: Any])
        #expect(readiness["ready"] as? Bool == false)
        #expect(
            readiness["reasons"] as? [[String: String]] == [["part": "kafka", "reason": "a\nb"]]
        )
        #expect(
            readiness["warnings"] as? [[String: String]] == [["part": "schemas", "reason": "c"]]
        )
        let metrics = try #require(root["metrics"] as? [String: [[String: Any]]])
        #expect(metrics.keys.sorted() == ["apns_streams", "end_to_end_seconds"])
        let streams = try #require(metrics["apns_streams"])
        #expect(streams.map { $0["credential"] as? String } == ["a\"b"])
        #expect(streams.map { $0["value"] as? Int } == [3])
        let duration = try #require(metrics["end_to_end_seconds"])
        #expect(duration.map { $0["sample"] as? String } == ["sum", "count"])
        #expect(duration.first?["value"] as? Double == 0.02)
    }

    /// People run curl in a terminal.
    @Test func `no text of the document contains terminal control characters`() {
        let text = String(decoding: document().utf8, as: UTF8.self)
        let odd: Set<Unicode.GeneralCategory> = [
            .control, .format, .lineSeparator, .paragraphSeparator,
        ]
        #expect(!text.unicodeScalars.contains { odd.contains($0.properties.generalCategory) })
    }

    @Test func `text is preserved, whatever it contains`() throws {
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
    func `a number that JSON cannot express is null`(value: String) throws {
        var document = document()
        document.families = [
            MetricFamily(name: "odd", help: "", kind: .gauge, samples: [.init(value: value)])
        ]
        let text = String(decoding: document.utf8, as: UTF8.self)
        #expect(text.contains("\"odd\":[{\"value\":null}]"))
    }

    @Test func `a document without history has the same shape`() throws {
        let value = try JSONSerialization.jsonObject(with: Data(document().utf8))
        let root = try #require(value as? [String: Any])
        let history = try #require(root["history"] as? [String: Any])
        #expect((history["at_seconds"] as? [Double]) == [])
        #expect(history["interval_seconds"] as? Int == 5)
        #expect(history["point_count"] as? Int == 180)
    }
}
