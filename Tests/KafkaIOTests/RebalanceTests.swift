import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct RebalanceTests {
    /// Runs both members' loops until a condition holds.
    private func turn(_ one: Member, _ two: Member, until isDone: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !isDone() {
            guard ContinuousClock.now < end else { throw DeadlinePassed() }
            while try one.poll() {}
            while try two.poll() {}
            _ = one.wakeup.wait(.milliseconds(10))
        }
    }

    @Test func `a second member takes over the partitions that the first revokes after draining`()
        throws
    {
        let topic = try SharedCluster.freshTopic(partitions: 4)
        try Source().fill(topic, count: 100)
        let first = try Member(group: topic.name, topic: topic, properties: Member.changing)
        try first.turn { first.records.count == 100 }
        #expect(first.assigned.count == 4)
        let held = try #require(first.assigned.first)
        first.consumer.pause([held])
        first.answersRevocations = false

        let second = try Member(group: topic.name, topic: topic, properties: Member.changing)
        (second.start, second.hurries) = ({ _ in .end }, true)
        try turn(first, second) {
            guard first.revocations.isEmpty else { return true }
            // The next poll may bring the rebalance, but never the answer.
            first.consumer.fetchStoredOffsets(of: first.assigned)
            return false
        }
        #expect(first.revocations.first?.partitions == first.assigned)
        #expect(first.revocations.first?.lost == false)
        #expect(second.assigned.isEmpty, "the group waits for the first member's answer")

        // Answers requested before a rebalance are void.
        first.stored = []
        first.consumer.fetchStoredOffsets(of: [held])
        try turn(first, second) { !first.stored.isEmpty }
        let answered = try first.stored.map { try Array($0.get().keys) }
        #expect(answered == [[held]])

        (first.start, first.hurries) = ({ _ in .end }, true)
        first.assigned = []
        try first.consumer.unassign(now: first.now)
        first.answersRevocations = true
        try turn(first, second) { first.assigned.count == 2 && second.assigned.count == 2 }

        // The paused partition delivers again, whichever member has it now.
        let before = first.records.count
        let source = try Source()
        try turn(first, second) {
            if Set(first.records.dropFirst(before).map(\.partition)).count == 2,
                Set(second.records.map(\.partition)).count == 2
            {
                return true
            }
            try? source.fill(topic, count: 20)
            return false
        }
        try second.close()
    }

    @Test func `a member whose session expired is told that its partitions are lost`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("lost")
        try kafka.createTopic(topic, partitions: 2)
        let member = try Member(
            group: topic.name,
            topic: topic,
            properties: Member.changing,
            servers: kafka.bootstrapServers
        )
        try member.turn { !member.assigned.isEmpty }
        kafka.failNext(.heartbeat, with: [.unknownMember])
        try member.turn { !member.revocations.isEmpty }
        #expect(member.revocations.first?.lost == true)
        #expect(member.revocations.first?.partitions.count == 2)
        member.assigned = []
        try member.turn { !member.assigned.isEmpty }
    }

    @Test func `a static member whose instance ID was taken over is fenced permanently`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("fenced")
        try kafka.createTopic(topic, partitions: 1)
        let member = try Member(
            group: topic.name,
            topic: topic,
            instance: "press-0",
            servers: kafka.bootstrapServers
        )
        try member.turn { !member.assigned.isEmpty }
        kafka.failNext(.heartbeat, with: [.fencedInstance])
        try member.turn { member.failures.contains(where: \.isFatal) }
        #expect(member.failures.first(where: \.isFatal)?.code == .fencedInstance)
    }

    @Test func `closing revokes first, and closing twice closes once`() throws {
        let topic = try SharedCluster.freshTopic()
        let member = try Member(group: topic.name, topic: topic)
        member.answersRevocations = false
        try member.turn { !member.assigned.isEmpty }
        member.consumer.beginClose()
        member.consumer.beginClose()
        try member.turn { !member.revocations.isEmpty }
        #expect(!member.isClosed)
        let partition = try #require(member.assigned.first)
        try member.consumer.commit([
            PartitionCommit(partition: partition, offset: Offset(0), metadata: "")
        ])
        try member.turn { !member.commits.isEmpty }
        #expect(member.commits.first?.first?.error == nil)
        try member.consumer.unassign(now: member.now)
        try member.turn { member.isClosed }
        var count = 0
        let more = member.consumer.poll(budget: 1, now: member.now) { _ in
            count += 1
            return true
        }
        #expect(!more)
        #expect(count == 0)
    }

    @Test func `a closing consumer does not wait for the answer to an assignment`() throws {
        let topic = try SharedCluster.freshTopic()
        let member = try Member(group: topic.name, topic: topic)
        member.answersAssignments = false
        try member.turn { !member.assigned.isEmpty }
        member.consumer.beginClose()
        try member.turn { member.isClosed }
        #expect(member.revocations.isEmpty)
        // The answer may be in transit.
        try member.consumer.unassign(now: member.now)
    }

    /// librdkafka joins again without a revocation, unless it notices the change while it waits for
    /// the metadata that the group's leader needs.
    @Test func `a changed topic causes another assignment, although the first is not answered`()
        throws
    {
        let kafka = try EmbeddedKafka()
        let (steady, changing) = (KafkaTopic("steady"), KafkaTopic("changing"))
        for topic in [steady, changing] { try kafka.createTopic(topic, partitions: 1) }
        kafka.setError(.unknownTopicOrPartition, ofTopic: changing)
        let member = try Member(
            group: "changing",
            topics: [steady, changing],
            properties: Member.changing.merging(
                ["topic.metadata.refresh.interval.ms": "100"],
                uniquingKeysWith: { $1 }
            ),
            servers: kafka.bootstrapServers
        )
        member.answersAssignments = false
        try member.turn { member.assigned.count == 1 }
        kafka.setError(nil, ofTopic: changing)
        try member.turn { member.assigned.count == 2 }
        #expect(member.revocations.allSatisfy { !$0.lost && $0.partitions.count == 1 })
    }

    @Test func `a refused commit reports an error for each partition`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("refused")
        try kafka.createTopic(topic, partitions: 2)
        let member = try Member(
            group: topic.name,
            topic: topic,
            servers: kafka.bootstrapServers
        )
        try member.turn { member.assigned.count == 2 }
        kafka.failNext(.offsetCommit, with: [.offsetMetadataTooLarge])
        try member.consumer.commit(
            member.assigned.map {
                PartitionCommit(partition: $0, offset: Offset(1), metadata: "x")
            }
        )
        try member.turn { !member.commits.isEmpty }
        #expect(member.commits.first?.map(\.partition) == member.assigned)
        #expect(
            member.commits.first?.map(\.error?.code) == [
                .offsetMetadataTooLarge, .offsetMetadataTooLarge,
            ]
        )
    }
}
