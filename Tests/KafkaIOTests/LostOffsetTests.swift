import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// What is determined about a log that lacks an offset.
@Suite(.ownThread) struct LostOffsetTests {
    private static let count = 10
    private static let end = Offset(Int64(count))

    /// A member that starts at this offset in a partition of ten records, after that start has
    /// failed.
    private static func failed(
        at start: Offset,
        after mark: RecordMark? = nil,
        on cluster: EmbeddedKafka? = nil
    ) throws -> (Member, PartitionID, KafkaTopic) {
        let topic = try SharedCluster.freshTopic()
        try cluster?.createTopic(topic, partitions: 1)
        try Source(servers: cluster?.bootstrapServers).fill(topic, count: count)
        let member = try Member(
            group: topic.name,
            topic: topic,
            servers: cluster?.bootstrapServers
        )
        member.start = { _ in .at(start) }
        if let mark { member.marks = [PartitionID(index: 0): mark] }
        try member.turn { !member.partitionFailures.isEmpty }
        #expect(member.partitionFailures.map(\.error.code) == [.offsetOutOfReach])
        return (member, try #require(member.assigned.first), topic)
    }

    /// Asks at once and waits for the answer.
    private static func find(_ member: Member, until isDone: () -> Bool) throws {
        try member.consumer.timeAdvanced(now: try #require(member.consumer.nextDeadline))
        try member.turn(until: isDone)
    }

    @Test func `the leader reports the offsets of its log`() throws {
        let (member, partition, _) = try Self.failed(at: Offset(20))
        member.consumer.findLog(of: partition, missing: Offset(20), now: member.now)
        try Self.find(member) { !member.found.isEmpty }
        let found = try #require(member.found.first)
        #expect(found.partition == partition)
        #expect(found.missing == Offset(20))
        #expect(found.log == 0..<Int64(Self.count))
        #expect(member.consumer.nextDeadline == nil)
        try member.close()
    }

    @Test func `a leader that does not answer is asked again`() throws {
        let cluster = try EmbeddedKafka()
        let (member, partition, _) = try Self.failed(at: Offset(20), on: cluster)
        cluster.failNext(.listOffsets, with: [.topicAuthorizationFailed])
        member.consumer.findLog(of: partition, missing: Offset(20), now: member.now)
        try Self.find(member) { !member.notFound.isEmpty }
        #expect(member.found.isEmpty)
        #expect(member.consumer.stuckPartitions == [partition])
        try Self.find(member) { !member.found.isEmpty }
        #expect(member.found.map(\.missing) == [Offset(20)])
        #expect(member.consumer.stuckPartitions.isEmpty)
        try member.close()
    }

    @Test func `an answer that arrives after a rebalance is dropped`() throws {
        let (member, partition, _) = try Self.failed(at: Offset(20))
        member.consumer.findLog(of: partition, missing: Offset(20), now: member.now)
        try member.consumer.timeAdvanced(now: member.now)
        member.answersRevocations = false
        member.consumer.beginClose()
        try member.turn { !member.revocations.isEmpty }
        #expect(member.consumer.nextDeadline == nil)
        try member.consumer.unassign(now: member.now)
        try member.turn { member.isClosed }
    }

    // MARK: Starting one record early

    /// The log has lost its last record, or several records.
    @Test(arguments: [0, 1, 5])
    func `a log that ends before the start position is detected before any record`(
        missing: Int64
    ) throws {
        let mark = RecordMark(offset: Offset(Self.end.rawValue + missing), fingerprint: 7)
        let start = mark.offset.next
        let topic: KafkaTopic
        let member: Member
        let partition: PartitionID
        if missing == 0 {
            (member, partition, topic) = try Self.failed(at: start, after: mark)
        } else {
            (member, partition, topic) = try Self.failedTwice(at: start, after: mark)
        }
        #expect(member.partitionFailures.map(\.at) == [start])
        member.consumer.findLog(of: partition, missing: start, now: member.now)
        try Self.find(member) { !member.found.isEmpty }
        #expect(member.found.map(\.log) == [0..<Self.end.rawValue])
        // New records at offsets that lost records had.
        try member.restart([partition: .at(Self.end)])
        try Source().fill(topic, count: 3)
        try member.turn { member.records.count == 3 }
        #expect(member.records.map(\.offset.rawValue) == [10, 11, 12])
        #expect(member.replaced.isEmpty)
        try member.close()
    }

    /// First the mark does not exist, then the start position.
    private static func failedTwice(
        at start: Offset,
        after mark: RecordMark
    ) throws -> (Member, PartitionID, KafkaTopic) {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: count)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(start) }
        member.marks = [PartitionID(index: 0): mark]
        try member.turn { member.consumer.nextDeadline != nil }
        try member.carryOutRestarts()
        try member.turn { !member.partitionFailures.isEmpty }
        return (member, try #require(member.assigned.first), topic)
    }

    @Test func `records that arrive before the answer are not lost`() throws {
        let mark = RecordMark(offset: Offset(13), fingerprint: 7)
        let start = mark.offset.next
        let topic = try SharedCluster.freshTopic()
        let source = try Source()
        // Three past the end of the log when it is first read, so the mark's offset is empty.
        try source.fill(topic, count: 13)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(start) }
        member.marks = [PartitionID(index: 0): mark]
        try member.turn { !member.partitionFailures.isEmpty }
        let partition = try #require(member.assigned.first)
        member.consumer.findLog(of: partition, missing: start, now: member.now)
        // The log grows up to the start, but with other records.
        try source.fill(topic, count: 4)
        try Self.find(member) { !member.found.isEmpty }
        #expect(member.found.map(\.log) == [0..<17])
        #expect(member.records.isEmpty && member.replaced.isEmpty)
        try member.restart([partition: .at(start)])
        try member.turn { !member.replaced.isEmpty }
        #expect(member.records.isEmpty)
        try member.close()
    }
}
