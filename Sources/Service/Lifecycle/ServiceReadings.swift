import AdminHTTP
import Shard
import SystemIO
import Telemetry
import Vocabulary

/// The metrics of the whole process, read from its shards on request.
struct ServiceReadings: Sendable {
    let controls: [ShardControl]
    let health: ServiceHealth
    let intake: (events: Int, bytes: Int)
    /// The source topics, in configuration order.
    let sources: [String]
    let configurationLoadedAt: Timestamp

    // MARK: Kafka

    var kafka: KafkaMetrics.Reading {
        var reading = KafkaMetrics.Reading()
        var roundTrips = RoundTrips()
        for control in controls {
            let status = control.status
            if status.hasJoinedGroup, !status.hasEnded { reading.joinedShards += 1 }
            let consumption = control.statistics.consumption
            reading.partitions += status.partitions.map { partition in
                KafkaMetrics.Partition(
                    topic: partition.name.topic.name,
                    partition: partition.name.partition,
                    isPaused: partition.isPaused,
                    lag: consumption?.lag(of: partition.name)
                )
            }
            for partition in consumption?.statistics.partitions ?? [] {
                reading.fetchedRecords += partition.queuedRecords
                reading.fetchedBytes += partition.queuedBytes
            }
            let producer = control.statistics.producer
            reading.producedRecords += producer?.queuedRecords ?? 0
            reading.producedBytes += producer?.queuedBytes ?? 0
            roundTrips.add(consumption?.statistics.brokers ?? [], of: "consumer")
            roundTrips.add(producer?.brokers ?? [], of: "producer")
        }
        reading.partitions.sort { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
        reading.brokers = roundTrips.worst
        reading.lagMilliseconds = lag(now: SystemClock.wallClock)
        return reading
    }

    private func lag(now: Timestamp) -> [(source: String, milliseconds: Int64)] {
        let written = controls.map(\.status.oldestRecords)
        return sources.enumerated().map { index, source in
            let oldest = written.compactMap { index < $0.count ? $0[index] : nil }.min()
            return (source, oldest.map { max(0, now.milliseconds - $0.milliseconds) } ?? 0)
        }
    }

    /// The highest average of all shards, for each broker and kind of client.
    private struct RoundTrips {
        private struct Way: Hashable {
            var node: Int64
            var client: String
        }

        private var microseconds: [Way: Int64] = [:]

        mutating func add(_ brokers: [BrokerStatistics], of client: String) {
            for broker in brokers {
                let way = Way(node: broker.node, client: client)
                microseconds[way] = max(microseconds[way] ?? 0, broker.roundTripMicroseconds)
            }
        }

        var worst: [KafkaMetrics.Broker] {
            microseconds.map { way, time in
                KafkaMetrics.Broker(
                    node: way.node,
                    client: way.client,
                    roundTripMicroseconds: time
                )
            }.sorted { ($0.node, $0.client) < ($1.node, $1.client) }
        }
    }

    // MARK: Process

    var process: ProcessMetrics.Reading {
        let now = SystemClock.now
        let oldest = controls.compactMap(\.status.oldestArrival).min()
        var reading = ProcessMetrics.Reading()
        let readiness = health.readiness
        reading.isReady = readiness.isReady
        reading.warningCount = readiness.warnings.count
        reading.silenceMilliseconds = health.longestSilence(now: now).milliseconds
        reading.oldestUnsettledMilliseconds = oldest.map { (now - $0).milliseconds } ?? 0
        reading.maxInFlightEvents = intake.events * controls.count
        reading.maxInFlightBytes = intake.bytes * controls.count
        reading.configurationLoadedAt = configurationLoadedAt.seconds
        reading.usage = ProcessUsage.now()
        return reading
    }
}
