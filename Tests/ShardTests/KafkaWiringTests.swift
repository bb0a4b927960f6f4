import APNsSimulator
import Delivery
import EmbeddedKafka
import EventCodec
import JSONSchema
import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Telemetry
import TestThreads
import Testing
import Vocabulary

/// A whole shard with Kafka, the list of dead tokens and the Schema Registry.
@Suite(.ownThread) struct KafkaWiringTests {
    @Test
    func `A record that is not an event becomes an outcome and a dead letter, but no request`()
        throws
    {
        let bench = try ShardBench()
        try bench.write("no event", key: "k", headers: [RecordHeader(name: "own", value: [0x31])])
        let shard = try bench.start()
        try bench.wait(for: "outcome and dead letter") {
            try bench.outcomes().count == 1
                && bench.records(of: bench.settings.topics.deadLetters).count == 1
        }
        try bench.stop(shard)

        #expect(try bench.outcomes().first?.outcome == "invalid")
        #expect(try bench.requests().isEmpty)
        let letter = try #require(try bench.records(of: bench.settings.topics.deadLetters).first)
        #expect(letter.valueText == "no event")
        #expect(letter.keyText == "k")
        #expect(letter.headerTexts["own"] == "1")
        #expect(letter.headerTexts["__connect.errors.topic"] == bench.source.name)
        #expect(try bench.committed(in: bench.source) == 1)
        #expect(shard.control.status.counts == ShardCounts(consumed: 1, terminal: 1))
    }

