import JSON
package import Vocabulary

/// The parts of a consumer's statistics that are used (librdkafka's STATISTICS.md).
package struct ConsumerStatistics: Hashable, Sendable {
    package struct Partition: Hashable, Sendable {
        package let name: TopicPartition
        package let isFetching: Bool
        /// Prefetched records that were not delivered yet.
        package let queuedRecords: Int64
        package let queuedBytes: Int64
        /// The next offset to fetch; nil: unknown.
        package let nextOffset: Int64?
        /// One past the last delivered record; nil: none yet.
        package let deliveredOffset: Int64?
        /// One past the last readable record, as of the last fetch; nil: unknown.
        package let endOffset: Int64?

        /// Whether records wait, in Kafka or in the client's queue.
        ///
        /// Compares the last stable offset with what was fetched, not with what was delivered:
        /// transaction markers and aborted records are never delivered.
        var isBehind: Bool {
            guard isFetching else { return false }
            if queuedRecords > 0 { return true }
            guard let nextOffset, let endOffset else { return false }
            return nextOffset < endOffset
        }

        /// The number of unsettled records; nil: unknown.
        ///
        /// Zero if everything was fetched and all delivered records are settled: the remaining
        /// offsets are transaction markers and aborted records, which are never delivered.
        ///
        /// `unsettled`: the lowest unsettled offset, if known.
        package func lag(unsettled: Offset?) -> Int64? {
            guard let endOffset, let start = unsettled?.rawValue ?? nextOffset else { return nil }
            let isFetched = queuedRecords == 0 && nextOffset.map { $0 >= endOffset } ?? false
            if isFetched, start >= deliveredOffset ?? 0 { return 0 }
            return max(0, endOffset - start)
        }
    }

    package let partitions: [Partition]
    package let brokers: [BrokerStatistics]

    /// - Returns: nil if the bytes are not a consumer's statistics.
    package init?(_ text: [UInt8]) {
        guard let root = BrokerStatistics.parse(text), let topics = root["topics"]?.object
        else { return nil }
        partitions = topics.members.flatMap { topic in
            (topic.value["partitions"]?.object?.members ?? []).compactMap { partition in
                // -1 is for records without a partition.
                guard let number = Int32(partition.name), number >= 0 else { return nil }
                return Partition(
                    TopicPartition(topic: KafkaTopic(topic.name), partition: number),
                    partition.value
                )
            }
        }
        brokers = BrokerStatistics.all(in: root)
    }

    /// Whether records of a partition wait that is being read.
    ///
    /// Partitions that the engine paused do not count: librdkafka reports them as active, and
    /// rewinds them to the last delivered record.
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
        // Without transactions there is no last stable offset.
        endOffset = offset("ls_offset") ?? offset("hi_offset")
    }
}

/// The parts of a producer's statistics that are used.
package struct ProducerStatistics: Hashable, Sendable {
    /// Produced records that were not acknowledged yet.
    package let queuedRecords: Int64
    package let queuedBytes: Int64
    package let brokers: [BrokerStatistics]

    /// - Returns: nil if the bytes are not a client's statistics.
    package init?(_ text: [UInt8]) {
        guard let root = BrokerStatistics.parse(text), let count = root["msg_cnt"]?.integer
        else { return nil }
        queuedRecords = count
        queuedBytes = root["msg_size"]?.integer ?? 0
        brokers = BrokerStatistics.all(in: root)
    }
}

/// The connection to a broker during the last statistics interval.
package struct BrokerStatistics: Hashable, Sendable {
    package let node: Int64
    /// The average.
    package let roundTripMicroseconds: Int64

    /// The brokers with a known ID that have answered.
    static func all(in root: JSONValue) -> [BrokerStatistics] {
        (root["brokers"]?.object?.members ?? []).compactMap { broker in
            guard let node = broker.value["nodeid"]?.integer, node >= 0,
                // The coordinator is listed a second time, under a logical name.
                broker.value["source"]?.string != "logical",
                let roundTrips = broker.value["rtt"], let count = roundTrips["cnt"]?.integer,
                count > 0, let mean = roundTrips["avg"]?.integer, mean >= 0
            else { return nil }
            return BrokerStatistics(node: node, roundTripMicroseconds: mean)
        }
    }

    /// Parses the text; thousands of partitions make megabytes, up to the parser's limit.
    static func parse(_ text: [UInt8]) -> JSONValue? {
        try? JSONValue.parse(text, limits: JSONLimits(maxByteCount: 16_777_215))
    }
}
