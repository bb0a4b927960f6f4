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
        /// As `seen`, but the client gets no answer.
        case unanswered(Int64?, Int64?)
        /// It is paused, so nothing is looked at.
        case paused
        /// As `seen`, and then a pause begins and ends.
        case pausedAfter(Int64?, Int64?, leader: Int64?)
        /// As `seen`, and then Kafka reports an error of the partition.
        case failedAfter(Int64?, Int64?, leader: Int64?)
    }

    /// When a partition is found silent, and whether it has worked before.
    struct Silence: Equatable {
        let minute: Int
        let hasWorked: Bool
    }

    private static let quiet = Minute.seen(9, 9, leader: 9)
    private static let other = Minute.seen(9, 9, leader: 2)

    @Test(
        arguments: [
            ("a quiet log", [quiet, quiet, quiet], nil),
            // A transaction's marker is never delivered.
            ("markers", Array(repeating: .seen(8, 9, leader: 9), count: 3), nil),
            // What can be read ends before it.
            ("an open transaction", Array(repeating: .seen(5, 9, leader: 5), count: 3), nil),
            ("a topic created again", [quiet, other, .seen(9, 9, leader: 4)], (2, true)),
            ("one that is longer now", [quiet] + long(2), (2, true)),
            ("told once", [quiet, other, other, other, other], (2, true)),
            ("never fetched", Array(repeating: .seen(nil, nil, leader: 9), count: 3), (2, false)),
            // Its position was set beyond what can be read.
            (
                "an open transaction before", Array(repeating: .seen(nil, 9, leader: 5), count: 3),
                nil
            ),
            // Nothing was delivered, but the last fetch was right.
            (
                "an idle topic created again",
                [.seen(nil, 9, leader: 9), .seen(nil, 9, leader: 9)]
                    + Array(repeating: .seen(nil, nil, leader: 5), count: 3),
                (4, true)
            ),
            // As after a restart that did not help.
            (
                "a follower without news", Array(repeating: .seen(nil, 9, leader: 12), count: 4),
                (2, false)
            ),
            (
                "then it has some",
                [.seen(nil, 9, leader: 12), .seen(nil, 11, leader: 12)]
                    + Array(repeating: .seen(nil, 11, leader: 14), count: 3), (3, true)
            ),
            (
                "a record just before each look",
                (9...12).map { .seen($0, $0, leader: $0 + 1) },
                nil
            ),
            (
                "a record just before one look",
                [
                    quiet, .seen(9, 9, leader: 10), .seen(10, 10, leader: 10),
                    .seen(10, 10, leader: 11),
                ],
                nil
            ),
            ("a backlog", [.seen(1, 9, leader: 9), .seen(5, 9, leader: 9), quiet], nil),
            ("no leader", Array(repeating: .seen(9, 9, leader: nil), count: 4), nil),
            (
                "a leader that answers now and then",
                [other, other, .seen(9, 9, leader: nil), other],
                (3, true)
            ),
            (
                "no answer, and failing fetches", Array(repeating: .unanswered(9, nil), count: 4),
                (2, true)
            ),
            ("no answer, but fetches", Array(repeating: .unanswered(9, 9), count: 4), nil),
            ("a pause between looks", [other, .pausedAfter(9, 9, leader: 2), other, other], nil),
            ("a pause at a look", [other, other, .paused, other, other], nil),
            ("a reported error", [.failedAfter(9, 9, leader: 12)] + long(4), nil),
            // A refused fetch does not say where the log ends.
            (
                "a refusal",
                [.failedAfter(9, 9, leader: 12)]
                    + Array(repeating: .seen(9, nil, leader: 12), count: 4),
                nil
            ),
            (
                "an error that is over",
                [.failedAfter(9, 9, leader: 12), .seen(9, 12, leader: 12)]
                    + Array(repeating: .seen(9, 12, leader: 15), count: 3),
                (3, true)
            ),
        ] as [(String, [Minute], (Int, Bool)?)]
    )
    func `a partition is silent if its log differs from what was fetched for a minute`(
        story: String,
        minutes: [Minute],
        expected: (Int, Bool)?
    ) {
        var watch = FetchWatch()
        let partition = PartitionID(index: 3)
        var now = Instant(nanoseconds: 0)
        var found: [Silence] = []
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
            case .unanswered(let position, let end):
                let view = FetchWatch.View(position: position, end: end)
                _ = watch.looked(at: [partition: view], now: now)
            }
            let isAnswered = if case .unanswered = minute { true } else { leader != nil }
            if isAnswered,
                case .silent(let hasWorked) = watch.answered(partition, end: leader)
            {
                found.append(Silence(minute: index, hasWorked: hasWorked))
                #expect(watch.silent == [partition])
            }
            switch minute {
            case .pausedAfter: watch.paused([partition])
            case .failedAfter: watch.failed(partition)
            case .seen, .unanswered, .paused: break
            }
            #expect(!watch.isDue(now: now + .seconds(59)))
            now = now + .seconds(60)
        }
        #expect(
            found == expected.map { [Silence(minute: $0.0, hasWorked: $0.1)] } ?? [],
            "\(story)"
        )
    }

    private static func long(_ count: Int) -> [Minute] {
        Array(repeating: .seen(9, 9, leader: 12), count: count)
    }

    @Test func `a silent partition is not once its fetches see more`() {
        var watch = FetchWatch()
        let partition = PartitionID(index: 0)
        for minute in Int64(0)...4 {
            let view = FetchWatch.View(position: 9, end: minute < 4 ? 9 : 12)
            _ = watch.looked(at: [partition: view], now: Instant(nanoseconds: minute))
            _ = watch.answered(partition, end: 12)
            #expect(watch.silent == (2...3 ~= minute ? [partition] : []))
        }
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
            #expect(watch.answered(busy, end: 20) == .nothing)
        }
        watch.assignmentEnded()
        #expect(watch.answered(quiet, end: 20) == .nothing)
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
        #expect(member.silent.first?.hasWorked == true)
        #expect(member.consumer.stuckPartitions == member.assigned)
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
