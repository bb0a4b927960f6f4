import Configuration
import Testing
import Tools
import Vocabulary

/// Returns the verdict that a document's first byte selects.
private final class ScriptedChecker: DocumentChecker {
    let maxByteCount = 8

    func check(_ document: [UInt8]) -> CheckedDocument {
        let violation = Violation(
            instanceLocation: "/a",
            keywordLocation: "/b",
            message: "\"c\" of \(document.count)"
        )
        return switch document.first {
        case UInt8(ascii: "g"): CheckedDocument(verdict: .valid, violations: [])
        case UInt8(ascii: "w"): CheckedDocument(verdict: .valid, violations: [violation])
        case UInt8(ascii: "u"): CheckedDocument(verdict: .unreadable, violations: [violation])
        default: CheckedDocument(verdict: .invalid, violations: [violation])
        }
    }
}

@Suite struct ValidationRunTests {
    /// Returns the results of an input that arrives in blocks of this size.
    private func results(
        _ input: String,
        blockByteCount: Int = 3
    ) -> (lines: [Substring], summary: ValidationSummary) {
        var run = ValidationRun(checker: ScriptedChecker())
        var output: [UInt8] = []
        var rest = Array(input.utf8)[...]
        while !rest.isEmpty {
            run.feed(rest.prefix(blockByteCount)) { output += $0 }
            rest = rest.dropFirst(blockByteCount)
        }
        run.finish { output += $0 }
        return (String(decoding: output, as: UTF8.self).split(separator: "\n"), run.summary)
    }

    private static let expected = """
        {"line":1,"valid":true,"violations":[]}
        {"line":4,"valid":false,"violations":[\(violation(4))]}
        {"line":5,"valid":true,"violations":[\(violation(6))]}
        {"line":6,"valid":false,"violations":[\(violation(6))]}
        {"line":7,"valid":false,"violations":[{"instance_location":"","keyword_location":"",\
        "message":"the line has 15 bytes; the limit is 8"}]}
        {"line":8,"valid":true,"violations":[]}
        """

    private static func violation(_ count: Int) -> String {
        #"{"instance_location":"/a","keyword_location":"/b","message":"\"c\" of \#(count)"}"#
    }

    @Test(arguments: [1, 2, 3, 5, 100])
    func `each line that is not blank has a result with its number`(blockByteCount: Int) {
        let input = "good\n\n \t\r\nbad\r\nwarned\nunread\ntoo long for it\ngood"
        let (lines, summary) = results(input, blockByteCount: blockByteCount)
        #expect(lines == Self.expected.split(separator: "\n"))
        #expect(summary.lines == 6)
        #expect(summary.invalidLines == 3)
        #expect(summary.linesWithWarnings == 1)
        #expect(summary.firstUnreadableLine == 6)
    }

    @Test(arguments: [("12345678", "good"), ("123456789", "long")])
    func `a line may be as long as the limit, but no longer`(line: String, kind: String) {
        let (lines, _) = results(line + "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("the limit is") == (kind == "long"))
    }

    @Test func `a result is written as soon as its line ends`() {
        var run = ValidationRun(checker: ScriptedChecker())
        var output: [UInt8] = []
        run.feed(Array("good".utf8)[...]) { output += $0 }
        #expect(output.isEmpty)
        run.feed(Array("\n".utf8)[...]) { output += $0 }
        #expect(output.last == UInt8(ascii: "\n"))
    }

    /// The bytes kept or copied per line are limited, so work is not quadratic in the line count.
    @Test(arguments: ["g\n", "b\n"])
    func `results are written in small pieces regardless of a block's line count`(line: String) {
        var run = ValidationRun(checker: ScriptedChecker())
        var pieces: [Int] = []
        run.feed(Array(String(repeating: line, count: 32768).utf8)[...]) { pieces.append($0.count) }
        let longestResult = 200
        #expect(pieces.count > 100)
        #expect(pieces.allSatisfy { $0 <= ValidationRun.pieceByteCount + longestResult })
    }

    @Test func `the run stops at the first piece that the reader does not take`() {
        struct Left: Error {}
        var run = ValidationRun(checker: ScriptedChecker())
        #expect(throws: Left.self) {
            let block = Array(String(repeating: "g\n", count: 32768).utf8)
            try run.feed(block[...]) { _ throws(Left) in throw Left() }
        }
        #expect((1...200).contains(run.summary.lines))
    }

    @Test(arguments: [
        (nil as Int?, "2 lines checked, 1 invalid"), (0, "2 lines checked, 1 invalid"),
        (12, "2 lines checked, 1 invalid, 25 %"), (2, "2 lines checked, 1 invalid, 100 %"),
    ])
    func `the progress includes a percentage if the size is known`(size: Int?, text: String) {
        #expect(results("g\nb").summary.progress(bytesRead: 3, of: size) == text)
    }

    @Test(arguments: [
        ("", "the input has no documents; nothing was checked"),
        ("\n\n", "the input has no documents; nothing was checked"),
        ("g", "0 of 1 line invalid"), ("g\nb\nw", "1 of 3 lines invalid, 1 with warnings"),
    ])
    func `the summary counts invalid lines and lines with warnings`(input: String, text: String) {
        #expect(results(input).summary.text == text)
    }

    @Test func `the summary explains how to check a document of several lines`() {
        let text = results("g\nu\nu").summary.text
        #expect(text.hasPrefix("line 2 is not a whole JSON document"))
        #expect(text.hasSuffix("\n2 of 3 lines invalid"))
    }
}

