import Glibc
import KafkaIO
import TestThreads
import Testing
import Vocabulary

private let realBroker = unsafe getenv("HELIOGRAPH_TEST_BOOTSTRAP").map {
    unsafe String(cString: $0)
}

/// Uses a real broker, given by `HELIOGRAPH_TEST_BOOTSTRAP` (`host:port`).
@Suite(.ownThread, .enabled(if: realBroker != nil))
struct RealBrokerTests {
    @Test func `a topic is created and filled, and a restarted member continues at its commit`()
        throws
    {
        let servers = try #require(realBroker)
        let topic = KafkaTopic("heliograph-test-\(UInt64.random(in: 0 ... .max))")
        let check = try ClusterCheck(bootstrapServers: servers, properties: [:])
        defer { check.destroyAside() }
        let wanted = ClusterCheck.NewTopic(
            topic: topic,
            partitions: 3,
            properties: ["cleanup.policy": "delete", "max.message.bytes": "70000"]
        )
        let created = try check.create([wanted], deadline: .seconds(20))
        #expect(created == [topic: KafkaError?.none])
        let again = try check.create([wanted], deadline: .seconds(20))
        #expect(again[topic]??.code == .topicAlreadyExists)
        #expect(
            try check.describe([topic], deadline: .seconds(20))[topic]?.get().partitionCount == 3
        )
        let batches = try check.maxBatchBytes(of: [topic], deadline: .seconds(20))
        #expect(batches == [topic: .success(70_000)])

        let source = try Source(servers: servers)
        try source.fill(topic, count: 300)
        #expect(source.reports.allSatisfy { $0.error == nil })

        // Brokers refuse sessions under 6 s; some ignore fetch limits.
        let limits = [
            "session.timeout.ms": "6000", "receive.message.max.bytes": "1000000000",
        ]
        let first = try Member(
            group: topic.name,
            topic: topic,
            properties: limits,
            servers: servers
        )
        try first.turn { first.records.count == 300 }
        #expect(first.assigned.count == 3)
        try first.consumer.commit(
            first.assigned.map {
                PartitionCommit(partition: $0, offset: Offset(10), metadata: "v1:\($0.index)")
            }
        )
        try first.turn { !first.commits.isEmpty }
        #expect(first.commits.first?.allSatisfy { $0.error == nil } == true)
        try first.close()

        let second = try Member(
            group: topic.name,
            topic: topic,
            properties: limits,
            servers: servers
        )
        second.answersAssignments = false
        try second.turn { second.assigned.count == 3 }
        second.consumer.fetchStoredOffsets(of: second.assigned)
        try second.turn { !second.stored.isEmpty }
        let stored = try #require(try second.stored.first?.get())
        #expect(stored.count == 3)
        for (partition, answer) in stored {
            let expected = CommittedPosition(
                offset: Offset(10),
                metadata: "v1:\(partition.index)"
            )
            #expect(try answer.get() == expected)
        }
        try second.consumer.assign(
            stored.keys.map { PartitionStart(partition: $0, position: .at(Offset(10))) },
            now: second.now
        )
        try second.turn { second.records.count == 270 }
        #expect(second.records.allSatisfy { $0.offset >= Offset(10) })
        try second.close()
    }
}
