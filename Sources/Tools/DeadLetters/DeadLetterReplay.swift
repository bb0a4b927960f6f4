import Configuration
import Delivery
import EventCodec
import KafkaIO
import Log
import SystemIO
package import Vocabulary

/// One run over the dead-letter topic that produces events again.
///
/// Key, value and headers stay byte for byte, except for the headers about failures and retries:
/// the event starts again from the beginning, in the partition that it came from, so that one shard
/// sees all events of its device. The dead letters stay in their topic.
package final class DeadLetterReplay {
    package struct Counts: Hashable, Sendable {
        /// Letters that match the filter.
        package var found = 0
        /// Letters acknowledged by Kafka; in a trial, those that would be produced.
        package var replayed = 0
        package var failed = 0
    }

    package struct Result: Hashable, Sendable {
        package var counts: Counts
        /// The options with which the same command continues; nil: it completed.
        package var options: String?
    }

    package enum Report {
        case progress(Counts)
        /// In a trial: the letter would go to this topic.
        case wouldReplay(DeadLetter, to: KafkaTopic)
        case failed(DeadLetter, cause: String)
    }

    private static let progressInterval = Duration.seconds(1)

    private let configuration: Configuration
    private let filter: DeadLetterFilter
    private let destination: KafkaTopic?
    private let interval: Duration
    private let isTrial: Bool
    private let isInterrupted: () -> Bool
    private let report: (Report) -> Void
    private let waiter: CommandWaiter
    private let reader: DeadLetterReader
    private let producer: Producer
    private var counts = Counts()
    /// Of the sources of letters; or why a source takes none.
    private var partitionCounts: [KafkaTopic: Swift.Result<Int, KafkaError>] = [:]
    /// Read but not yet produced.
    private var waiting: ArraySlice<DeadLetter> = []
    /// Produced but not yet acknowledged, by tag.
    private var outstanding: [UInt64: DeadLetter] = [:]
    private var nextTag: UInt64 = 1
    private var nextSend = SystemClock.now
    private var nextProgress = SystemClock.now + progressInterval
    private var reports: [ProducerEvent] = []
    /// The error that stopped the reading.
    ///
    /// Acknowledgements are still awaited, to report how many events were produced.
    private var readingFailure: ServiceError?

    init(
        _ configuration: Configuration,
        filter: DeadLetterFilter,
        destination: KafkaTopic?,
        rate: Int?,
        isTrial: Bool,
        isInterrupted: @escaping () -> Bool,
        report: @escaping (Report) -> Void
    ) throws(ServiceError) {
        self.configuration = configuration
        self.filter = filter
        self.isInterrupted = isInterrupted
        self.destination = destination
        self.isTrial = isTrial
        self.report = report
        interval = rate.map { .nanoseconds(1_000_000_000 / Int64($0)) } ?? .zero
        waiter = try CommandWaiter()
        reader = try DeadLetterReader(configuration, filter: filter, wakeup: waiter.wakeup)
        do throws(KafkaError) {
            producer = try Producer(
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties,
                wakeup: waiter.wakeup.fileDescriptor
            )
        } catch {
            reader.end()
            throw ServiceError(text: "kafka.properties: \(error.text)")
        }
    }

    func run() throws(ServiceError) -> Result {
        if let destination {
            do throws(KafkaError) {
                _ = try reader.partitionCount(of: destination)
            } catch {
                throw ServiceError(error, reading: destination, of: "--to", configuration)
            }
        }
        while true {
            let isEnding = isInterrupted()
            if !isEnding {
                if waiting.isEmpty { readOn() }
                try produceWaiting()
            }
            try takeReports()
            if SystemClock.now >= nextProgress {
                nextProgress = SystemClock.now + Self.progressInterval
                report(.progress(counts))
            }
            if waiting.isEmpty, outstanding.isEmpty {
                if let readingFailure { throw halted(readingFailure.description) }
                if reader.isComplete { return Result(counts: counts, options: nil) }
            }
            if isEnding, outstanding.isEmpty { return Result(counts: counts, options: rest) }
            let next = waiting.isEmpty || isEnding ? nextProgress : min(nextSend, nextProgress)
            try waiter.wait(until: next)
        }
    }

    func end() {
        reader.end()
        producer.abandon()
    }

    private func readOn() {
        guard readingFailure == nil else { return }
        do throws(ServiceError) {
            waiting = try reader.next()[...]
            counts.found += waiting.count
        } catch {
            readingFailure = error
        }
    }

    /// Reports the progress with the error: a replay from the start would send events twice.
    private func halted(_ cause: String) -> ServiceError {
        let unsure = outstanding.isEmpty ? "" : ", and up to \(outstanding.count) more"
        return ServiceError(
            text: """
                \(cause); \(counts.replayed) of \(counts.found) replayed\(unsure); \
                to continue, repeat the command with \(rest)
                """
        )
    }

    /// The options to continue this replay, starting before everything not acknowledged.
    private var rest: String {
        var positions = reader.positions
        for letter in Array(waiting) + outstanding.values {
            positions.goBack(letter.partition.partition, to: letter.record.offset)
        }
        var options: [String] = []
        if !positions.offsets.isEmpty { options.append("--from \(positions)") }
        // Absolute times: a duration would mean another time by then.
        if let since = filter.since { options.append("--since \(since.rfc3339Text)") }
        if let until = filter.until { options.append("--until \(until.rfc3339Text)") }
        if let limit = filter.limit {
            options.append("--limit \(limit - counts.replayed - counts.failed)")
        }
        guard !options.isEmpty else { return "the same options" }
        return options.joined(separator: " ")
            + " instead of its own --from, --since, --until and --limit"
    }

    private func produceWaiting() throws(ServiceError) {
        while let letter = waiting.first, nextSend <= SystemClock.now {
            do throws(ReplayRefusal) {
                try produce(letter)
            } catch {
                switch error {
                case .queueFull:
                    nextSend = SystemClock.now + .milliseconds(10)
                    return
                case .never(let cause): failed(letter, cause)
                // The producer is broken, not the letter.
                case .notNow(let cause): throw halted("Kafka: \(cause)")
                }
            }
            waiting.removeFirst()
            // The loop wakes up a millisecond late; a longer delay is not made up for by a burst.
            nextSend = max(nextSend + interval, SystemClock.now + .milliseconds(-10))
        }
    }

    private enum ReplayRefusal: Error {
        case queueFull
        case never(String)
        case notNow(KafkaError)
    }

    private func produce(_ letter: DeadLetter) throws(ReplayRefusal) {
        let topic = try target(of: letter)
        let partition = try partition(of: letter, in: topic)
        guard !isTrial else {
            counts.replayed += 1
            report(.wouldReplay(letter, to: topic))
            return
        }
        let record = letter.record
        do throws(ProduceError) {
            try producer.produce(
                topic: topic,
                partition: partition,
                key: record.key,
                value: record.value,
                headers: RetryHistory.stripped(DeadLetterHeaders.stripped(record.headers)),
                tag: nextTag
            )
        } catch {
            switch error {
            case .queueFull: throw .queueFull
            case .refused(let cause):
                throw cause.isRetryable ? .notNow(cause) : .never(cause.text)
            }
        }
        outstanding[nextTag] = letter
        nextTag += 1
    }

    /// The topic for a letter: the given destination, else the source named in its headers.
    ///
    /// Anyone could have written the headers, so they may only name a source of this configuration.
    private func target(of letter: DeadLetter) throws(ReplayRefusal) -> KafkaTopic {
        if let destination { return destination }
        guard let named = letter.facts.topic else {
            throw .never("its headers name no source; pass --to <topic>")
        }
        let source = configuration.retryTopics.source(of: named)
        guard configuration.sources.contains(where: { $0.topic == source }) else {
            throw .never("'\(named)' is not a source of this configuration; pass --to <topic>")
        }
        return source
    }

    /// The partition that a letter came from; nil: its key selects one.
    private func partition(
        of letter: DeadLetter,
        in topic: KafkaTopic
    ) throws(ReplayRefusal) -> Int32? {
        guard let partition = letter.facts.partition, letter.facts.topic == topic else {
            return nil
        }
        let answer =
            partitionCounts[topic]
            ?? Swift.Result { () throws(KafkaError) in try reader.partitionCount(of: topic) }
        partitionCounts[topic] = answer
        switch answer {
        // Anyone could have written the header, and the topic may be another one by now.
        case .success(let count): return (0..<Int32(count)).contains(partition) ? partition : nil
        case .failure(let error) where error.isRetryable: throw .notNow(error)
        case .failure(let error): throw .never("topic '\(topic)': \(error.text)")
        }
    }

    private func takeReports() throws(ServiceError) {
        _ = producer.poll(budget: 1000, into: &reports)
        defer { reports.removeAll(keepingCapacity: true) }
        for event in reports {
            switch event {
            case .deliveryReported(let tag, let error):
                // The error is not specific to this event; the next one would fail in the same way.
                if let error, error.isRetryable { throw halted("Kafka: \(error)") }
                guard let letter = outstanding.removeValue(forKey: tag) else { continue }
                if let error {
                    failed(letter, error.text)
                } else {
                    counts.replayed += 1
                }
            case .failed(let error) where error.isFatal:
                throw halted("Kafka: \(error)")
            case .failed, .statistics, .logged: break
            }
        }
    }

    private func failed(_ letter: DeadLetter, _ cause: String) {
        counts.failed += 1
        report(.failed(letter, cause: cause))
    }
}
