import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct ClusterCheckTests {
    @Test func `Topics are described with their partitions, or with their error`() throws {
        let kafka = try EmbeddedKafka(brokers: 2)
        let known = KafkaTopic("known")
        let missing = KafkaTopic("missing")
        try kafka.createTopic(known, partitions: 5)
        kafka.setError(.unknownTopicOrPartition, ofTopic: missing)
        let check = try ClusterCheck(bootstrapServers: kafka.bootstrapServers, properties: [:])
        defer { check.destroyAside() }
        let answers = try check.describe([known, missing], deadline: .seconds(20))
        #expect(answers[known] == .success(5))
        let error = #expect(throws: KafkaError.self) { try answers[missing]?.get() }
        #expect(error?.code == .unknownTopicOrPartition)
    }

    @Test func `A cluster that does not answer is unreachable, within the deadline`() throws {
        // Port 1 of the loopback interface refuses connections.
        let check = try ClusterCheck(bootstrapServers: "127.0.0.1:1", properties: [:])
        defer { check.destroyAside() }
        let failure = #expect(throws: ClusterCheck.Failure.self) {
            // All of it passes, so that the refusal is told on a slow machine as well.
            try check.describe([KafkaTopic("any")], deadline: .seconds(5))
        }
        guard case .unreachable(let error) = failure else {
            Issue.record("unexpected \(String(describing: failure))")
            return
        }
        #expect(error.text.contains("127.0.0.1:1"))
    }

    @Test func `A cluster that cannot create topics says so`() throws {
        let kafka = try EmbeddedKafka()
        let check = try ClusterCheck(bootstrapServers: kafka.bootstrapServers, properties: [:])
        defer { check.destroyAside() }
        let wanted = ClusterCheck.NewTopic(topic: KafkaTopic("new"), partitions: 3)
        let failure = #expect(throws: ClusterCheck.Failure.self) {
            _ = try check.create([wanted], deadline: .seconds(1))
        }
        guard case .failed(let error) = failure else {
            Issue.record("unexpected \(String(describing: failure))")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.text.contains("controller"))
    }
}