    @Test func `All shards know a dead token, and it is alive once it is registered again`() throws
    {
        let since = SystemClock.wallClock.milliseconds - 1000
        let gone = Behavior(
            steps: [.reason(.unregistered, since: Timestamp(milliseconds: since))]
        )
        let bench = try ShardBench(scenario([gone]))
        let dead = bench.settings.suppressedTokens
        try bench.write(event("first", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the first outcome") { try bench.outcomes().count == 1 }
        #expect(dead.deadCount == 1)
        try bench.write(event("second", to: device(0)))
        try bench.wait(for: "the second outcome") { try bench.outcomes().count == 2 }
        let anew = #","token_registered_at":\#(since + 500)"#
        try bench.write(event("third", to: device(0), anew))
        try bench.wait(for: "the third outcome, and the token's two records") {
            try bench.outcomes().count == 3
                && bench.records(of: bench.settings.topics.tokenStatus).count == 2
        }
        try bench.stop(shard)

        let outcomes = try bench.outcomes().map(\.outcome)
        #expect(outcomes == ["unregistered", "suppressed", "accepted"])
        #expect(try bench.requests().count == 2)
        let status = try bench.records(of: bench.settings.topics.tokenStatus)
        #expect(Set(status.map(\.keyText)) == ["com.example.app|production|\(device(0))"])
        #expect(status.map { $0.value == nil } == [false, true])
        #expect(dead.deadCount == 0)
    }

    @Test func `An event that is due much later goes to the retry topic`() throws {
        var behavior = Behavior(steps: [.reason(.tooManyRequests)])
        behavior.retryAfterSeconds = 600
        let bench = try ShardBench(scenario([behavior]))
        let later = event("later", to: device(0))
        try bench.write(later, key: "k", headers: [RecordHeader(name: "own", value: [0x31])])
        let shard = try bench.start()
        try bench.wait(for: "the retry record") {
            try bench.records(of: bench.retryTopic).count == 1
        }
        try bench.stop(shard)

        let record = try #require(try bench.records(of: bench.retryTopic).first)
        #expect(record.valueText == later)
        #expect(record.keyText == "k")
        let headers = record.headerTexts
        #expect(headers["own"] == "1")
        #expect(headers["heliograph-retry-topic"] == bench.source.name)
        #expect(headers["heliograph-retry-offset"] == "0")
        #expect(headers["heliograph-retry-attempts"] == "1")
        #expect(headers["heliograph-retry-tier"] == "1h")
        #expect(headers["heliograph-retry-reason"] == "TooManyRequests")
        #expect(try bench.outcomes().isEmpty)
        #expect(try bench.committed(in: bench.source) == 1)
        // It is read back and held, which does not settle it.
        #expect(try bench.committed(in: bench.retryTopic) ?? 0 == 0)
        #expect(shard.metrics.deferred.value == 1)
        #expect(shard.control.status.counts.deferred == 1)
    }

    /// The second record of the retry topic is due at once, but it is behind the first one.
    @Test func `A retry record stops its partition until it is due, and gets its event's outcome`()
        throws
    {
        let bench = try ShardBench {
            // A stopped partition is checked again after a sixtieth of this.
            $0.engine.later = RetryTiers([.seconds(10)])
        }
        let due = SystemClock.wallClock.milliseconds + 4000
        for (offset, time) in [due, due - 10_000].enumerated() {
            let position = RecordPosition(
                partition: TopicPartition(topic: bench.source, partition: 3),
                offset: Offset(Int64(offset))
            )
            let history = RetryHistory(
                origin: position,
                timestamp: nil,
                receivedAt: Timestamp(milliseconds: due - 20_000),
                attempts: 2,
                firstFailedAt: Timestamp(milliseconds: due - 20_000),
                dueAt: Timestamp(milliseconds: time),
                tier: 0,
                reason: "TooManyRequests"
            )
            try bench.write(
                event("\(offset)", to: device(offset)),
                headers: history.headers(over: [], tierName: "1h"),
                to: bench.retryTopic
            )
        }
        let shard = try bench.start()
        try bench.wait(for: "the outcomes") { try bench.outcomes().count == 2 }
        try bench.stop(shard)

        let requests = try bench.requests()
        #expect(requests.map(\.token) == [device(0), device(1)])
        #expect(try #require(requests.first).time >= due)
        for (offset, outcome) in try bench.outcomes().enumerated() {
            #expect(outcome.outcome == "accepted")
            #expect(outcome.attempts == 3)
            let origin = SeenOutcome.Source(
                topic: bench.source.name,
                partition: 3,
                offset: Int64(offset)
            )
            #expect(outcome.source == origin)
        }
        #expect(try bench.committed(in: bench.retryTopic) == 2)
        #expect(shard.metrics.returned.value == 2)
    }

    @Test func `A shard finishes its requests in flight before it leaves`() throws {
        let bench = try ShardBench(scenario([Behavior(delay: .milliseconds(300))])) {
            $0.engine.drainTimeout = .seconds(60)
        }
        try bench.write(event("slow", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the request") { try bench.requests().count == 1 }
        try bench.stop(shard)

        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        #expect(try bench.outcomes().first?.outcome == "accepted")
        #expect(try bench.committed(in: bench.source) == 1)
        #expect(shard.control.status.counts == ShardCounts(consumed: 1, terminal: 1))
    }

    /// The group admits the next member only because the previous one has left.
    @Test func `The next shard sends only what the previous one did not settle`() throws {
        let bench = try ShardBench(scenario([.alive, Behavior(steps: [.silence])])) {
            $0.engine.drainTimeout = .milliseconds(1)
            $0.kafka.properties["session.timeout.ms"] = ShardBench.changing
        }
        for index in 0..<3 { try bench.write(event("\(index)", to: device(index))) }
        let first = try bench.start()
        try bench.wait(for: "two outcomes, and their acknowledgement") {
            try bench.outcomes().count == 2 && first.control.status.counts.terminal == 2
        }
        try bench.stop(first)
        #expect(try bench.committed(in: bench.source) == 1)
        #expect(first.control.status.counts.handedBack == 1)

        let second = try bench.start()
        try bench.wait(for: "the third outcome") { try bench.outcomes().count == 3 }
        try bench.stop(second)
        let tokens = try bench.requests().map(\.token).sorted()
        #expect(tokens == [device(0), device(1), device(1), device(2)])
        #expect(second.metrics.skippedSettled.value == 1)
        #expect(try bench.committed(in: bench.source) == 3)
    }

    @Test func `Two shards of a group share the partitions`() throws {
        let bench = try ShardBench(partitions: 2) {
            $0.kafka.properties["session.timeout.ms"] = ShardBench.changing
        }
        let first = try bench.start()
        try bench.wait(for: "both partitions") { first.metrics.assignedPartitions.value == 3 }
        let second = try bench.start()
        try bench.wait(for: "partitions for each shard") {
            let counts = [first, second].map { $0.metrics.assignedPartitions.value }
            return counts.reduce(0, +) == 3 && !counts.contains(0)
        }
        let ids = Set((0..<10).map { "\($0)" })
        for id in ids { try bench.write(event(id, to: device(0)), key: id) }
        try bench.wait(for: "the outcomes") {
            try Set(bench.outcomes().compactMap(\.eventID)) == ids
        }
        try bench.stop(first)
        try bench.stop(second)
        #expect(first.metrics.rebalances.value >= 2)
    }

    @Test func `An outcome that is too large for Kafka is written again without metadata`() throws {
        let bench = try ShardBench(ownsKafka: true)
        try bench.write(event("large", to: device(0), #","metadata":{"tenant":"a"}"#))
        // Kafka refuses its batch, and then the record by itself.
        let refusals = [KafkaError.Code](repeating: .messageSizeTooLarge, count: 2)
        bench.kafka.failNext(.produce, with: refusals)
        let shard = try bench.start()
        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        try bench.stop(shard)

        let outcome = try #require(try bench.outcomes().first)
        #expect(outcome.outcome == "accepted")
        #expect(outcome.eventID == "large")
        #expect(outcome.metadata == nil)
        #expect(shard.metrics.produceErrors[.outcome].value == 2)
        #expect(shard.metrics.resultsProduced.value == 1)
        #expect(try bench.requests().count == 1)
        #expect(try bench.committed(in: bench.source) == 1)
    }

    @Test func `A batch that is too large for Kafka loses none of its records or their metadata`()
        throws
    {
        let bench = try ShardBench(ownsKafka: true) {
            // Records written before the shard starts are in one batch.
            $0.kafka.properties["producer.linger.ms"] = "3000"
        }
        let count = 20
        for number in 0..<count { try bench.write("no event \(number)", key: "\(number)") }
        // One batch per topic.
        let refusals = [KafkaError.Code](repeating: .messageSizeTooLarge, count: 2)
        bench.kafka.failNext(.produce, with: refusals)
        let shard = try bench.start()
        let topic = bench.settings.topics.deadLetters
        try bench.wait(for: "the outcomes, and the dead letters") {
            try shard.control.status.counts.terminal == count
                && bench.outcomes().count >= count && bench.records(of: topic).count >= count
        }
        try bench.stop(shard)

        #expect(try bench.outcomes().count == count)
        let letters = try bench.records(of: topic)
        #expect(Set(letters.map(\.keyText)) == Set((0..<count).map { "\($0)" }))
        #expect(shard.metrics.produceErrors[.outcome].value > 1, "the batch had many records")
        #expect(shard.metrics.produceErrors[.deadLetter].value > 1)
        #expect(try bench.committed(in: bench.source) == Int64(count))
    }

    /// A lost connection, then an error for the repeated request: librdkafka gives up the record,
    /// although Kafka may have it.
    @Test func `An outcome that Kafka may or may not have is written again`() throws {
        let bench = try ShardBench(ownsKafka: true)
        try bench.write(event("unsure", to: device(0)))
        bench.kafka.failNext(.produce, with: [.transport, .networkException])
        let shard = try bench.start()
        try bench.wait(for: "the outcome, and its acknowledgement") {
            try shard.control.status.counts.terminal == 1 && !bench.outcomes().isEmpty
        }
        try bench.stop(shard)

        #expect(shard.metrics.produceErrors[.outcome].value >= 1)
        #expect(try bench.requests().count == 1)
        #expect(try bench.committed(in: bench.source) == 1)
    }

    @Test func `A dead letter that is too large is omitted, and the outcome says so`() throws {
        let bench = try ShardBench { $0.kafka.properties["message.max.bytes"] = "2000" }
        try bench.write(String(repeating: "x", count: 3000))
        let shard = try bench.start()
        try bench.wait(for: "the outcome") { try bench.outcomes().count == 1 }
        try bench.stop(shard)

        #expect(try bench.outcomes().first?.outcome == "invalid")
        #expect(try bench.records(of: bench.settings.topics.deadLetters).isEmpty)
        #expect(shard.metrics.produceErrors[.deadLetter].value == 1)
        #expect(shard.control.status.counts == ShardCounts(consumed: 1, terminal: 1))
        #expect(try bench.committed(in: bench.source) == 1)
    }

    /// The mock cluster neither hides aborted records nor moves offsets, but can refuse requests.
    @Test func `Offsets are committed in transactions, and an aborted transaction is repeated`()
        throws
    {
        let bench = try ShardBench(ownsKafka: true, transactional)
        let illegalGeneration = KafkaError.Code(rawValue: 22)
        bench.kafka.failNext(.transactionOffsetCommit, with: [illegalGeneration])
        // A commit outside the transaction would get this error.
        bench.kafka.failNext(.offsetCommit, with: [.topicAuthorizationFailed])
        try bench.write(event("once", to: device(0)))
        let shard = try bench.start()
        try bench.wait(for: "the outcome, and its transaction's commit") {
            try shard.control.status.counts.terminal == 1 && !bench.outcomes().isEmpty
        }
        try bench.stop(shard)

        #expect(try bench.requests().count == 1)
        #expect(try bench.outcomes().allSatisfy { $0.outcome == "accepted" })
        #expect(shard.metrics.commits[.failed].value == 1)
        #expect(shard.metrics.commits[.ok].value == 1)
        #expect(shard.metrics.resultsProduced.value == 1)
        #expect(try bench.committed(in: bench.source) == nil)
    }

    @Test func `A shard whose producer is fenced ends with the cause`() throws {
        let bench = try ShardBench(ownsKafka: true, transactional)
        bench.kafka.failNext(.endTransaction, with: [.producerFenced])
        try bench.write(event("fenced", to: device(0)))
        let shard = try bench.start()
        try bench.waitForEnd(of: shard)

        let failure = try #require(shard.failure)
        #expect(failure.description.contains("results.transactional_id"))
        #expect(shard.control.status.hasEnded)
        #expect(shard.metrics.resultsProduced.value == 0)
    }

    @Test func `A schema that records name is requested once, and waiting records are decoded`()
        throws
    {
        let schema = #"{"type":"object","required":["id"]}"#
        let compiled = try Schema(text: Array(schema.utf8))
        let asked = AskedSchemas()
        let bench = try ShardBench(
            fetchSchema: { reference, control in
                asked.add(reference)
                control.deliver(SchemaAnswer(schema: reference, result: .usable(compiled)))
            }
        )
        let wire: [UInt8] = [0, 0, 0, 0, 7]
        for id in ["first", "second"] {
            try bench.write(wire + Array(event(id, to: device(0)).utf8))
        }
        let shard = try bench.start()
        try bench.wait(for: "the outcomes") { try bench.outcomes().count == 2 }
        try bench.stop(shard)

        #expect(asked.all == [.id(7)])
        #expect(try bench.outcomes().map(\.outcome) == ["accepted", "accepted"])
        #expect(try bench.requests().count == 2)
        #expect(try bench.committed(in: bench.source) == 2)
    }

    private func transactional(_ settings: inout ShardSettings) {
        settings.kafka.transactionalID = settings.kafka.groupID
        settings.engine.transactionTimeout = .seconds(60)
    }
}

private final class AskedSchemas: Sendable {
    private let references = Mutex<[SchemaReference]>([])

    func add(_ reference: SchemaReference) { references.withLock { $0.append(reference) } }

    var all: [SchemaReference] { references.withLock { $0 } }
}
