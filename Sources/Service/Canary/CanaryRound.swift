import Configuration
import KafkaIO
import Log
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Sends one canary event and waits for its outcome.
///
/// Each round makes its own Kafka clients, so it also works after the brokers' addresses change.
final class CanaryRound: Sendable {
    private let configuration: Configuration
    private let plan: CanaryPlan
    private let isStopped = Atomic(false)

    init(_ configuration: Configuration, _ plan: CanaryPlan) {
        self.configuration = configuration
        self.plan = plan
    }

    /// Ends the round within a second; call it from any thread.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    /// Runs the round on this thread; nil if it was stopped.
    func fly() -> CanaryFlight.Landing? {
        do {
            return try exchange()
        } catch {
            return .failed(.kafka, cause: "\(error)")
        }
    }

    private func exchange() throws -> CanaryFlight.Landing? {
        let wakeup = try Wakeup()
        let loop = try EventLoop()
        try loop.register(wakeup.fileDescriptor, id: 0, interest: .read)
        // Passwords may have changed since the last round, as files that the library reads.
        var configuration = configuration
        if let problem = configuration.takePropertyFiles().first {
            throw ServiceError(text: "\(problem)")
        }
        let kafka = configuration.kafka
        // Before producing, so that the outcome is not missed.
        let reader = try TopicReader(
            topic: configuration.results.topic,
            from: .end,
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup.fileDescriptor,
            deadline: Configuration.kafkaDeadline
        )
        defer { reader.destroyAside() }
        let producer = try Producer(
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup.fileDescriptor
        )
        defer { producer.abandon() }
        var flight = CanaryFlight(plan, at: SystemClock.now, wallClock: SystemClock.wallClock)
        // A new key each time, so that over time the events reach every partition.
        let key = Array(flight.eventID.utf8)
        try producer.produce(topic: plan.topic, key: key, value: flight.event, tag: 0)
        while !isStopped.load(ordering: .relaxed) {
            wakeup.drain()
            var reports: [ProducerEvent] = []
            _ = producer.poll(budget: 100, into: &reports)
            for case .deliveryReported(_, let error) in reports { flight.delivered(error) }
            var records: [Record] = []
            let isMore = try reader.poll(budget: 1000, into: &records)
            for record in records { flight.read(record.value, now: SystemClock.now) }
            flight.timeAdvanced(now: SystemClock.now)
            if let landing = flight.landing { return landing }
            if isMore { continue }
            try loop.wait(until: min(flight.end, SystemClock.now + .seconds(1))) { _, _ in }
        }
        return nil
    }
}
