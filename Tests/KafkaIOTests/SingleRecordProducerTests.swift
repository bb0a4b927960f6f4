import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct SingleRecordProducerTests {
    private func producer(_ kafka: EmbeddedKafka) throws -> SingleRecordProducer {
        try SingleRecordProducer(bootstrapServers: kafka.bootstrapServers, properties: [:])
    }

    private func values(in topic: KafkaTopic, _ kafka: EmbeddedKafka) throws -> [[UInt8]?] {
        let wakeup = WakeUp()
        let scan = try TopicScan(
            topic: topic,
            bootstrapServers: kafka.bootstrapServers,
            properties: ["fetch.wait.max.ms": "10"],
            wakeup: wakeup.descriptor,
            deadline: .seconds(60)
        )
        defer { scan.destroyAside() }
        var records: [Record] = []
        try turn(wakeup) {
            scan.isComplete
        } poll: {
            try scan.poll(budget: 7, into: &records)
        }
        return records.map(\.value)
    }

    @Test func `a record is in its topic when the call returns`() throws {
        let topic = try SharedCluster.freshTopic()
        let kafka = try SharedCluster.kafka.get()
        let producer = try producer(kafka)
        try producer.write([1], key: [7], to: topic, within: .seconds(60))
        #expect(try values(in: topic, kafka) == [[1]])
        try producer.write(nil, key: [7], to: topic, within: .seconds(60))
        #expect(try values(in: topic, kafka) == [[1], nil])
    }

    @Test func `a record that Kafka refuses is an error`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("refused")
        try kafka.createTopic(topic, partitions: 1)
        kafka.failNext(.produce, with: [.messageSizeTooLarge])
        let producer = try producer(kafka)
        let failure = #expect(throws: SingleRecordProducer.Failure.self) {
            try producer.write([1], key: [7], to: topic, within: .seconds(60))
        }
        guard case .refused(let error) = failure else {
            Issue.record("unexpected \(String(describing: failure))")
            return
        }
        #expect(error.code == .messageSizeTooLarge)
    }

    @Test func `a late answer is not taken for the next record's`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("late")
        try kafka.createTopic(topic, partitions: 1)
        let producer = try producer(kafka)
        try producer.write([1], key: [7], to: topic, within: .seconds(60))
        kafka.setBroker(1, isUp: false)
        #expect(throws: SingleRecordProducer.Failure.unanswered) {
            try producer.write([2], key: [7], to: topic, within: .milliseconds(1))
        }
        kafka.setBroker(1, isUp: true)
        try producer.write([3], key: [7], to: topic, within: .seconds(60))
        #expect(try values(in: topic, kafka) == [[1], [2], [3]])
    }
}
