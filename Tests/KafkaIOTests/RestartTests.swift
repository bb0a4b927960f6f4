import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// A restart, and a rebalance during it.
@Suite(.ownThread) struct RestartTests {
    /// A member whose only partition has ten records and failed at an offset after them.
    private static func failed(at offset: Offset) throws -> (Member, PartitionID, KafkaTopic) {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 10)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(offset) }
        try member.turn { !member.partitionFailures.isEmpty }
        return (member, try #require(member.assigned.first), topic)
    }

    /// librdkafka 2.0.2 aborts the process if told to stop a partition that is stopping.
    @Test func `the assignment is revoked once the last restart has settled`() throws {
        let (member, partition, _) = try Self.failed(at: Offset(20))
        member.answersRevocations = false
        member.consumer.restart(partition, from: .beginning, now: member.now)
        try member.carryOutRestarts()
        #expect(member.consumer.nextDeadline == nil)
        member.consumer.beginClose()
        try member.turn { !member.revocations.isEmpty }

        try member.consumer.unassign(now: member.now)
        let settled = try #require(member.consumer.nextDeadline)
        #expect(settled > member.now)
        try member.consumer.timeAdvanced(now: member.now)
        #expect(member.consumer.nextDeadline == settled, "the group waits")
        try member.consumer.timeAdvanced(now: settled)
        #expect(member.consumer.nextDeadline == nil)
        try member.turn { member.isClosed }
    }

    @Test func `a rebalance cancels a pending restart`() throws {
        let (member, partition, _) = try Self.failed(at: Offset(20))
        member.answersRevocations = false
        member.consumer.restart(partition, from: .beginning, now: member.now)
        #expect(member.consumer.nextDeadline != nil)
        member.consumer.beginClose()
        try member.turn { !member.revocations.isEmpty }
        #expect(member.consumer.nextDeadline == nil)
        member.consumer.restart(partition, from: .beginning, now: member.now)
        #expect(member.consumer.nextDeadline == nil, "a failure now is ignored as well")
        try member.consumer.unassign(now: member.now)
        try member.turn { member.isClosed }
        #expect(member.records.isEmpty)
    }

    @Test func `a partition is stuck until it delivers a record`() throws {
        let (member, partition, topic) = try Self.failed(at: Offset(20))
        try member.restart([partition: .at(Offset(20))])
        try member.turn { member.partitionFailures.count == 2 }
        #expect(member.consumer.stuckPartitions.isEmpty)
        member.consumer.restart(partition, from: .at(Offset(20)), now: member.now)
        #expect(member.consumer.stuckPartitions == [partition])
        try Source().fill(topic, count: 20)
        try member.carryOutRestarts()
        try member.turn { !member.records.isEmpty }
        #expect(member.records.first?.offset == Offset(20))
        #expect(member.consumer.stuckPartitions.isEmpty)
    }
}
