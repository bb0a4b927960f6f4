import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct FetchWatchTests {
    /// What happens to one partition, a minute apart.
    enum Minute {
        /// The client knows of this position and end, and the leader reports this end.
        case seen(Int64?, Int64?, leader: Int64?)
        /// It is paused, so nothing is looked at.
        case paused
        /// As `seen`, and then a pause begins and ends.
        case pausedAfter(Int64?, Int64?, leader: Int64?)
        /// As `seen`, and then Kafka reports an error of the partition.
        case failedAfter(Int64?, Int64?, leader: Int64?)
    }

    @Test(
        arguments: [
            (
                "a quiet log",
                [.seen(9, 9, leader: 9), .seen(9, 9, leader: 9), .seen(9, 9, leader: 9)], nil
            ),
            // A transaction's marker is never delivered.
            (
                "markers",
                [.seen(8, 9, leader: 9), .seen(8, 9, leader: 9), .seen(8, 9, leader: 9)], nil
            ),
            (
                "a topic created again",
                [.seen(9, 9, leader: 9), .seen(9, 9, leader: 2), .seen(9, 9, leader: 4)], 2
            ),
            (
                "never fetched",
                [
                    .seen(nil, nil, leader: 9), .seen(nil, nil, leader: 9),
                    .seen(nil, nil, leader: 9),
                ], 2
            ),
            (
                "a record just before each look",
                [.seen(9, 9, leader: 10), .seen(10, 10, leader: 11), .seen(11, 11, leader: 12)], nil
            ),
            (
                "a record just before one look",
                [
                    .seen(9, 9, leader: 9), .seen(9, 9, leader: 10), .seen(10, 10, leader: 10),
                    .seen(10, 10, leader: 11),
                ], nil
            ),
            (
                "a backlog",
                [.seen(1, 9, leader: 9), .seen(5, 9, leader: 9), .seen(9, 9, leader: 9)], nil
            ),
            (
                "no leader",
                [.seen(9, 9, leader: nil), .seen(9, 9, leader: nil), .seen(9, 9, leader: nil)], nil
            ),
            (
                "a leader that answers now and then",
                [
                    .seen(9, 9, leader: 2), .seen(9, 9, leader: 2), .seen(9, 9, leader: nil),
                    .seen(9, 9, leader: 2),
                ], 3
            ),
            (
                "a pause between looks",
                [
                    .seen(9, 9, leader: 2), .pausedAfter(9, 9, leader: 2), .seen(9, 9, leader: 2),
                    .seen(9, 9, leader: 2),
                ], nil
            ),
            (
                "a pause at a look",
                [
                    .seen(9, 9, leader: 2), .seen(9, 9, leader: 2), .paused, .seen(9, 9, leader: 2),
                    .seen(9, 9, leader: 2),
                ], nil
            ),
            (
                "a reported error",
                [
                    .failedAfter(9, 9, leader: 12), .seen(9, 9, leader: 12),
                    .seen(9, 9, leader: 12), .seen(9, 9, leader: 12),
                ], nil
            ),
            (
                "an error that is over",
                [
                    .failedAfter(9, 9, leader: 12), .seen(9, 12, leader: 12),
                    .seen(9, 12, leader: 15), .seen(9, 12, leader: 15), .seen(9, 12, leader: 15),
                ], 3
            ),
        ] as [(String, [Minute], Int?)]
    )
    func `a partition is silent if its log differs from what was fetched for a minute`(
        story: String,
        minutes: [Minute],
        silentAt: Int?
    ) {
        var watch = FetchWatch()
        let partition = PartitionID(index: 3)
        var now = Instant(nanoseconds: 0)
        var found: Int?
        for (index, minute) in minutes.enumerated() {
            #expect(watch.isDue(now: now))
            var leader: Int64?
            switch minute {
            case .paused: _ = watch.looked(at: [:], now: now)
            case .seen(let position, let end, let answer),
                .pausedAfter(let position, let end, let answer),
                .failedAfter(let position, let end, let answer):
                let view = FetchWatch.View(position: position, end: end)
                _ = watch.looked(at: [partition: view], now: now)
                leader = answer
            }
            if let leader, watch.answered(partition, end: leader), found == nil { found = index }
            switch minute {
            case .pausedAfter: watch.paused([partition])
            case .failedAfter: watch.failed(partition)
            case .seen, .paused: break
            }
            #expect(!watch.isDue(now: now + .seconds(59)))
            now = now + .seconds(60)
        }
        #expect(found == silentAt, "\(story)")
    }

    @Test func `only what was asked is answered, and nothing after the assignment`() {
        var watch = FetchWatch()
        let (quiet, busy) = (PartitionID(index: 0), PartitionID(index: 1))
        for minute in 0..<3 {
            let views = [
                quiet: FetchWatch.View(position: 9, end: 9),
                busy: FetchWatch.View(position: Int64(minute), end: 9),
            ]
            let asked = watch.looked(at: views, now: Instant(nanoseconds: Int64(minute)))
            #expect(asked == (minute == 0 ? [] : [quiet]))
            let isSilent = watch.answered(busy, end: 20)
            #expect(!isSilent)
        }
        watch.assignmentEnded()
        let isSilent = watch.answered(quiet, end: 20)
        #expect(!isSilent)
    }

    /// A member of a cluster of its own that has read ten records, and looks whenever it polls.
    private static func member(of cluster: EmbeddedKafka, _ topic: KafkaTopic) throws -> Member {
        try cluster.createTopic(topic, partitions: 1)
        try Source(servers: cluster.bootstrapServers).fill(topic, count: 10)
        let member = try Member(
            group: topic.name,
            topic: topic,
            properties: ["statistics.interval.ms": "50"],
            servers: cluster.bootstrapServers
        )
        try member.turn { member.records.count == 10 }
        return member
    }

    @Test func `a partition whose fetches fail without a word is silent`() throws {
        let (cluster, topic) = (try EmbeddedKafka(), KafkaTopic("silent"))
        let member = try Self.member(of: cluster, topic)
        // A response of the mock cluster would name the log's end, even with an error.
        cluster.failNext(.fetch, with: Array(repeating: .transport, count: 100_000))
        try Source(servers: cluster.bootstrapServers).fill(topic, count: 5)
        try member.turn {
            member.now = member.now + .seconds(60)
            return !member.silent.isEmpty
        }
        #expect(member.silent.first?.partition == member.assigned.first)
        #expect(member.silent.first?.end == Offset(15))
        #expect(member.records.count == 10 && member.partitionFailures.isEmpty)
        try member.close()
    }

    @Test func `a partition that has nothing new is not`() throws {
        let (cluster, topic) = (try EmbeddedKafka(), KafkaTopic("quiet"))
        let member = try Self.member(of: cluster, topic)
        let first = member.statisticsCount
        var looks = first
        try member.turn {
            if member.statisticsCount > looks {
                looks = member.statisticsCount
                member.now = member.now + .seconds(60)
            }
            return looks >= first + 12
        }
        #expect(member.silent.isEmpty)
        try Source(servers: cluster.bootstrapServers).fill(topic, count: 5)
        try member.turn { member.records.count == 15 }
        try member.close()
    }
}
