import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct ClusterCheckTests {
    @Test func `topics are described with their partitions or their error`() throws {
        let kafka = try EmbeddedKafka(brokers: 2)
        let known = KafkaTopic("known")
        let missing = KafkaTopic("missing")
        try kafka.createTopic(known, partitions: 5)
        kafka.setError(.unknownTopicOrPartition, ofTopic: missing)
        let check = try ClusterCheck(bootstrapServers: kafka.bootstrapServers, properties: [:])
        defer { check.destroyAside() }
        let answers = try check.describe([known, missing], deadline: .seconds(60))
        #expect(try answers[known]?.get().partitionCount == 5)
        let error = #expect(throws: KafkaError.self) { try answers[missing]?.get() }
        #expect(error?.code == .unknownTopicOrPartition)
    }

    @Test func `each broker that leads partitions of a topic is checked through one of them`()
        throws
    {
        let kafka = try EmbeddedKafka(brokers: 3)
        let topic = KafkaTopic("spread")
        try kafka.createTopic(topic, partitions: 7)
        for partition in 0..<7 as Range<Int32> {
            kafka.moveLeader(of: partition, of: topic, toBroker: Int(partition) % 3 + 1)
        }
        let check = try ClusterCheck(bootstrapServers: kafka.bootstrapServers, properties: [:])
        defer { check.destroyAside() }
        let layout = try #require(try check.describe([topic], deadline: .seconds(60))[topic]).get()
        #expect(layout.partitionCount == 7)
        #expect(layout.onePerLeader == [0, 1, 2])
        #expect(layout.leaderless.isEmpty)
    }

    @Test func `rights are tried, and a partition without a leader is reported`() throws {
        let kafka = try EmbeddedKafka(brokers: 2)
        let topics = [KafkaTopic("good"), KafkaTopic("headless")]
        for topic in topics { try kafka.createTopic(topic, partitions: 2) }
        let trial = RightsTrial(
            bootstrapServers: kafka.bootstrapServers,
            properties: [:],
            deadline: .seconds(60)
        )
        let whole = TopicLayout(partitionCount: 2, onePerLeader: [0, 1])
        let headless = TopicLayout(partitionCount: 2, onePerLeader: [0], leaderless: [1])
        let layouts = [topics[0]: whole, topics[1]: headless]
        let read = try trial.read(layouts)
        #expect(read.keys.map(\.name) == ["headless"])
        #expect(read[topics[1]]?.text.contains("partition 1 has no leader") == true)
        let written = try trial.write([topics[0]: whole])
        #expect(written.isEmpty)
        try trial.commit(in: "group", of: topics[0])
    }

    @Test func `a trial without an answer ends with the connection's error`() throws {
        let trial = RightsTrial(
            bootstrapServers: "127.0.0.1:1",
            properties: [:],
            deadline: .seconds(10)
        )
        let layout = TopicLayout(partitionCount: 1, onePerLeader: [0])
        let topic = KafkaTopic("any")
        for failures in [try trial.read([topic: layout]), try trial.write([topic: layout])] {
            #expect(failures[topic]?.text.contains("127.0.0.1:1") == true, "\(failures)")
        }
        let error = #expect(throws: KafkaError.self) { try trial.commit(in: "group", of: topic) }
        #expect(error?.text.contains("127.0.0.1:1") == true)
    }

    @Test func `a cluster that does not answer is unreachable within the deadline`() throws {
        // Port 1 of the loopback interface refuses connections.
        let check = try ClusterCheck(bootstrapServers: "127.0.0.1:1", properties: [:])
        defer { check.destroyAside() }
        let failure = #expect(throws: ClusterCheck.Failure.self) {
            // All of the time passes, so that the refusal is reported on a slow machine as well.
            try check.describe([KafkaTopic("any")], deadline: .seconds(15))
        }
        guard case .unreachable(let error) = failure else {
            Issue.record("unexpected \(String(describing: failure))")
            return
        }
        #expect(error.text.contains("127.0.0.1:1"))
    }

    @Test func `a cluster that cannot create topics is reported`() throws {
        let kafka = try EmbeddedKafka()
        let check = try ClusterCheck(bootstrapServers: kafka.bootstrapServers, properties: [:])
        defer { check.destroyAside() }
        let wanted = ClusterCheck.NewTopic(topic: KafkaTopic("new"), partitions: 3)
        let failure = #expect(throws: ClusterCheck.Failure.self) {
            _ = try check.create([wanted], deadline: .seconds(15))
        }
        guard case .failed(let error) = failure else {
            Issue.record("unexpected \(String(describing: failure))")
            return
        }
        #expect(error.code == .timedOut)
        #expect(error.text.contains("controller"))
    }
}
