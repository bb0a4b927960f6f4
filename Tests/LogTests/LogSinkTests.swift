import Log
import Telemetry
import Testing

@Suite struct LogSinkTests {
    @Test(arguments: [
        (LogFormat.json, #"","level":"info","message":"m","count":"1"}"#),
        (.text, " info     m count=1"),
    ])
    func `each line is in the sink's format and ends with a line feed`(
        format: LogFormat,
        shown: String
    ) {
        let keeper = LogKeeper()
        Log(from: .info, sink: keeper.sink(format)).info("m", [.count: "1"])
        // The time ends with Z.
        #expect(keeper.rawLines.map { String($0.drop { $0 != "Z" }) } == ["Z\(shown)\n"])
    }

    /// Six lines each, of which three are written and the others counted.
    @Test(arguments: [
        (LogLevel.trace, 6), (.debug, 6), (.info, 3), (.notice, 3), (.warning, 3), (.error, 3),
        (.critical, 6),
    ])
    func `repeated lines from info to error are counted`(level: LogLevel, writtenCount: Int) {
        let keeper = LogKeeper()
        let sink = keeper.sink()
        let log = Log(from: .trace, sink: sink)
        for number in 1...6 { log.log(level, "m", [.count: "\(number)"]) }
        #expect(keeper.lines.count == writtenCount)
        sink.finish()
        let summaries = keeper.lines.dropFirst(writtenCount)
        #expect(summaries.count == (writtenCount == 6 ? 0 : 1))
        for summary in summaries {
            #expect(summary.contains(" m (3 more of the same in the last "))
            #expect(summary.contains(" count=6 repeated=3 seconds="))
        }
    }

    /// Lines that differ only in the fact; the first three of a kind are written, the others
    /// counted.
    @Test(arguments: [
        (LogKey.credential, true), (.environment, true), (.outcome, true), (.reason, true),
        (.error, true), (.problem, true), (.partition, false), (.eventID, false),
        (.connection, false), (.shard, false),
    ])
    func `subjects distinguish kinds of lines, details do not`(
        key: LogKey,
        isSubject: Bool
    ) {
        let keeper = LogKeeper()
        let log = keeper.log()
        for number in 1...6 {
            var facts: LogFacts = [:]
            facts[key] = "\(number)"
            log.info("m", facts)
        }
        #expect(keeper.lines.count == (isSubject ? 6 : 3))
    }

    @Test func `with everyLine, every line is written at once`() {
        let keeper = LogKeeper()
        let sink = keeper.sink()
        let log = Log(from: .info, sink: sink).everyLine
        for number in 1...9 {
            log.error("refused", [.problem: "key_file: \(number)"])
            log.notice("taken")
        }
        #expect(
            keeper.lines
                == (1...9).flatMap {
                    ["error    refused problem=\"key_file: \($0)\"", "notice   taken"]
                }
        )
        sink.finish()
        #expect(keeper.lines.count == 18)
    }

    @Test func `only the text before a subject's first colon distinguishes kinds`() {
        let keeper = LogKeeper()
        let log = keeper.log()
        for number in 1...6 { log.info("m", [.error: "timedOut: 10.0.0.\(number)"]) }
        #expect(keeper.lines.count == 3)
        log.info("m", [.error: "refused: 10.0.0.1"])
        #expect(keeper.lines.last == "info     m error=\"refused: 10.0.0.1\"")
    }

    @Test func `facts of the log distinguish kinds just like facts of the line`() {
        let keeper = LogKeeper()
        let log = keeper.log()
        for name in ["a", "b"] {
            let named = log.with([.credential: name])
            for _ in 1...4 { named.info("m") }
        }
        #expect(keeper.lines.count == 6)
    }
}
