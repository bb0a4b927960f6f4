import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// A partition is resumed at the group's offset only if its log is still the same.
@Suite(.ownThread) struct ResumeCheckTests {
    private static let partition = PartitionID(index: 0)

    /// Ten records, and a member that starts at the fifth.
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

    @Test
    func `if another record is in the mark's place, the partition is silent until its restart`()
        throws
    {
        let topic = try SharedCluster.freshTopic()
        let records = try Self.records(of: topic)
        // A valid checksum, but of another record.
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

    // MARK: The last known record

    /// The state of a member's last known record, in a log of ten read from the third; and where
    /// reading starts if the log has changed.
    @Test(
        arguments: [
            ("it is still there", known: 7, isOther: false, hasMark: true, changedFrom: nil),
            ("it is still there, and there is no mark", known: 7, false, hasMark: false, nil),
            ("another record is there", known: 7, isOther: true, hasMark: true, changedFrom: 2),
            ("another record is there, and there is no mark", known: 7, true, hasMark: false, 3),
            ("the log ends there", known: 10, isOther: true, hasMark: true, changedFrom: 2),
            ("the log ends before it", known: 15, isOther: true, hasMark: true, changedFrom: 2),
        ] as [(String, Int64, Bool, Bool, Int64?)]
    )
    func `the last known record is checked first`(
        name: String,
        known: Int64,
        isOther: Bool,
        hasMark: Bool,
        changedFrom: Int64?
    ) throws {
        let topic = try SharedCluster.freshTopic()
        let records = try Self.records(of: topic)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(Offset(3)) }
        // The record in between is read, too, if the log has changed.
        if hasMark {
            let mark = RecordMark(offset: Offset(1), fingerprint: records[1].fingerprint)
            member.marks = [Self.partition: mark]
        }
        let fingerprint = isOther ? 7 : records[Int(known)].fingerprint
        let last = RecordMark(offset: Offset(known), fingerprint: fingerprint)
        member.lastKnown = [Self.partition: last]
        try member.turn { member.consumer.nextDeadline != nil }
        #expect(member.records.isEmpty && member.partitionFailures.isEmpty)
        #expect(member.changed == (changedFrom.map { [Offset($0)] } ?? []))
        try member.settleRestarts()
        try member.turn { member.records.last?.offset == Offset(9) }
        #expect(member.records.map(\.offset.rawValue) == Array((changedFrom ?? 3)..<10))
        #expect(member.replaced.isEmpty && member.changed.count == (changedFrom == nil ? 0 : 1))
        try member.close()
    }

    @Test func `an entirely different log is reported twice`() throws {
        let topic = try SharedCluster.freshTopic()
        _ = try Self.records(of: topic)
        let member = try Self.member(
            topic,
            at: 5,
            after: RecordMark(offset: Offset(4), fingerprint: 7)
        )
        member.lastKnown = [Self.partition: RecordMark(offset: Offset(8), fingerprint: 7)]
        try member.turn { !member.changed.isEmpty }
        try member.settleRestarts()
        try member.turn { !member.replaced.isEmpty }
        #expect(member.changed == [Offset(5)])
        #expect(member.records.isEmpty)
        try member.close()
    }

    @Test func `a restart of another partition does not disturb the check`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        try Source().fill(topic, count: 60, size: 100)
        let reader = try Member(group: "\(topic)-before", topic: topic)
        try reader.turn { reader.records.count == 60 }
        try reader.close()
        let member = try Member(group: topic.name, topic: topic)
        let name = TopicPartition(topic: topic, partition: 0)
        let all = reader.records.filter { reader.consumer.name(of: $0.partition) == name }
        let last = try #require(all.last)
        member.answersAssignments = false
        try member.turn { !member.assigned.isEmpty }
        let checked = try #require(member.assigned.first { member.consumer.name(of: $0) == name })
        let other = try #require(member.assigned.first { $0 != checked })
        let mark = RecordMark(offset: last.offset, fingerprint: last.fingerprint)
        try member.consumer.assign(
            [
                PartitionStart(partition: checked, position: .at(Offset(2)), lastKnown: mark),
                PartitionStart(partition: other, position: .beginning),
            ],
            now: member.now
        )
        try member.restart([other: .beginning])
        try member.turn { member.consumer.nextDeadline != nil }
        #expect(!member.records.contains { $0.partition == checked })
        try member.settleRestarts()
        try member.turn {
            member.records.count { $0.partition == checked } == all.count - 2
        }
        let offsets = member.records.filter { $0.partition == checked }.map(\.offset.rawValue)
        #expect(offsets == Array(2..<Int64(all.count)))
        #expect(member.changed.isEmpty)
        try member.close()
    }

    @Test func `a record that no longer exists does not stop the partition`() throws {
        let topic = try SharedCluster.freshTopic()
        _ = try Self.records(of: topic)
        let mark = RecordMark(offset: Offset(1000), fingerprint: 7)
        let member = try Self.member(topic, at: 1001, after: mark)
        try member.turn { member.consumer.nextDeadline != nil }
        #expect(member.partitionFailures.isEmpty, "only the comparison has failed")
        try member.carryOutRestarts()
        // The start offset does not exist either.
        try member.turn { !member.partitionFailures.isEmpty }
        #expect(member.partitionFailures.first?.at == Offset(1001))
        try member.restart([Self.partition: .at(Offset(8))])
        try member.turn { member.records.last?.offset == Offset(9) }
        #expect(member.records.map(\.offset.rawValue) == [8, 9])
        #expect(member.replaced.isEmpty)
        try member.close()
    }
}
