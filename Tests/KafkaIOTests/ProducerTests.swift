import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct ProducerTests {
    @Test(arguments: [
        [KafkaError.Code.notLeaderForPartition, .requestTimedOut, .notEnoughReplicas],
        [.transport],
    ])
    func `the library retries transient errors`(codes: [KafkaError.Code]) throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("retried")
        try kafka.createTopic(topic, partitions: 1)
        kafka.failNext(.produce, with: codes)
        let source = try Source(servers: kafka.bootstrapServers)
        try source.fill(topic, count: 20)
        #expect(source.reports.allSatisfy { $0.error == nil })
        #expect(source.reports.map(\.tag) == (0..<20).map { UInt64($0) })
    }

    @Test(
        arguments: [
            (0, 0, nil), (0, 4711, nil), (0, -1, .noOffset), (0, -1001, .noOffset),
            (KafkaError.Code.messageTimedOut.rawValue, -1001, .messageTimedOut),
        ] as [(Int32, Int64, KafkaError.Code?)]
    )
    func `a record is written only if Kafka named its offset`(
        code: Int32,
        offset: Int64,
        expected: KafkaError.Code?
    ) {
        let error = Producer.error(KafkaError.Code(rawValue: code), offset: offset)
        #expect(error?.code == expected)
        // It is produced again.
        #expect(error?.isRetryable != false)
    }

    @Test func `a missing topic is an error in the delivery report`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("missing")
        kafka.setError(.unknownTopicOrPartition, ofTopic: topic)
        let source = try Source(
            properties: ["topic.metadata.propagation.max.ms": "0"],
            servers: kafka.bootstrapServers
        )
        try source.producer.produce(topic: topic, key: nil, value: [1], tag: 7)
        try source.turn { source.reports.count == 1 }
        let report = try #require(source.reports.first)
        #expect(report.tag == 7)
        #expect(
            [.clientUnknownTopic, .unknownTopicOrPartition].contains(report.error?.code)
        )
        #expect(report.error?.isRetryable == false)
    }

    @Test func `a record too large for the broker is an error in its delivery report`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("refused")
        try kafka.createTopic(topic, partitions: 1)
        kafka.failNext(.produce, with: [.messageSizeTooLarge])
        let source = try Source(servers: kafka.bootstrapServers)
        try source.producer.produce(topic: topic, key: nil, value: [1], tag: .max)
        try source.turn { source.reports.count == 1 }
        #expect(source.reports.first?.tag == .max)
        #expect(source.reports.first?.error?.code == .messageSizeTooLarge)
    }

    @Test func `a record over message.max.bytes, headers included, is rejected at once`() throws {
        let source = try Source(properties: ["message.max.bytes": "2000"])
        let topic = try SharedCluster.freshTopic()
        let header = RecordHeader(name: "name", value: [1, 2, 3])
        let refusal = #expect(throws: ProduceError.self) {
            try source.producer.produce(
                topic: topic,
                key: nil,
                value: [UInt8](repeating: 0, count: 3000),
                headers: [header],
                tag: 1
            )
        }
        guard case .refused(let error) = refusal else {
            Issue.record("unexpected \(String(describing: refusal))")
            return
        }
        #expect(error.code == .messageSizeTooLarge)
        #expect(source.producer.outstanding == 0)
    }

    @Test func `events during the client's creation signal the eventfd, too`() throws {
        // With its own log on, the library has events before it knows the eventfd.
        for _ in 0..<20 {
            let source = try Source(properties: ["debug": "all"])
            try #require(source.wakeup.wait(.seconds(60)))
            var events: [ProducerEvent] = []
            _ = source.producer.poll(budget: 1, into: &events)
            #expect(events.count == 1)
        }
    }

    @Test func `a full queue is a normal result, and the queue empties again`() throws {
        let source = try Source(properties: ["queue.buffering.max.messages": "2"])
        let topic = try SharedCluster.freshTopic()
        try source.producer.produce(topic: topic, key: nil, value: [1], tag: 1)
        try source.producer.produce(topic: topic, key: nil, value: [2], tag: 2)
        #expect(throws: ProduceError.queueFull) {
            try source.producer.produce(topic: topic, key: nil, value: [3], tag: 3)
        }
        try source.turn { source.reports.count == 2 }
        try source.producer.produce(topic: topic, key: nil, value: [3], tag: 3)
        try source.turn { source.reports.count == 3 }
        #expect(source.reports.allSatisfy { $0.error == nil })
    }

    @Test func `a producer with a fatal error rejects records, and a new one delivers them`() throws
    {
        let topic = try SharedCluster.freshTopic()
        let broken = try Source()
        broken.producer.injectFatalError(.outOfOrderSequence, reason: "injected")
        try broken.turn { !broken.failures.isEmpty }
        let failure = try #require(broken.failures.first)
        #expect(failure.isFatal)
        #expect(failure.isRetryable)
        #expect(failure.code == .outOfOrderSequence)
        #expect(throws: ProduceError.refused(failure)) {
            try broken.producer.produce(topic: topic, key: nil, value: [1], tag: 1)
        }
        broken.producer.abandon()
        var events: [ProducerEvent] = []
        #expect(!broken.producer.poll(budget: 10, into: &events))
        #expect(events.isEmpty)

        let replacement = try Source()
        try replacement.producer.produce(topic: topic, key: nil, value: [1], tag: 1)
        try replacement.turn { replacement.reports.count == 1 }
        #expect(replacement.reports.first?.error == nil)
    }

    @Test func `a new producer delivers the records that a broken one could not`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("desynchronized")
        try kafka.createTopic(topic, partitions: 1)
        // A lost connection, then an error for the repeated request: 2.0.2 drops the batch.
        kafka.failNext(.produce, with: [.transport, .networkException])
        var missing = Set<UInt64>(0..<20)
        var generations = 0
        while !missing.isEmpty, generations < 3 {
            generations += 1
            let source = try Source(servers: kafka.bootstrapServers)
            let asked = missing.sorted()
            for tag in asked {
                try source.producer.produce(topic: topic, key: nil, value: [1], tag: tag)
            }
            try source.turn { source.reports.count == asked.count }
            for report in source.reports where report.error == nil { missing.remove(report.tag) }
            #expect(source.reports.allSatisfy { $0.error?.isRetryable != false })
        }
        #expect(missing.isEmpty)
    }

    @Test func `a broker that goes down and comes back loses nothing`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("outage")
        try kafka.createTopic(topic, partitions: 1)
        let source = try Source(servers: kafka.bootstrapServers)
        try source.fill(topic, count: 1)
        kafka.setBroker(1, isUp: false)
        for tag in 1...10 {
            try source.producer.produce(topic: topic, key: nil, value: [1], tag: UInt64(tag))
        }
        try source.turn { !source.failures.isEmpty }
        #expect(source.failures.allSatisfy { $0.isRetryable && !$0.isFatal })
        kafka.setBroker(1, isUp: true)
        try source.turn { source.reports.count == 11 }
        #expect(source.reports.allSatisfy { $0.error == nil })
    }
}