@Suite struct EventCheckerTests {
    @Test(arguments: [
        (#""device_token":"00","bundle_id":"a.b.voip","push_type":"voip""#, true),
        (
            #""recipients":[{"device_token":"00"}],"bundle_id":"a.voip","push_type":"voip""#,
            true
        ),
        (#""device_token":"00","bundle_id":"a.b.voip","push_type":"pushtotalk""#, false),
        (#""device_token":"00","bundle_id":"a.b.voip","push_type":"alert""#, false),
        (#""device_token":"00","bundle_id":"a.bvoip","push_type":"voip""#, false),
        (#""device_token":"00","topic":"a.b.voip","push_type":"voip""#, false),
    ])
    func `a bundle ID with its push type's suffix is valid, with a warning`(
        fields: String,
        isWarned: Bool
    ) {
        let checked = check(##"{"id":"1",\##(fields),"payload":{}}"##, .off)
        #expect(checked.verdict == .valid)
        let text = """
            ends with .voip, which is added for push_type voip; leave it out, or use 'topic'
            """
        #expect(checked.violations.map(\.message) == (isWarned ? [text] : []))
    }

    private let event = #"{"id":"1","device_token":"00","bundle_id":"a.b","push_type":"alert","#

    private func check(
        _ text: String,
        _ payload: Configuration.PayloadChecks = .warn
    ) -> CheckedDocument {
        EventChecker(payload: payload).check(Array(text.utf8))
    }

    @Test func `an event is checked like in the service`() {
        let good = check(event + #""payload":{"aps":{"alert":"hi"}}}"#)
        #expect(good == CheckedDocument(verdict: .valid, violations: []))
        let bad = check(event + #""payload":{},"priority":7}"#)
        #expect(bad.verdict == .invalid)
        #expect(bad.violations.map(\.instanceLocation) == ["/priority"])
        #expect(check("{").verdict == .unreadable)
        #expect(check("").verdict == .unreadable)
    }

    @Test(arguments: [
        (Configuration.PayloadChecks.warn, CheckedDocument.Verdict.valid, 1),
        (.strict, .invalid, 1),
        (.off, .valid, 0),
    ])
    func `the payload is checked as strictly as requested`(
        payload: Configuration.PayloadChecks,
        verdict: CheckedDocument.Verdict,
        count: Int
    ) {
        let result = check(event + #""payload":{"aps":{"alert":"hi","badge":-1}}}"#, payload)
        #expect(result.verdict == verdict)
        #expect(result.violations.count == count)
    }

    @Test func `an event with recipients is valid if each of them is`() {
        let start = event.replacing(#""device_token":"00","#, with: "")
        func check(_ recipients: String, badge: String = "1") -> CheckedDocument {
            let rest = #""payload":{"aps":{"badge":\#(badge)}},"recipients":\#(recipients)}"#
            return self.check(start + rest)
        }
        let good = check(#"["00",{"device_token":"01"},"00"]"#)
        let counts = CheckedDocument.Recipients(valid: 2, duplicate: 1, invalid: 0)
        #expect(good == CheckedDocument(verdict: .valid, violations: [], recipients: counts))
        let bad = check(#"["00","0",{"device_token":"01","priority":5},null]"#, badge: "-1")
        #expect(bad.verdict == .invalid)
        #expect(bad.recipients == CheckedDocument.Recipients(valid: 1, duplicate: 0, invalid: 3))
        #expect(
            bad.violations.map(\.instanceLocation) == [
                "/payload/aps/badge", "/recipients/1", "/recipients/2/priority", "/recipients/3",
            ]
        )
        #expect(check("[]").recipients == nil)
        #expect(check("[]").verdict == .invalid)
        var run = ValidationRun(checker: EventChecker(payload: .warn))
        var output: [UInt8] = []
        let line = start + #""payload":{"aps":{"badge":1}},"recipients":["00","00"]}"#
        run.feed(Array((line + "\n").utf8)[...]) { output += $0 }
        #expect(
            String(decoding: output, as: UTF8.self)
                == #"{"line":1,"valid":true,"recipients":{"valid":1,"duplicate":1,"invalid":0},"#
                + #""violations":[]}"# + "\n"
        )
    }

    private let broadcast = #"""
        {"id":"1","channel_id":"aGk+/w==","bundle_id":"a.b","expiration":0,"payload":\#
        {"aps":{"event":"end","timestamp":1790000000,"content-state":{}}}}
        """#

    @Test func `a broadcast is checked like in a broadcast source`() {
        func check(_ text: String) -> CheckedDocument {
            EventChecker(.broadcast, payload: .warn).check(Array(text.utf8))
        }
        #expect(check(broadcast) == CheckedDocument(verdict: .valid, violations: []))
        #expect(self.check(broadcast).verdict == .invalid)
        #expect(check(event + #""payload":{"aps":{"alert":"hi"}}}"#).verdict == .invalid)
        let wrapper = #"{"specversion":"1.0","id":"1","source":"s","type":"t","data":"#
        #expect(check(wrapper + broadcast + "}").verdict == .valid)
        let repeated = check(String(broadcast.dropLast()) + #","bundle_id":"a.b"}"#)
        #expect(repeated.verdict == .invalid)
        #expect(repeated.violations.map(\.instanceLocation) == ["/bundle_id"])
        #expect(check(broadcast.replacing("\"end\"", with: "\"start\"")).verdict == .invalid)
    }
}
