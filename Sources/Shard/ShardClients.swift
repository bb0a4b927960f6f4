import Credentials
import KafkaIO
import SystemIO

/// A shard's Kafka clients and connections, with their wake-ups: every part that can fail to start.
struct ShardClients {
    /// The loop identifiers of these descriptors; those of connections are larger.
    enum LoopID {
        static let control: UInt64 = 1
        static let consumer: UInt64 = 2
        static let producer: UInt64 = 3
        static let resolver: UInt64 = 4
        static let transactions: UInt64 = 5
    }

    let consumer: Consumer
    let consumerWakeup: Wakeup
    let producer: Producer
    let producerWakeup: Wakeup
    let transactionsWakeup: Wakeup
    let connections: APNsConnections

    /// Creates them, and registers them with the loop.
    init(
        on loop: borrowing EventLoop,
        shard index: Int,
        settings: ShardSettings,
        control: ShardControl,
        endpoints: [APNsEndpoint]
    ) throws {
        consumerWakeup = try Wakeup()
        consumer = try settings.kafka.makeConsumer(
            shard: index,
            wakeup: consumerWakeup.fileDescriptor
        )
        producerWakeup = try Wakeup()
        producer = try settings.kafka.makeProducer(
            shard: index,
            wakeup: producerWakeup.fileDescriptor
        )
        transactionsWakeup = try Wakeup()
        connections = try APNsConnections(endpoints: endpoints, seed: settings.seed)
        for (descriptor, id) in [
            (control.wakeup.fileDescriptor, LoopID.control),
            (consumerWakeup.fileDescriptor, LoopID.consumer),
            (producerWakeup.fileDescriptor, LoopID.producer),
            (transactionsWakeup.fileDescriptor, LoopID.transactions),
            (connections.resolverDescriptor, LoopID.resolver),
        ] {
            try loop.register(descriptor, id: id, interest: .read)
        }
    }
}
