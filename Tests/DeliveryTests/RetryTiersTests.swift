import Delivery
import Testing
import Vocabulary

@Suite struct RetryTiersTests {
    private let tiers = RetryTiers([.seconds(60), .seconds(900), .seconds(3600)])

    @Test(
        arguments: [
            // Each round the next tier, the last again and again.
            (nil, 0, Int.max, 0), (0, 0, .max, 1), (1, 0, .max, 2), (2, 0, .max, 2),
            // At least the wait that was asked for, if there is such a tier.
            (nil, 60, .max, 0), (nil, 61, .max, 1), (nil, 3600, .max, 2), (nil, 3601, .max, 2),
            (1, 61, .max, 2),
            // A shorter one where the next comes too late.
            (0, 0, 900, 1), (0, 0, 899, 0), (2, 0, 900, 1), (2, 0, 60, 0), (nil, 0, 59, nil),
            // But none that is shorter than the wait.
            (nil, 61, 899, nil), (1, 61, 900, 1), (nil, 3601, 3599, nil),
            // A tier that the configuration no longer has counts as beyond the last.
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

    @Test func `without tiers there is none to choose`() {
        #expect(RetryTiers().tier(after: nil) { _ in true } == nil)
    }

    @Test func `tiers that do not go up are a programmer's error`() async {
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
    func `only its own retry topics have a purpose`(topic: String, source: String?, tier: Int?) {
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
