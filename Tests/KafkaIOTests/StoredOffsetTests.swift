import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct StoredOffsetTests {
    private static let notCoordinator = KafkaError.Code(rawValue: 16)

    /// A broker that is no longer the coordinator reports that on every request.
    @Test func `a coordinator that has moved is found and returns the stored offsets`() throws {
        let kafka = try EmbeddedKafka(brokers: 2)
        let topic = KafkaTopic("moved")
        try kafka.createTopic(topic, partitions: 1)
        kafka.moveCoordinator(of: topic.name, toBroker: 1)
        let member = try Member(group: topic.name, topic: topic, servers: kafka.bootstrapServers)
        member.answersAssignments = false
        try member.turn { !member.assigned.isEmpty }
        let partition = try #require(member.assigned.first)
        try member.consumer.commit([
            PartitionCommit(partition: partition, offset: Offset(4), metadata: "v1:5")
        ])
        try member.turn { !member.commits.isEmpty }
        // The client remembers the broker of the first answer.
        member.consumer.fetchStoredOffsets(of: [partition])
        try member.turn { !member.stored.isEmpty }
        let told = try member.stored.first?.get()[partition]
        #expect(try told?.get()?.offset == Offset(4))

        kafka.failNext(1000, .offsetFetch, onBroker: 1, with: Self.notCoordinator)
        kafka.moveCoordinator(of: topic.name, toBroker: 2)
        // Each refusal makes the client search for the coordinator, which takes an unknown time, so
        // there are more refusals than requests.
        for _ in 0..<300 {
            member.stored = []
            member.consumer.fetchStoredOffsets(of: [partition])
            try member.turn { !member.stored.isEmpty }
            if case .success = member.stored.last { break }
        }
        let last = try #require(member.stored.last)
        let stored = try #require(try last.get()[partition])
        #expect(try stored.get() == CommittedPosition(offset: Offset(4), metadata: "v1:5"))
    }

    /// The instance must not be freed during a pending call.
    @Test func `a consumer can be released during a request`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("left")
        try kafka.createTopic(topic, partitions: 1)
        var member: Member? = try Member(
            group: topic.name,
            topic: topic,
            servers: kafka.bootstrapServers
        )
        member?.answersAssignments = false
        try member?.turn { member?.assigned.isEmpty == false }
        kafka.setDelay(.milliseconds(300), ofBroker: 1)
        for _ in 0..<20 { member?.consumer.fetchStoredOffsets(of: member?.assigned ?? []) }
        member = nil
        kafka.setDelay(.zero, ofBroker: 1)
    }
}
