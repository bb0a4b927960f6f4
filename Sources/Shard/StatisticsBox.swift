import Synchronization
package import Vocabulary

/// The latest statistics of a shard's Kafka clients.
///
/// They are large texts: the shard stores them here, and the watchdog or the admin port parses them
/// on its own thread, once. The shard itself reads them only after a corrupted first batch.
package final class StatisticsBox: Sendable {
    /// A consumer's statistics, and the engine's positions at the same time.
    package struct Consumption: Sendable {
        package let statistics: ConsumerStatistics
        /// The lowest unsettled offset of each partition that the shard owned.
        private let unsettled: [TopicPartition: Offset]
        private let partitions: [TopicPartition: ConsumerStatistics.Partition]

        init(_ statistics: ConsumerStatistics, unsettled: [TopicPartition: Offset]) {
            self.statistics = statistics
            self.unsettled = unsettled
            partitions = Dictionary(statistics.partitions.map { ($0.name, $0) }) { $1 }
        }

        /// The number of a partition's unsettled records; nil: unknown.
        package func lag(of name: TopicPartition) -> Int64? {
            partitions[name]?.lag(unsettled: unsettled[name])
        }
    }

    private struct Arrived: Sendable {
        var text: [UInt8]
        var unsettled: [TopicPartition: Offset] = [:]
    }

    private struct State: Sendable {
        var consumerArrived: Arrived?
        var producerArrived: Arrived?
        var consumption: Consumption?
        var producer: ProducerStatistics?
    }

    private let state = Mutex(State())

    // MARK: For the shard

    func put(consumer text: [UInt8], unsettled: [TopicPartition: Offset]) {
        state.withLock { $0.consumerArrived = Arrived(text: text, unsettled: unsettled) }
    }

    func put(producer text: [UInt8]) {
        state.withLock { $0.producerArrived = Arrived(text: text) }
    }

    // MARK: For others

    package var consumption: Consumption? {
        let arrived = state.withLock { state in
            defer { state.consumerArrived = nil }
            return state.consumerArrived
        }
        guard let arrived, let statistics = ConsumerStatistics(arrived.text) else {
            return state.withLock(\.consumption)
        }
        let new = Consumption(statistics, unsettled: arrived.unsettled)
        state.withLock { $0.consumption = new }
        return new
    }

    package var producer: ProducerStatistics? {
        let arrived = state.withLock { state in
            defer { state.producerArrived = nil }
            return state.producerArrived
        }
        guard let arrived, let new = ProducerStatistics(arrived.text) else {
            return state.withLock(\.producer)
        }
        state.withLock { $0.producer = new }
        return new
    }
}
