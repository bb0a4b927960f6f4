import Delivery
import KafkaIO
import Log
import Shard
import SystemIO
import Testing
import Vocabulary

/// The effect of a consumer's events, with a consumer that reaches no broker.
@Suite struct KafkaSideTests {
    private final class Bench {
        let parts: PartsBench
        let wakeup: Wakeup
        let consumer: Consumer
        let dead = SuppressedTokens(maxCount: 10)

        init() throws {
            parts = try PartsBench()
            wakeup = try Wakeup()
            consumer = try parts.settings.kafka.makeConsumer(
                shard: 0,
                wakeup: wakeup.fileDescriptor
            )
        }

        deinit { consumer.destroyAside() }

        var kafka: KafkaSide {
            KafkaSide(
                parts.settings,
                consumer,
                wakeup: wakeup,
                control: parts.control,
                schemas: ShardSchemas(payloadSchemas: { _ in nil }, fetch: nil)
            )
        }

        /// The news that an event caused.
        func words(_ event: ConsumerEvent, _ kafka: inout KafkaSide) -> [String] {
            var report = KafkaReport()
            let reply = kafka.happened(event, dead, &parts.engine, now: parts.now, &report)
            #expect(reply == nil)
            return report.news.map { "\($0)" }.map { String($0.prefix { $0 != "(" }) }
        }
    }

    @Test func `each consumer event produces its news`() throws {
        let bench = try Bench()
        var kafka = bench.kafka
        let partition = bench.parts.partition
        let large = KafkaError(code: .offsetMetadataTooLarge, text: "large")
        let gone = KafkaError(code: .offsetOutOfReach, text: "gone")
        let noCommit = CommitResult(partition: partition, error: PartsBench.noKafka)
        let events: [(ConsumerEvent, [String])] = [
            (.endReached(partition, Offset(0)), []),
            (.storedOffsetsFetched(.failure(PartsBench.noKafka)), ["positionsUnknown"]),
            (.storedOffsetsFetched(.success([:])), ["positionsFetched"]),
            (
                .storedOffsetsFetched(.success([partition: .failure(PartsBench.noKafka)])),
                ["positionsUnknown"]
            ),
            (.commitFinished([CommitResult(partition: partition, error: nil)]), ["commitFinished"]),
            (.commitFinished([noCommit]), ["commitFinished"]),
            (
                .commitFinished([CommitResult(partition: partition, error: large)]),
                ["commitMetadataRefused", "commitFinished"]
            ),
            (.partitionFailed(partition, PartsBench.noKafka, at: nil), ["partitionUnreadable"]),
            (.partitionChanged(partition, from: Offset(0)), ["metadataIgnored"]),
            (.logNotFound(partition, PartsBench.noKafka), ["logUnknown"]),
            (.logFound(FoundLog(partition, missing: Offset(9), log: 2..<5)), ["offsetLost"]),
            // Its leader must be asked first, so there is no news yet.
            (.partitionFailed(partition, gone, at: Offset(5)), []),
            (.failed(PartsBench.noKafka), ["failed"]),
            (.logged(KafkaLogLine(level: 3, facility: "FAIL", text: "no")), ["logged"]),
            (.partitionsRevoked([partition], lost: true), ["partitionsRevoked"]),
        ]
        for (event, expected) in events {
            #expect(bench.words(event, &kafka) == expected, "\(event)")
        }
        #expect(kafka.failure == nil && !kafka.hasClosed && !bench.parts.restart.isMade)
    }

    @Test(arguments: [true, false])
    func `a silent partition requests a restart of the process if it has worked in this one`(
        hasWorked: Bool
    ) throws {
        let bench = try Bench()
        var kafka = bench.kafka
        let silent = ConsumerEvent.partitionSilent(
            bench.parts.partition,
            end: Offset(3),
            hasWorked: hasWorked
        )
        #expect(bench.words(silent, &kafka) == ["partitionSilent"])
        #expect(bench.parts.restart.isMade == hasWorked)
        #expect(kafka.failure == nil, "the shard drains")
    }

    @Test func `only the offsets that Kafka accepted count as committed`() throws {
        let bench = try Bench()
        var kafka = bench.kafka
        bench.parts.take("")
        /// Counts the commits that the engine requests once the commit interval has passed.
        func commits() -> Int {
            bench.parts.pass(.seconds(60))
            return bench.parts.decide().group.count { step in
                if case .commit = step { true } else { false }
            }
        }
        let partition = bench.parts.partition
        #expect(commits() == 1, "the group had no position")
        #expect(commits() == 0, "one is in flight")
        let refused = CommitResult(partition: partition, error: PartsBench.noKafka)
        _ = bench.words(.commitFinished([refused]), &kafka)
        #expect(commits() == 1)
        let taken = CommitResult(partition: partition, error: nil)
        _ = bench.words(.commitFinished([taken]), &kafka)
        #expect(commits() == 0)
    }

    @Test
    func `a fatal error ends the shard, and a fenced shard reports that another process took over`()
        throws
    {
        let errors: [(KafkaError.Code, isFenced: Bool)] = [
            (.allBrokersDown, false), (.fencedInstance, true),
        ]
        for (code, isFenced) in errors {
            let bench = try Bench()
            var kafka = bench.kafka
            let error = KafkaError(code: code, text: "x", isFatal: true)
            #expect(bench.words(.failed(error), &kafka).isEmpty)
            let failure = try #require(kafka.failure?.description)
            #expect(failure.contains("another process") == isFenced, "\(failure)")
        }
    }

    @Test func `the last event ends the consumer`() throws {
        let bench = try Bench()
        var kafka = bench.kafka
        #expect(bench.words(.closed, &kafka).isEmpty)
        #expect(kafka.hasClosed && kafka.failure == nil)
    }
}
