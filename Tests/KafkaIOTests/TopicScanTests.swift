import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct TopicScanTests {
    private func scan(_ topic: KafkaTopic, _ wakeup: WakeUp) throws -> TopicScan {
        try TopicScan(
            topic: topic,
            bootstrapServers: SharedCluster.kafka.get().bootstrapServers,
            properties: ["fetch.wait.max.ms": "10"],
            wakeup: wakeup.descriptor,
            deadline: .seconds(60)
        )
    }

    @Test func `a scan reads only the records that existed when it began`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 3)
        let source = try Source()
        try source.fill(topic, count: 60)
        let wakeup = WakeUp()
        let scan = try scan(topic, wakeup)
        defer { scan.destroyAside() }
        try source.fill(topic, count: 40)
        var records: [Record] = []
        try turn(wakeup) {
            scan.isComplete
        } poll: {
            try scan.poll(budget: 7, into: &records)
        }
        #expect(Set(records.map(\.text)) == Set((0..<60).map { "\($0)" }))
        #expect(records.count == 60)
        #expect(Set(records.map { scan.partitions[$0.partition] }).count == 3)
    }

    @Test func `a leader that changes is asked again`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("moved")
        try kafka.createTopic(topic, partitions: 1)
        let wakeup = WakeUp()
        kafka.failNext(.listOffsets, with: [.notLeaderForPartition, .leaderNotAvailable])
        let scan = try TopicScan(
            topic: topic,
            bootstrapServers: kafka.bootstrapServers,
            wakeup: wakeup.descriptor,
            deadline: .seconds(60)
        )
        defer {
            scan.destroyAside()
            withExtendedLifetime(wakeup) {}
        }
        #expect(scan.isComplete)
    }

    @Test func `a scan of an empty topic is complete at once`() throws {
        let wakeup = WakeUp()
        let scan = try scan(try SharedCluster.freshTopic(), wakeup)
        defer {
            scan.destroyAside()
            withExtendedLifetime(wakeup) {}
        }
        var records: [Record] = []
        #expect(scan.isComplete)
        #expect(try !scan.poll(budget: 7, into: &records))
        #expect(records.isEmpty)
    }
}
