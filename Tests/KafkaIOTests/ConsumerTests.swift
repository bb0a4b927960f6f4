import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

@Suite(.ownThread) struct ConsumerTests {
    @Test func `keys, values, headers and null are read back byte for byte`() throws {
        let topic = try SharedCluster.freshTopic()
        let source = try Source()
        let binary = (0...255).map { UInt8($0) }
        let headers = [
            RecordHeader(name: "traceparent", value: Array("00-1-2-3".utf8)),
            RecordHeader(name: "empty", value: []),
            RecordHeader(name: "null", value: nil),
            RecordHeader(name: "traceparent", value: binary),
        ]
        let sent: [(key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader])] = [
            (Array("key".utf8), binary, headers), (nil, [], []), ([], nil, []), (binary, [0], []),
        ]
        for (index, record) in sent.enumerated() {
            try source.producer.produce(
                topic: topic,
                key: record.key,
                value: record.value,
                headers: record.headers,
                tag: UInt64(index)
            )
        }
        #expect(source.producer.outstanding == 4)
        try source.turn { source.reports.count == 4 }
        #expect(source.reports.map(\.tag) == [0, 1, 2, 3])
        #expect(source.reports.allSatisfy { $0.error == nil })
        #expect(source.producer.outstanding == 0)

        let member = try Member(group: topic.name, topic: topic)
        try member.turn { member.records.count == 4 }
        #expect(member.records.map(\.key) == sent.map(\.key))
        #expect(member.records.map(\.value) == sent.map(\.value))
        #expect(member.records.map(\.headers) == sent.map(\.headers))
        #expect(member.records.map(\.offset.rawValue) == [0, 1, 2, 3])
        #expect(member.records.allSatisfy { $0.timestamp != nil })
        let partition = try #require(member.records.first?.partition)
        #expect(
            member.consumer.partitions[partition] == TopicPartition(topic: topic, partition: 0)
        )
        #expect(member.consumer.knownOffsets(of: partition) == 0..<4)
        // Reported once, before the first record.
        #expect(member.ends.map(\.partition) == [partition])
        #expect(member.ends.allSatisfy { $0.end > Offset(0) })
        try member.close()
    }

    @Test(arguments: ["none", "gzip", "snappy", "lz4", "zstd"])
    func `each record has its own headers, however the batch is written`(
        codec: String
    ) throws {
        let topic = try SharedCluster.freshTopic()
        let source = try Source(properties: ["compression.codec": codec])
        let headers = [
            RecordHeader(name: "a", value: [1]), RecordHeader(name: "", value: nil),
            RecordHeader(name: "c", value: []),
        ]
        let counts = (0..<600).map { $0 % 7 == 0 ? $0 % 3 + 1 : 0 }
        for (index, count) in counts.enumerated() {
            try source.producer.produce(
                topic: topic,
                key: nil,
                value: [UInt8](repeating: UInt8(index % 3), count: index),
                headers: Array(headers.prefix(count)),
                tag: UInt64(index)
            )
        }
        try source.turn { source.reports.count == counts.count }

        let reader = WakeUp()
        let records = try TopicReader(
            topic: topic,
            bootstrapServers: SharedCluster.kafka.get().bootstrapServers,
            properties: ["fetch.wait.max.ms": "10"],
            wakeup: reader.descriptor,
            deadline: .seconds(60)
        )
        defer { records.destroyAside() }
        var read: [Record] = []
        try turn(reader) {
            read.count == counts.count
        } poll: {
            try records.poll(budget: 1000, into: &read)
        }
        #expect(read.map { $0.value?.count } == Array(0..<counts.count))
        let wrong = zip(read, counts).filter { $0.headers != Array(headers.prefix($1)) }
        #expect(wrong.map(\.0.offset.rawValue) == [])
    }

    @Test func `a poll ends after an event that requires action`() throws {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 10)
        let member = try Member(group: topic.name, topic: topic)
        try member.turn { !member.assigned.isEmpty }
        var largest = 0
        var total = 0
        try turn(member.wakeup, until: { total == 10 }) {
            var records = 0
            let more = member.consumer.poll(budget: 1000, now: member.now) { event in
                if case .recordArrived = event { records += 1 }
                return records < 3
            }
            largest = max(largest, records)
            total += records
            return more
        }
        #expect(largest <= 3)
        #expect(total == 10)
        try member.close()
    }

    @Test func `the next member reads a commit with its metadata and continues there`()
        throws
    {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 10)
        let first = try Member(group: topic.name, topic: topic, properties: Member.changing)
        try first.turn { first.records.count == 10 }
        let partition = try #require(first.assigned.first)
        #expect(first.consumer.canCommit)
        try first.consumer.commit([
            PartitionCommit(partition: partition, offset: Offset(4), metadata: "v1:5-6,8")
        ])
        #expect(!first.consumer.canCommit)
        try first.turn { !first.commits.isEmpty }
        #expect(first.commits == [[CommitResult(partition: partition, error: nil)]])
        #expect(first.consumer.canCommit)
        try first.close()
        #expect(first.revocations.map(\.lost) == [false])

        let second = try Member(group: topic.name, topic: topic, properties: Member.changing)
        second.answersAssignments = false
        try second.turn { !second.assigned.isEmpty }
        second.consumer.fetchStoredOffsets(of: second.assigned)
        try second.turn { !second.stored.isEmpty }
        let (place, answer) = try #require(try second.stored.first?.get().first)
        #expect(try answer.get() == CommittedPosition(offset: Offset(4), metadata: "v1:5-6,8"))
        #expect(second.records.isEmpty)
        try second.consumer.assign(
            [PartitionStart(partition: place, position: .at(Offset(4)))],
            now: second.now
        )
        try second.turn { second.records.count == 6 }
        #expect(second.records.map(\.text) == ["4", "5", "6", "7", "8", "9"])
        try second.close()
    }

    @Test func `a partition without a commit has no stored offset`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        let member = try Member(group: topic.name, topic: topic)
        member.answersAssignments = false
        try member.turn { !member.assigned.isEmpty }
        member.consumer.fetchStoredOffsets(of: member.assigned)
        try member.turn { !member.stored.isEmpty }
        let stored = try #require(try member.stored.first?.get())
        #expect(stored.keys.sorted() == member.assigned)
        #expect(stored.values.allSatisfy { $0 == .success(nil) })
    }

    @Test func `stored offsets that cannot be read are an error, not an empty result`() throws {
        let kafka = try EmbeddedKafka()
        let topic = KafkaTopic("refused")
        try kafka.createTopic(topic, partitions: 1)
        let member = try Member(
            group: topic.name,
            topic: topic,
            servers: kafka.bootstrapServers
        )
        member.answersAssignments = false
        try member.turn { !member.assigned.isEmpty }
        let denied = KafkaError.Code(rawValue: 30)  // GROUP_AUTHORIZATION_FAILED
        kafka.failNext(.offsetFetch, with: [denied])
        member.consumer.fetchStoredOffsets(of: member.assigned)
        try member.turn { !member.stored.isEmpty }
        let failure = #expect(throws: KafkaError.self) { try member.stored.first?.get() }
        #expect(failure?.code == denied)
        #expect(failure?.isRetryable == false)
    }

    @Test func `no record is taken after the one that ends the poll`() throws {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 500, size: 100)
        let member = try Member(group: topic.name, topic: topic)
        try member.turn { !member.assigned.isEmpty }
        let consumer = member.consumer
        var texts: [String] = []
        try turn(member.wakeup) {
            texts.count == 500
        } poll: {
            var isStopped = false
            let more = consumer.poll(budget: 64, now: member.now) { event in
                guard case .recordArrived(let record) = event else { return true }
                #expect(!isStopped)
                texts.append(String(record.text.prefix { $0 != "." }))
                // Every hundredth record stops the partition, like a record of a retry topic.
                isStopped = record.offset.rawValue % 100 == 99
                return !isStopped
            }
            if isStopped {
                consumer.pause(member.assigned)
                var behind = 0
                _ = consumer.poll(budget: 1000, now: member.now) { event in
                    if case .recordArrived = event { behind += 1 }
                    return true
                }
                #expect(behind == 0)
                consumer.resume(member.assigned)
            }
            return more
        }
        #expect(texts == (0..<500).map { "\($0)" })
        try member.close()
    }

    @Test func `pausing loses nothing, repeats nothing and keeps the order`() throws {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 3000, size: 100)
        let member = try Member(group: topic.name, topic: topic)
        try member.turn { !member.assigned.isEmpty }
        for round in 1...5 {
            while member.records.count < round * 300 {
                if try !member.poll(budget: 50) { #expect(member.wakeup.wait()) }
            }
            member.consumer.pause(member.assigned)
            member.consumer.pause(member.assigned)
            let count = member.records.count
            while try member.poll(budget: 50) {}
            #expect(member.records.count == count, "a paused partition delivers nothing")
            member.consumer.resume(member.assigned)
        }
        try member.turn { member.records.count >= 3000 }
        #expect(member.records.map(\.offset.rawValue) == (0..<3000).map { Int64($0) })
        try member.close()
    }

    @Test func `resuming a partition that is not paused rewinds nothing`() throws {
        let topic = try SharedCluster.freshTopic()
        let source = try Source()
        try source.fill(topic, count: 500)
        let member = try Member(group: topic.name, topic: topic)
        try member.turn { member.records.count == 500 }
        member.consumer.resume(member.assigned)
        member.consumer.resume(member.assigned)
        try source.fill(topic, count: 500)
        try member.turn { member.records.count >= 1000 }
        #expect(member.records.map(\.offset.rawValue) == (0..<1000).map { Int64($0) })
        try member.close()
    }

    @Test func `only the partition whose offset does not exist fails, and it can be restarted`()
        throws
    {
        let topic = try SharedCluster.freshTopic(partitions: 3)
        let source = try Source()
        try source.fill(topic, count: 60)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { $0.index == 1 ? .at(Offset(1000)) : .beginning }
        try member.turn { member.partitionFailures.count == 1 && member.records.count > 20 }
        let (failed, error, offset) = try #require(member.partitionFailures.first)
        #expect(offset == Offset(1000))
        #expect(error.code == .offsetOutOfReach)
        #expect(!error.isFatal)
        #expect(!member.records.contains { $0.partition == failed })

        let held = try #require(member.assigned.first { $0 != failed })
        member.consumer.pause([held])
        let heldCount = member.records.count { $0.partition == held }
        try member.restart([failed: .beginning])
        try source.fill(topic, count: 60)
        let last = try #require(member.assigned.last)
        try member.turn {
            let counts = [failed, last].map { id in member.records.count { $0.partition == id } }
            return counts[0] > 20 && counts[1] > 20
        }
        #expect(member.records.count { $0.partition == held } == heldCount, "it stays paused")
        member.consumer.resume([held])
        try member.turn { member.records.count >= 120 }
        for partition in member.assigned {
            let offsets = member.records.filter { $0.partition == partition }.map(\.offset.rawValue)
            #expect(offsets == (0..<offsets.count).map { Int64($0) })
        }
        try member.close()
    }

    @Test func `a restarted partition without any record so far begins at its start position`()
        throws
    {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { $0.index == 1 ? .at(Offset(1000)) : .beginning }
        try member.turn { !member.partitionFailures.isEmpty }
        let failed = try #require(member.partitionFailures.first?.partition)
        // The group has no stored offset from which the other partition could continue.
        try member.restart([failed: .beginning])
        try Source().fill(topic, count: 60)
        try member.turn { member.records.count == 60 }
        #expect(member.partitionFailures.count == 1)
        try member.close()
    }

    @Test func `a partition begun at its end skips no records when another is restarted`()
        throws
    {
        let topic = try SharedCluster.freshTopic(partitions: 2)
        let source = try Source()
        try source.fill(topic, count: 60)
        let member = try Member(group: topic.name, topic: topic, reportsPartitionEnds: true)
        member.start = { $0.index == 1 ? .at(Offset(1000)) : .end }
        try member.turn { !member.partitionFailures.isEmpty }
        member.hurries = true
        try member.turn { !member.reachedEnds.isEmpty }
        member.hurries = false
        let failed = try #require(member.partitionFailures.first?.partition)
        let (other, end) = try #require(member.reachedEnds.first)
        #expect(other != failed)
        member.consumer.pause([other])
        try source.fill(topic, count: 60)
        try member.restart([failed: .beginning])
        member.consumer.resume([other])
        try member.turn { member.records.count == 120 - Int(end.rawValue) }
        #expect(member.records.first { $0.partition == other }?.offset == end)
        try member.close()
    }

    @Test func `partitions that fail together are restarted together`() throws {
        let topic = try SharedCluster.freshTopic(partitions: 24)
        let source = try Source()
        try source.fill(topic, count: 480)
        let member = try Member(group: topic.name, topic: topic)
        member.start = { _ in .at(Offset(5000)) }
        try member.turn { member.partitionFailures.count == 24 }
        let starts = member.assigned.map { ($0, StartPosition.beginning) }
        try member.restart(Dictionary(uniqueKeysWithValues: starts))
        try member.turn { member.records.count >= 480 }
        #expect(member.records.count == 480)
        try member.close()
    }

    @Test func `after a poll with a small budget, the eventfd is still readable`() throws {
        let topic = try SharedCluster.freshTopic()
        try Source().fill(topic, count: 100)
        let member = try Member(group: topic.name, topic: topic)
        let end = ContinuousClock.now + .seconds(60)
        while member.records.count < 100, ContinuousClock.now < end {
            #expect(member.wakeup.wait())
            _ = try member.poll(budget: 1)
        }
        #expect(member.records.count == 100)
    }
}
