import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct TopicReaderTests {
    private func reader(
        of topic: KafkaTopic,
        from start: TopicReader.Start = .beginning,
        _ wakeup: WakeUp
    ) throws -> TopicReader {
        try TopicReader(
            topic: topic,
            from: start,
            bootstrapServers: SharedCluster.kafka.get().bootstrapServers,
            properties: ["fetch.wait.max.ms": "10"],
            wakeup: wakeup.descriptor,
            deadline: .seconds(60)
        )
    }

    @Test func `a reader reaches the end of an empty topic`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 3)
        let wakeup = WakeUp()
        let reader = try self.reader(of: topic, wakeup)
        defer { reader.destroyAside() }
        #expect(!reader.hasReachedEnd)
        var records: [Record] = []
        try turn(wakeup) {
            reader.hasReachedEnd
        } poll: {
            try reader.poll(budget: 7, into: &records)
        }
        #expect(records.isEmpty)
        #expect(reader.hasReadAll)
    }

    /// Kafka answers a fetch without records only after `fetch.wait.max.ms`.
    @Test func `a reader knows before its first fetch where there is nothing to read`() throws {
        let empty = try SharedCluster.freshTopic(partitions: 3)
        let filled = try SharedCluster.freshTopic()
        try Source().fill(filled, count: 20)
        let partition = TopicPartition(topic: filled, partition: 0)
        let cases: [(KafkaTopic, TopicReader.Start, isAtEnd: Bool)] = [
            (empty, .beginning, true), (empty, .after([:]), true), (filled, .beginning, false),
            (filled, .after([partition: Offset(19)]), false),
            (filled, .after([partition: Offset(20)]), true),
        ]
        let wakeup = WakeUp()
        for (topic, start, isAtEnd) in cases {
            let reader = try self.reader(of: topic, from: start, wakeup)
            defer { reader.destroyAside() }
            #expect(!reader.hasReadAll)
            reader.findEmpty(within: .seconds(60))
            #expect(reader.hasReadAll == isAtEnd, "\(start)")
            #expect(!reader.hasReachedEnd, "it may be forbidden to read")
        }
    }

    /// librdkafka reports nothing about it.
    @Test func `a partition without a leader is named`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        let kafka = try SharedCluster.kafka.get()
        let wakeup = WakeUp()
        let reader = try self.reader(of: topic, wakeup)
        defer { reader.destroyAside() }
        try reader.checkLeaders(within: .seconds(60))
        kafka.moveLeader(of: 1, of: topic, toBroker: -1)
        let error = #expect(throws: KafkaError.self) {
            try reader.checkLeaders(within: .seconds(30))
        }
        #expect(error?.text.hasPrefix("\(topic)[1]: ") == true, "\(String(describing: error))")
    }

    /// Kafka does not report the end of a topic that is written all the time.
    @Test func `a reader is at the end after the last record that existed when it started`() throws
    {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 20)
        let wakeup = WakeUp()
        let reader = try self.reader(of: topic, wakeup)
        defer { reader.destroyAside() }
        var records: [Record] = []
        for (count, isAtEnd) in [(19, false), (20, true)] {
            // One event at a time, so events after the last record are not taken.
            try turn(wakeup) {
                records.count == count
            } poll: {
                try records.count < count && reader.poll(budget: 1, into: &records)
            }
            #expect(reader.hasReachedEnd == isAtEnd)
        }
    }

    @Test func `a reader reads every partition from the beginning, including new records`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 3)
        let source = try Source()
        try source.fill(topic, count: 60)
        let wakeup = WakeUp()
        let reader = try self.reader(of: topic, wakeup)
        defer { reader.destroyAside() }
        var records: [Record] = []
        try turn(wakeup) {
            records.count == 60 && reader.hasReachedEnd
        } poll: {
            try reader.poll(budget: 7, into: &records)
        }
        try source.fill(topic, count: 60)
        try turn(wakeup) {
            records.count == 120
        } poll: {
            try reader.poll(budget: 7, into: &records)
        }
        #expect(reader.hasReachedEnd)
        // Another reader continues at this one's position in two of the three partitions.
        var next: [TopicPartition: Offset] = [:]
        for record in records { next[reader.partitions[record.partition]] = record.offset.next }
        let forgotten = try #require(next.keys.first)
        let again = records.count { reader.partitions[$0.partition] == forgotten }
        next[forgotten] = nil
        let second = try self.reader(of: topic, from: .after(next), wakeup)
        defer { second.destroyAside() }
        var rest: [Record] = []
        try turn(wakeup) {
            second.hasReachedEnd
        } poll: {
            try second.poll(budget: 7, into: &rest)
        }
        #expect(rest.count == again)
        let texts = Set(records.map(\.text))
        #expect(texts == Set((0..<60).map { "\($0)" }))
        #expect(Set(records.map(\.partition)).count == 3)
    }

    /// librdkafka's mock cluster does not answer queries by time.
    @Test func `a reader from a time reads everything if the cluster cannot search by time`() throws
    {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        let wakeup = WakeUp()
        let ofNone = try self.reader(of: topic, from: .time(Timestamp(milliseconds: 1)), wakeup)
        defer { ofNone.destroyAside() }
        #expect(!ofNone.isWithoutTimes, "there is nothing to find")
        try Source().fill(topic, count: 20)
        let reader = try self.reader(of: topic, from: .time(Timestamp(milliseconds: 1)), wakeup)
        defer { reader.destroyAside() }
        #expect(reader.isWithoutTimes)
        var records: [Record] = []
        try turn(wakeup) {
            reader.hasReachedEnd
        } poll: {
            try reader.poll(budget: 7, into: &records)
        }
        #expect(records.count == 20)
    }
}
