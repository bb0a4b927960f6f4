import Foundation
import Log
import Telemetry
import Testing
import Vocabulary

@Suite struct LogLineTests {
    private static let time = Date(timeIntervalSince1970: 1_767_323_045.25)

    private static func line(_ level: LogLevel, _ message: String, _ facts: LogFacts = [:])
        -> LogLine
    {
        LogLine(time: time, level: level, message: message, facts: facts)
    }

    @Test func `a text line has time, level, message and facts`() {
        let facts: LogFacts = [.shard: "3", .error: "no route"]
        #expect(
            Self.line(.warning, "Kafka error", facts).text
                == "2026-01-02T03:04:05.250Z warning  Kafka error error=\"no route\" shard=3"
        )
    }

    @Test func `a JSON line is an object with the same content`() {
        let facts: LogFacts = [.shard: "3", .error: "no \"route\"\n"]
        let json = String(decoding: Self.line(.info, "trouble", facts).json, as: UTF8.self)
        #expect(
            json == #"{"time":"2026-01-02T03:04:05.250Z","level":"info","message":"trouble","#
                + #""error":"no \"route\"\n","shard":"3"}"#
        )
    }

    @Test(arguments: [
        ("plain/1.0:8080@[x]", "plain/1.0:8080@[x]"), ("", "\"\""), ("a b", "\"a b\""),
        ("a=b", "\"a=b\""), ("a\"b", #""a\"b""#), (#"a\b"#, #"a\b"#), (#"a \b"#, #""a \\b""#),
        ("a\"\u{301} b=c\\\u{301}", "\"a\\\"\u{301} b=c\\\\\u{301}\""),
        ("ü", "\"ü\""), ("a\nb", "\"a?b\""), ("\u{1B}[2J", "\"?[2J\""),
        ("\u{9B}2J\u{7F}\u{85}", "\"?2J??\""), ("a\u{202E}b\u{2028}c", "\"a?b?c\""),
    ])
    func `a text that could be read as more than one word is quoted`(text: String, shown: String) {
        let line = Self.line(.error, "m", [.problem: text]).text
        #expect(line == "2026-01-02T03:04:05.250Z error    m problem=\(shown)")
    }

    @Test func `a JSON line is one line without control characters`() {
        let facts: LogFacts = [.eventID: "\u{1B}\u{7F}\u{85}\u{9B}\u{2028}\u{202E}ü"]
        let json = String(decoding: Self.line(.info, "a\u{9B}", facts).json, as: UTF8.self)
        #expect(
            json.hasSuffix(
                #""message":"a\u009b","event_id":"\u001b\u007f\u0085\u009b\u2028\u202eü"}"#
            )
        )
    }

    @Test(arguments: [(1024, false), (1025, true)])
    func `a fact is truncated after 1024 bytes`(byteCount: Int, isCut: Bool) {
        let text = String(repeating: "x", count: byteCount)
        let shown = String(repeating: "x", count: 1024) + (isCut ? "…" : "")
        let line = Self.line(.info, "m", [.eventID: text])
        let json = String(decoding: line.json, as: UTF8.self)
        #expect(json.hasSuffix("\"event_id\":\"\(shown)\"}"))
        let quoted = isCut ? "\"\(shown)\"" : shown
        #expect(line.text.hasSuffix(" event_id=\(quoted)"))
    }

    /// The seconds of the window, the maximum number of kinds, and the line.
    @Test(arguments: [
        (60, 9, "m (2 more of the same in the last 60 s) count=4 repeated=2 seconds=60"),
        (0, 9, "m (2 more of the same in the last 1 s) count=4 repeated=2 seconds=1"),
        (60, 0, "m (4 more of many kinds in the last 60 s) count=4 repeated=4 seconds=60"),
    ])
    func `a summary is the last line with the number of counted lines`(
        seconds: Int64,
        maxKinds: Int,
        shown: String
    ) {
        var digest = LineDigest<LogLine>(burst: 2, maxKinds: maxKinds)
        for number in 1...4 {
            _ = digest.admits(
                Self.line(.notice, "m", [.count: "\(number)"]),
                of: .init("m"),
                now: Instant(nanoseconds: 0)
            )
        }
        let summaries = digest.takeAll(now: Instant(nanoseconds: seconds * 1_000_000_000))
        let lines = summaries.map { LogLine($0, time: Self.time).text }
        #expect(lines == ["2026-01-02T03:04:05.250Z notice   \(shown)"])
    }
}
