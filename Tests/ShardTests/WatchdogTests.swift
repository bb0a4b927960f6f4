import Shard
import Testing
import Vocabulary

@Suite struct WatchdogTests {
    /// Looks once a second at a shard that does what `reading` says of each second.
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

    @Test func `a loop that turns and takes records is well`() {
        let verdicts = watch(seconds: 200) {
            Watchdog.Reading(beat: at($0), progress: UInt64($0), isBehind: true)
        }
        #expect(verdicts.allSatisfy { $0 == .well })
    }

    @Test func `a loop that stops turning is noticed after thirty seconds`() {
        let verdicts = watch(seconds: 40) {
            Watchdog.Reading(beat: at(min($0, 5)), progress: 1, isBehind: false)
        }
        #expect(verdicts.firstIndex { $0 != .well } == 35)
        #expect(verdicts[35] == .silent(.seconds(30)))
    }

    @Test func `records that wait and are not taken are noticed after ninety seconds`() {
        let verdicts = watch(seconds: 120) {
            Watchdog.Reading(beat: at($0), progress: 1, isBehind: $0 >= 10)
        }
        #expect(verdicts.firstIndex { $0 != .well } == 99)
        #expect(verdicts[99] == .stalled(.seconds(90)))
    }

    /// Idle, paused, without partitions, or Kafka is away: then nothing is behind.
    @Test func `a shard with nothing to take may be idle for ever`() {
        let verdicts = watch(seconds: 1000) {
            Watchdog.Reading(beat: at($0), progress: 1, isBehind: false)
        }
        #expect(verdicts.allSatisfy { $0 == .well })
    }

    @Test func `a process that was stopped as a whole is not taken for stuck`() {
        var watchdog = Watchdog()
        let reading = Watchdog.Reading(beat: at(0), progress: 1, isBehind: true)
        #expect(watchdog.looked(at: reading, now: at(0)) == .well)
        #expect(watchdog.looked(at: reading, now: at(500)) == .well)
    }

    @Test func `a shard that has ended needs no watching`() {
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
        // Nothing is known of it yet.
        ("active", -1001, -1001, 0, false),
        ("offset-query", 9, 10, 0, false),
        ("none", 9, 10, 5, false),
    ])
    func `behind is what is fetched and not at its end`(
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
        // What waits for its time in a retry topic is no standstill.
        #expect(isBehind(partition, isPaused: true) == false)
    }

    @Test(arguments: ["", "{}", "[]", "{\"topics\": 1}"])
    func `what is not statistics is ignored`(text: String) {
        #expect(ConsumerStatistics(Array(text.utf8)) == nil)
    }
}
