package import Configuration
import Credentials
import KafkaIO
package import Log
import SystemIO
package import Vocabulary

/// Follows the results topic for `heliograph tail`.
///
/// It blocks, so only commands may use it.
package final class OutcomeTail {
    package enum Start: Hashable, Sendable {
        case beginning
        case now
        case time(Timestamp)
    }

    /// The most records taken from Kafka at a time.
    private static let batch = 256

    private let waiter: CommandWaiter
    private let reader: TopicReader
    private let topic: KafkaTopic
    private let filter: OutcomeFilter
    private let key: FingerprintKey?
    private let since: Timestamp?
    private var records: [Record] = []
    /// When the last records arrived, or the leaders of the others last answered.
    private var progressedAt = ContinuousClock.now
    /// The number of records that are not outcomes.
    package private(set) var unreadableCount = 0

    /// Finds the topic and the start position; records written from now on are not missed.
    ///
    /// - Parameters:
    ///   - configuration: Names the cluster, the topic and the fingerprint key.
    ///   - start: Where to start.
    ///   - filter: Selects the outcomes.
    /// - Throws: `ServiceError` if Kafka does not answer, or has no such topic.
    package init(
        _ configuration: Configuration,
        from start: Start,
        filter: OutcomeFilter
    ) throws(ServiceError) {
        key = try configuration.fingerprintKey()
        guard filter.fingerprints.isEmpty || key != nil else {
            throw ServiceError(
                text:
                    "log.fingerprint_key_file: is not set, but --fingerprint needs it; set it, or pass --token"
            )
        }
        topic = configuration.results.topic
        self.filter = filter
        since = if case .time(let time) = start { time } else { nil }
        waiter = try CommandWaiter()
        do throws(KafkaError) {
            reader = try TopicReader(
                topic: topic,
                from: TopicReader.Start(start),
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties,
                wakeup: waiter.wakeup.fileDescriptor,
                deadline: Configuration.kafkaDeadline,
                patience: configuration.topicPatience.ofCommands
            )
        } catch {
            throw ServiceError(error, reading: topic, of: "results.topic", configuration)
        }
    }

    /// The error that has prevented reading for some seconds.
    package var trouble: ServiceError? {
        reader.trouble.map { ServiceError(text: "results.topic: '\(topic)' cannot be read: \($0)") }
    }

    /// Whether Kafka finds no records by time although it has some, so that all are read.
    package var isWithoutTimes: Bool { reader.isWithoutTimes }

    /// Whether everything was read up to the partitions' first known ends.
    package var hasReachedEnd: Bool { reader.hasReachedEnd }

    /// The selected outcomes among the records that have arrived; may be empty.
    ///
    /// - Throws: `ServiceError` if the topic cannot be read further.
    package func next() throws(ServiceError) -> [TailedOutcome] {
        records.removeAll(keepingCapacity: true)
        do throws(KafkaError) {
            _ = try reader.poll(budget: Self.batch, into: &records)
        } catch {
            throw ServiceError(text: "results.topic: '\(topic)' cannot be read: \(error)")
        }
        if !records.isEmpty { progressedAt = .now }
        let partitions = reader.partitions
        var outcomes: [TailedOutcome] = []
        for record in records where !isTooOld(record) {
            let place = partitions[record.partition]
            guard let outcome = TailedOutcome(record, at: place, key: key) else {
                unreadableCount += 1
                continue
            }
            if filter.admits(outcome) { outcomes.append(outcome) }
        }
        return outcomes
    }

    /// Asks the leaders of unread partitions, if nothing has arrived for long.
    ///
    /// - Throws: `ServiceError` if one of them does not answer.
    package func checkLeaders() throws(ServiceError) {
        guard ContinuousClock.now - progressedAt >= LastingTrouble.toEnd else { return }
        do throws(KafkaError) {
            try reader.checkLeaders(within: Configuration.kafkaDeadline)
        } catch {
            throw ServiceError(text: "results.topic: '\(topic)' cannot be read: \(error)")
        }
        progressedAt = .now
    }

    private func isTooOld(_ record: Record) -> Bool {
        guard reader.isWithoutTimes, let since, let time = record.timestamp else { return false }
        return time < since
    }

    /// Waits until something arrives, a signal comes, or a second has passed.
    package func wait() throws(ServiceError) {
        try waiter.wait()
    }

    package func end() {
        reader.destroyAside()
    }
}

extension TopicReader.Start {
    fileprivate init(_ start: OutcomeTail.Start) {
        self =
            switch start {
            case .beginning: .beginning
            case .now: .end
            case .time(let time): .time(time)
            }
    }
}
