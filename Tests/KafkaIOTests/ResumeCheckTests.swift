import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// A partition is read on from where the group stands only if it is still the same partition.
@Suite(.ownThread) struct ResumeCheckTests {
    private static let partition = PartitionID(index: 0)

    /// Ten records, and what a member reads that starts at the fifth.
    private static func records(of topic: KafkaTopic) throws -> [Record] {
        try Source().fill(topic, count: 10, size: 100)
        let reader = try Member(group: "\(topic)-before", topic: topic)
        try reader.turn { reader.records.count == 10 }
        try reader.close()
        return reader.records
    }

    private static func member(_ topic: KafkaTopic, at start: Int, after mark: RecordMark) throws
        -> Member
    {
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(Offset(Int64(start))) }
        member.marks = [partition: mark]
        return member
    }

    /// `back` records before the start.
    @Test(arguments: [1, 3])
    func `the record before the start is not delivered`(back: Int) throws {
        let topic = try SharedCluster.freshTopic()
        let mark = try #require(Self.records(of: topic).dropFirst(5 - back).first)
        let member = try Self.member(
            topic,
            at: 5,
            after: RecordMark(offset: mark.offset, fingerprint: mark.fingerprint)
        )
        try member.turn { member.records.last?.offset == Offset(9) }
        #expect(member.records.map(\.offset.rawValue) == [5, 6, 7, 8, 9])
        #expect(member.replaced.isEmpty)
        try member.close()
    }

    @Test func `after another record in its place the partition is silent until its restart`()
        throws
    {
        let topic = try SharedCluster.freshTopic()
        let records = try Self.records(of: topic)
        // Rightly sealed, but of another record.
        let mark = RecordMark(offset: Offset(4), fingerprint: records[3].fingerprint)
        let member = try Self.member(topic, at: 5, after: mark)
        try member.turn { !member.replaced.isEmpty }
        #expect(member.replaced == [Self.partition])
        #expect(member.records.isEmpty)
        try member.restart([Self.partition: .beginning])
        try member.turn { member.records.last?.offset == Offset(9) }
        #expect(member.records.map(\.offset.rawValue) == (0..<10).map { Int64($0) })
        #expect(member.replaced.count == 1)
        try member.close()
    }

    @Test func `a record that is gone does not keep the partition from continuing`() throws {
        let topic = try SharedCluster.freshTopic()
        _ = try Self.records(of: topic)
        let mark = RecordMark(offset: Offset(1000), fingerprint: 7)
        let member = try Self.member(topic, at: 1001, after: mark)
        try member.turn { member.consumer.nextDeadline != nil }
        #expect(member.partitionFailures.isEmpty, "only the comparison has failed")
        try member.carryOutRestarts()
        // The start itself is not there either.
        try member.turn { !member.partitionFailures.isEmpty }
        #expect(member.partitionFailures.first?.at == Offset(1001))
        try member.restart([Self.partition: .at(Offset(8))])
        try member.turn { member.records.last?.offset == Offset(9) }
        #expect(member.records.map(\.offset.rawValue) == [8, 9])
        #expect(member.replaced.isEmpty)
        try member.close()
    }
}
