import Log
import Synchronization
import Telemetry
import Testing

@Suite struct LogTests {
    /// From least to most severe; `written` covers both sides of each limit.
    @Test(arguments: [
        (LogLevel.trace, "trace debug info notice warning error critical"),
        (.debug, "debug info notice warning error critical"),
        (.info, "info notice warning error critical"),
        (.notice, "notice warning error critical"),
        (.warning, "warning error critical"),
        (.error, "error critical"),
        (.critical, "critical"),
    ])
    func `a log writes its minimum level and more severe ones`(
        minimum: LogLevel,
        written: String
    ) {
        let keeper = LogKeeper()
        let log = keeper.log(from: minimum)
        // A different message each, because repeated lines are not all written.
        for level in LogLevel.allCases { log.log(level, "\(level)") }
        #expect(keeper.lines.map { $0.prefix { $0 != " " } }.joined(separator: " ") == written)
        let enabled = LogLevel.allCases.filter(log.isEnabled).map(\.rawValue)
        #expect(enabled.joined(separator: " ") == written)
    }

    @Test func `each level from info on has its own method`() {
        let keeper = LogKeeper()
        let log = keeper.log()
        log.info("c", [.count: "2"])
        log.notice("d", [.count: "3"])
        log.warning("e", [.count: "4"])
        log.error("f", [.count: "5"])
        log.critical("g", [.count: "6"])
        #expect(
            keeper.lines == [
                "info     c count=2", "notice   d count=3", "warning  e count=4",
                "error    f count=5", "critical g count=6",
            ]
        )
    }

    @Test func `a line below the minimum level is not written`() {
        let keeper = LogKeeper()
        let log = keeper.log(from: .error)
        log.warning("a")
        log.error("b")
        #expect(keeper.lines == ["error    b"])
    }

    @Test func `a line below the minimum level builds neither message nor facts`() {
        let built = Mutex<[String]>([])
        func note(_ text: String) -> String {
            built.withLock { $0.append(text) }
            return text
        }
        let keeper = LogKeeper()
        let log = keeper.log(from: .warning).with([.shard: "0"])
        log.log(.info, note("message"), [.error: note("fact")])
        log.info(note("message"), [.error: note("fact")])
        log.notice(note("message"), [.error: note("fact")])
        #expect(built.withLock(\.self).isEmpty)
        log.warning(note("message"), [.error: note("fact")])
        #expect(built.withLock(\.self) == ["message", "fact"])
        #expect(keeper.lines == ["warning  message error=fact shard=0"])
    }

    @Test func `each line has the log's facts, and its own facts win`() {
        let keeper = LogKeeper()
        let log = keeper.log().with([.shard: "1", .version: "a"])
        log.log(.debug, "m")
        log.log(.debug, "m", [.count: "2"])
        log.log(.debug, "m", [.shard: "own", .count: "2"])
        log.log(.debug, "m", [.shard: nil])
        #expect(
            keeper.lines == [
                "debug    m shard=1 version=a", "debug    m count=2 shard=1 version=a",
                "debug    m count=2 shard=own version=a", "debug    m shard=1 version=a",
            ]
        )
    }

    @Test func `if a log gets a fact twice, the later value wins`() {
        let keeper = LogKeeper()
        let first = keeper.log().with([.shard: "1", .version: "a"])
        let second = first.with([.shard: "2", .port: "80"])
        second.log(.debug, "m")
        first.log(.debug, "m")
        first.with([:]).log(.debug, "m")
        #expect(
            keeper.lines == [
                "debug    m port=80 shard=2 version=a", "debug    m shard=1 version=a",
                "debug    m shard=1 version=a",
            ]
        )
    }
}
