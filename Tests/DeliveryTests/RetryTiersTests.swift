import Delivery
import Testing
import Vocabulary

@Suite struct RetryTiersTests {
    private let tiers = RetryTiers([.seconds(60), .seconds(900), .seconds(3600)])

    @Test(
        arguments: [
            // Each round uses the next tier, then the last one repeatedly.
            (nil, 0, Int.max, 0), (0, 0, .max, 1), (1, 0, .max, 2), (2, 0, .max, 2),
            // At least the requested wait, if such a tier exists.
            (nil, 60, .max, 0), (nil, 61, .max, 1), (nil, 3600, .max, 2), (nil, 3601, .max, 2),
            (1, 61, .max, 2),
            // A shorter tier if the next one is too late.
            (0, 0, 900, 1), (0, 0, 899, 0), (2, 0, 900, 1), (2, 0, 60, 0), (nil, 0, 59, nil),
            // But none shorter than the requested wait.
            (nil, 61, 899, nil), (1, 61, 900, 1), (nil, 3601, 3599, nil),
            // A tier that is no longer configured counts as beyond the last.
            (7, 0, .max, 2),
        ] as [(Int?, Int, Int, Int?)]
    )
    func `a tier is chosen by round, wait and limit`(
        previous: Int?,
        wait: Int,
        limit: Int,
        expected: Int?
    ) {
        let tier = tiers.tier(after: previous, waitingFor: .seconds(wait)) {
            $0.milliseconds / 1000 <= limit
        }
        #expect(tier == expected)
    }

    @Test(
        arguments: [
            // Due and write times before or after now; the tier keeps a record for a minute.
            (0, -60, 0), (-5, -65, -5), (20, -40, 20), (60, 0, 60),
            // A due time too far ahead: counted from the write time.
            (86_400, 0, 61), (86_400, -60, 1), (86_400, -61, 0), (86_400, -3600, -3539),
            // A clock that was set back, or a record without a timestamp: counted from its arrival.
            (3660, 3600, 61), (86_400, nil, 61), (30, nil, 30),
        ] as [(Int64, Int64?, Int64)]
    )
    func `a wait ends at most the tier's delay after the record was written`(
        due: Int64,
        written: Int64?,
        expected: Int64
    ) {
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        let history = history(
            dueAt: now.advanced(seconds: due),
            writtenAt: written.map(now.advanced(seconds:)),
            now
        )
        #expect(tiers.wait(of: history, now: now) == .seconds(expected))
    }

    /// Anyone who can write to the topic chooses both.
    @Test(arguments: [Int64.min, -1, 0, .max], [0, Int64.max])
    func `no time in a record delays its partition for longer than the tier`(
        written: Int64,
        due: Int64
    ) {
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        let history = history(
            dueAt: Timestamp(milliseconds: due),
            writtenAt: Timestamp(milliseconds: written),
            now
        )
        #expect(tiers.wait(of: history, now: now) <= .seconds(61))
    }

    private func history(
        dueAt: Timestamp,
        writtenAt: Timestamp?,
        _ now: Timestamp
    ) -> RetryHistory {
        RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 7),
                offset: Offset(99)
            ),
            timestamp: nil,
            receivedAt: now,
            attempts: 5,
            firstFailedAt: now,
            dueAt: dueAt,
            writtenAt: writtenAt,
            tier: 0,
            reason: "ServiceUnavailable"
        )
    }

    @Test func `without tiers no tier is chosen`() {
        #expect(RetryTiers().tier(after: nil) { _ in true } == nil)
    }

    @Test func `tiers that do not increase trap`() async {
        await #expect(processExitsWith: .failure) {
            _ = RetryTiers([.seconds(2), .seconds(2)])
        }
    }
}

@Suite struct RetryTopicsTests {
    private let topics = RetryTopics(
        sources: [KafkaTopic("news"), KafkaTopic("chat")],
        delayNames: ["1m", "15m"]
    )

    @Test func `every source has a topic for every tier`() {
        #expect(
            topics.topics.map(\.name)
                == ["news.retry.1m", "news.retry.15m", "chat.retry.1m", "chat.retry.15m"]
        )
    }

    @Test(
        arguments: [
            ("news", nil, nil), ("news.retry.1m", "news", 0), ("chat.retry.15m", "chat", 1),
            ("news.retry.2m", nil, nil), ("other.retry.1m", nil, nil),
        ] as [(String, String?, Int?)]
    )
    func `only a source's own retry topics are recognized`(
        topic: String,
        source: String?,
        tier: Int?
    ) {
        let purpose = topics.purpose(of: KafkaTopic(topic))
        #expect(purpose?.source.name == source)
        #expect(purpose?.tier == tier)
    }

    @Test(arguments: ["news", "news.retry.1m", "news.retry.15m"])
    func `an event waits in its own source's topics, wherever it was read`(topic: String) {
        let next = topics.topic(forEventOf: KafkaTopic(topic), tier: 1)
        #expect(next == KafkaTopic("news.retry.15m"))
    }
}

extension Timestamp {
    func advanced(seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds + seconds * 1000)
    }
}
