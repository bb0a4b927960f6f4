import Shard
import Testing
import Vocabulary

@Suite struct WatchdogTests {
    /// Checks a shard once a second; `reading` is its state in each second.
    private func watch(
        seconds: Int64,
        _ reading: (Int64) -> Watchdog.Reading
    ) -> [Watchdog.Verdict] {
        var watchdog = Watchdog()
        return (0...seconds).map { second in
            watchdog.looked(at: reading(second), now: at(second))
        }
    }

    private func at(_ second: Int64) -> Instant { Instant(nanoseconds: second * 1_000_000_000) }

    @Test func `a loop that turns and takes records is healthy`() {
        let verdicts = watch(seconds: 200) {
            Watchdog.Reading(beat: at($0), progress: UInt64($0), isBehind: true)
        }
        #expect(verdicts.allSatisfy { $0 == .well })
    }

    @Test func `a loop that stops turning is reported after thirty seconds`() {
        let verdicts = watch(seconds: 40) {
            Watchdog.Reading(beat: at(min($0, 5)), progress: 1, isBehind: false)
        }
        #expect(verdicts.firstIndex { $0 != .well } == 35)
        #expect(verdicts[35] == .silent(.seconds(30)))
    }

    @Test func `fetched records that are not taken are reported after ninety seconds`() {
        let verdicts = watch(seconds: 120) {
            Watchdog.Reading(beat: at($0), progress: 1, isBehind: $0 >= 10)
        }
        #expect(verdicts.firstIndex { $0 != .well } == 99)
        #expect(verdicts[99] == .stalled(.seconds(90)))
    }

    /// If it is idle, paused or without partitions, or Kafka is unreachable, nothing is behind.
    @Test func `a shard with nothing to take may be idle forever`() {
        let verdicts = watch(seconds: 1000) {
            Watchdog.Reading(beat: at($0), progress: 1, isBehind: false)
        }
        #expect(verdicts.allSatisfy { $0 == .well })
    }

    @Test func `a process that was suspended does not count as stuck`() {
        var watchdog = Watchdog()
        let reading = Watchdog.Reading(beat: at(0), progress: 1, isBehind: true)
        #expect(watchdog.looked(at: reading, now: at(0)) == .well)
        #expect(watchdog.looked(at: reading, now: at(500)) == .well)
    }

    @Test func `a shard that has ended is not watched`() {
        let verdicts = watch(seconds: 100) { _ in
            Watchdog.Reading(beat: at(0), progress: 1, isBehind: true, hasEnded: true)
        }
        #expect(verdicts.allSatisfy { $0 == .well })
    }
}

@Suite struct ConsumerStatisticsTests {
    private func isBehind(_ partition: String, isPaused: Bool = false) -> Bool? {
        let text = """
            {"name": "heliograph", "topics": {"source": {"partitions": {"0": \(partition)}}}}
            """
        let name = TopicPartition(topic: KafkaTopic("source"), partition: 0)
        return ConsumerStatistics(Array(text.utf8))?.isBehind(besides: isPaused ? [name] : [])
    }

    @Test(arguments: [
        ("active", 10, 10, 0, false),
        ("active", 9, 10, 0, true),
        ("active", 10, 10, 3, true),
        // Its offsets are not known yet.
        ("active", -1001, -1001, 0, false),
        ("offset-query", 9, 10, 0, false),
        ("none", 9, 10, 5, false),
    ])
    func `a partition is behind if it is fetched and has records left`(
        state: String,
        next: Int,
        end: Int,
        queued: Int,
        expected: Bool
    ) {
        let partition = """
            {"fetch_state": "\(state)", "next_offset": \(next), "ls_offset": \(end), \
            "fetchq_cnt": \(queued)}
            """
        #expect(isBehind(partition) == expected)
        // A partition of a retry topic is paused until its record is due, so it is not behind.
        #expect(isBehind(partition, isPaused: true) == false)
    }

    @Test(arguments: ["", "{}", "[]", "{\"topics\": 1}"])
    func `text that is not statistics is ignored`(text: String) {
        #expect(ConsumerStatistics(Array(text.utf8)) == nil)
    }
}
