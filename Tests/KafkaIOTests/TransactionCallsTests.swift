import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// The mock cluster answers the calls but neither hides open transactions nor moves offsets.
///
/// Each test has its own cluster, because an injected error goes to the next request of any client.
@Suite(.ownThread) struct TransactionCallsTests {
    @Test func `records and offsets are committed, one transaction after another`() throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        for round in 0..<3 {
            try bench.calls.begin()
            try bench.produce(count: 10)
            try bench.calls.send(bench.offsets(at: Int64(round)))
            try bench.calls.commit()
        }
        #expect(bench.source.reports.count == 30)
        #expect(bench.source.reports.allSatisfy { $0.error == nil })
        #expect(bench.source.producer.outstanding == 0)
    }

    @Test func `nothing is accepted outside a transaction`() throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        #expect(throws: ProduceError.self) { try bench.send() }
        try bench.calls.begin()
        try bench.produce(count: 1)
        try bench.calls.commit()
        #expect(throws: ProduceError.self) { try bench.send() }
    }

    @Test func `after an abort, the next transaction succeeds`() throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        try bench.calls.begin()
        try bench.produce(count: 5)
        try bench.calls.abort()
        try bench.calls.begin()
        try bench.produce(count: 5)
        try bench.calls.commit()
        #expect(bench.source.producer.outstanding == 0)
    }

    @Test func `a call without an answer may succeed later`() throws {
        let kafka = try EmbeddedKafka()
        kafka.setBroker(1, isUp: false)
        let source = try Source(servers: kafka.bootstrapServers, transactionalID: "early")
        let error = #expect(throws: TransactionError.self) {
            try source.producer.transactionCalls.open(timeout: .milliseconds(200))
        }
        #expect(error?.kind == .retriable)
        kafka.setBroker(1, isUp: true)
        try source.producer.transactionCalls.open(timeout: .seconds(60))
        try source.producer.transactionCalls.begin()
    }

    private static let refusals: [(KafkaError.Code, TransactionFailure)] = [
        (.illegalGeneration, .abortable), (.unknownMember, .abortable),
        (.fencedInstance, .abortable), (.producerFenced, .fenced),
        (.invalidProducerEpoch, .fenced),
    ]

    @Test(arguments: refusals)
    func `refused offsets are reported as abortable or fenced`(
        code: KafkaError.Code,
        kind: TransactionFailure
    ) throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        try bench.calls.begin()
        try bench.produce(count: 1)
        bench.kafka.failNext(.transactionOffsetCommit, with: [code])
        let offsets = try bench.offsets(at: 1)
        let error = #expect(throws: TransactionError.self) { try bench.calls.send(offsets) }
        #expect(error?.kind == kind)
        guard kind == .abortable else { return }
        try bench.calls.abort()
        try bench.calls.begin()
        try bench.calls.send(offsets)
        try bench.calls.commit()
    }

    @Test(arguments: [
        (KafkaError.Code.producerFenced, TransactionFailure.fenced),
        (.invalidProducerEpoch, .fenced),
    ])
    func `a commit by a replaced producer is fenced`(
        code: KafkaError.Code,
        kind: TransactionFailure
    ) throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        try bench.calls.begin()
        try bench.produce(count: 1)
        bench.kafka.failNext(.endTransaction, with: [code])
        let error = #expect(throws: TransactionError.self) { try bench.calls.commit() }
        #expect(error?.kind == kind)
        #expect(throws: TransactionError.self) { try bench.calls.begin() }
    }

    @Test func `after a fatal error, a new producer with the same ID takes over`() throws {
        let bench = try TransactionBench()
        try bench.calls.open()
        try bench.calls.begin()
        try bench.produce(count: 1)
        let failed = bench.source
        failed.producer.injectFatalError(.outOfOrderSequence, reason: "test")
        try failed.turn { failed.failures.contains(where: \.isFatal) }
        let fatal = failed.failures.filter(\.isFatal)
        let error = try #require(fatal.first)
        #expect(TransactionError(error).kind == .unusable)

        try bench.replaceSource()
        try bench.calls.open()
        try bench.calls.begin()
        try bench.produce(count: 1)
        try bench.calls.send(bench.offsets(at: 1))
        try bench.calls.commit()
        #expect(bench.source.producer.outstanding == 0)
    }
}

/// A member with an assignment, and a transactional producer.
private final class TransactionBench {
    let kafka: EmbeddedKafka
    private(set) var source: Source
    private let results = KafkaTopic("results")
    private let member: Member

    init() throws {
        kafka = try EmbeddedKafka()
        let topic = KafkaTopic("source")
        try kafka.createTopic(topic, partitions: 1)
        try kafka.createTopic(results, partitions: 1)
        source = try Self.source(kafka)
        member = try Member(group: "group", topic: topic, servers: kafka.bootstrapServers)
        member.answersAssignments = false
        try member.turn { [member] in member.assigned.count == 1 }
    }

    /// Another producer takes over the transactional ID.
    func replaceSource() throws { source = try Self.source(kafka) }

    private static func source(_ kafka: EmbeddedKafka) throws -> Source {
        try Source(servers: kafka.bootstrapServers, transactionalID: "shard")
    }

    var calls: TransactionCalls { source.producer.transactionCalls }

    /// Does what a shard's loop does while a transaction is open.
    func produce(count: Int) throws {
        let before = source.reports.count
        for _ in 0..<count { try send() }
        try source.turn { [source] in source.reports.count == before + count }
    }

    func send() throws {
        try source.producer.produce(topic: results, key: nil, value: [1], tag: 1)
    }

    func offsets(at offset: Int64) throws -> TransactionOffsets {
        member.consumer.fetchStoredOffsets(of: member.assigned, waitingForTransactions: true)
        let requests = member.assigned.map {
            PartitionCommit(partition: $0, offset: Offset(offset), metadata: "p1")
        }
        return try #require(member.consumer.transactionOffsets(requests))
    }
}
