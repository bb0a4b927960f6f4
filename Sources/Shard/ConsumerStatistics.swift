import JSON
package import Vocabulary

/// What a consumer says of itself (librdkafka's STATISTICS.md), as far as it is used.
package struct ConsumerStatistics: Hashable, Sendable {
    package struct Partition: Hashable, Sendable {
        package let name: TopicPartition
        package let isFetching: Bool
        /// Prefetched, and not read yet.
        package let queuedRecords: Int64
        package let queuedBytes: Int64
        /// The next record to fetch; nil: not known yet.
        package let nextOffset: Int64?
        /// One past the last record that was delivered; nil: none was yet.
        package let deliveredOffset: Int64?
        /// One past the last record that may be read, as of the last fetch; nil: not known yet.
        package let endOffset: Int64?

        /// Records of it wait: in Kafka, or in the client's queue.
        ///
        /// Counted up to the last stable offset, and by what was fetched, not by what was
        /// delivered: transaction markers and aborted records are never delivered.
        var isBehind: Bool {
            guard isFetching else { return false }
            if queuedRecords > 0 { return true }
            guard let nextOffset, let endOffset else { return false }
            return nextOffset < endOffset
        }

        /// Records that are not settled; nil: nobody knows.
        ///
        /// None, if everything was fetched and what was delivered is settled: what is behind that
        /// are transaction markers and aborted records, which are never delivered.
        ///
        /// `unsettled`: the lowest offset that is not settled, as far as it is known.
        package func lag(unsettled: Offset?) -> Int64? {
            guard let endOffset, let start = unsettled?.rawValue ?? nextOffset else { return nil }
            let isFetched = queuedRecords == 0 && nextOffset.map { $0 >= endOffset } ?? false
            if isFetched, start >= deliveredOffset ?? 0 { return 0 }
            return max(0, endOffset - start)
        }
    }

    package let partitions: [Partition]
    package let brokers: [BrokerStatistics]

    /// - Returns: nil when the bytes are not the statistics of a consumer.
    package init?(_ text: [UInt8]) {
        guard let root = BrokerStatistics.parse(text), let topics = root["topics"]?.object
        else { return nil }
        partitions = topics.members.flatMap { topic in
            (topic.value["partitions"]?.object?.members ?? []).compactMap { partition in
                // -1 stands for records that have no partition yet.
                guard let number = Int32(partition.name), number >= 0 else { return nil }
                return Partition(
                    TopicPartition(topic: KafkaTopic(topic.name), partition: number),
                    partition.value
                )
            }
        }
        brokers = BrokerStatistics.all(in: root)
    }

    /// Whether records wait of a partition that is read.
    ///
    /// One that the engine has paused is not: librdkafka calls it active anyway, and goes back to
    /// its last delivered record.
    package func isBehind(besides paused: Set<TopicPartition>) -> Bool {
        partitions.contains { $0.isBehind && !paused.contains($0.name) }
    }
}

extension ConsumerStatistics.Partition {
    fileprivate init(_ name: TopicPartition, _ value: JSONValue) {
        func offset(_ name: String) -> Int64? {
            value[name]?.integer.flatMap { $0 >= 0 ? $0 : nil }
        }
        self.name = name
        isFetching = value["fetch_state"]?.string == "active"
        queuedRecords = value["fetchq_cnt"]?.integer ?? 0
        queuedBytes = value["fetchq_size"]?.integer ?? 0
        nextOffset = offset("next_offset")
        deliveredOffset = offset("app_offset")
        // Without isolation there is no last stable offset.
        endOffset = offset("ls_offset") ?? offset("hi_offset")
    }
}

/// What a producer says of itself.
package struct ProducerStatistics: Hashable, Sendable {
    /// Produced, and not acknowledged yet.
    package let queuedRecords: Int64
    package let queuedBytes: Int64
    package let brokers: [BrokerStatistics]

    /// - Returns: nil when the bytes are not the statistics of a client.
    package init?(_ text: [UInt8]) {
        guard let root = BrokerStatistics.parse(text), let count = root["msg_cnt"]?.integer
        else { return nil }
        queuedRecords = count
        queuedBytes = root["msg_size"]?.integer ?? 0
        brokers = BrokerStatistics.all(in: root)
    }
}

/// The connection to a broker in the last interval of the statistics.
package struct BrokerStatistics: Hashable, Sendable {
    package let node: Int64
    /// The mean.
    package let roundTripMicroseconds: Int64

    /// Of brokers that are known by their number and answered something.
    static func all(in root: JSONValue) -> [BrokerStatistics] {
        (root["brokers"]?.object?.members ?? []).compactMap { broker in
            guard let node = broker.value["nodeid"]?.integer, node >= 0,
                // The coordinator is listed a second time under a name of its own.
                broker.value["source"]?.string != "logical",
                let roundTrips = broker.value["rtt"], let count = roundTrips["cnt"]?.integer,
                count > 0, let mean = roundTrips["avg"]?.integer, mean >= 0
            else { return nil }
            return BrokerStatistics(node: node, roundTripMicroseconds: mean)
        }
    }

    /// Thousands of partitions make megabytes; this is what the parser takes at most.
    static func parse(_ text: [UInt8]) -> JSONValue? {
        try? JSONValue.parse(text, limits: JSONLimits(maxByteCount: 16_777_215))
    }
}
