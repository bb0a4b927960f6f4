import EventCodec
import Testing
import Tools
import Vocabulary

@Suite struct CampaignTalliesTests {
    private static func record(
        _ campaign: String,
        partition: Int32 = 0,
        owner: UInt64,
        accepted: Int,
        isTombstone: Bool = false
    ) throws -> Record {
        let tally = CampaignTallyRecord(
            try #require(CampaignName(campaign)),
            TopicPartition(topic: KafkaTopic("notifications"), partition: partition),
            owner: owner,
            OutcomeCounts(sent: accepted, [.accepted: accepted]),
            updatedAt: Timestamp(milliseconds: 0)
        )
        return Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: tally.key,
            value: isTombstone ? nil : tally.value
        )
    }

    @Test func `the newest records of all partitions and owners are added up`() throws {
        var tallies = CampaignTallies()
        for record in [
            try Self.record("a", owner: 1, accepted: 5),
            try Self.record("a", owner: 1, accepted: 7),
            // From another partition of the topic, where the key was before partitions were added.
            try Self.record("a", owner: 1, accepted: 6),
            try Self.record("a", partition: 1, owner: 1, accepted: 10),
            try Self.record("a", owner: 2, accepted: 100),
            try Self.record("b", owner: 3, accepted: 1),
            try Self.record("c", owner: 4, accepted: 1),
            try Self.record("c", owner: 4, accepted: 1, isTombstone: true),
        ] { try tallies.take(record) }
        let counts = OutcomeCounts(sent: 117, [.accepted: 117])
        #expect(
            tallies.sums == [
                try #require(CampaignName("a")): counts,
                try #require(CampaignName("b")): OutcomeCounts(sent: 1, [.accepted: 1]),
            ]
        )
    }
}
