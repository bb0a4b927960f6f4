package import Configuration
import EventCodec
import KafkaIO
package import Log
import SystemIO
package import Vocabulary

/// Runs `heliograph campaigns`: reads the campaigns' topic and the tally topic, and writes orders.
///
/// It blocks, so only commands may use it.
package struct Campaigns {
    /// Why an order is not in Kafka, as far as the command knows.
    package enum WriteError: Error {
        /// Nothing was written.
        case failed(ServiceError)
        /// Kafka did not answer; the order may be there.
        case unanswered(ServiceError)
    }

    /// The most records taken from Kafka at a time.
    private static let batch = 1000
    private static let key = "campaigns.topic"
    /// How long Kafka may take to acknowledge an order.
    private static let patience = Duration.seconds(30)
    private static let progressInterval = Duration.seconds(5)

    private let configuration: Configuration
    /// Nil: no campaign has an order.
    private let topic: KafkaTopic?
    /// Nil: outcomes are counted in the results topic.
    private let tallyTopic: KafkaTopic?

    /// - Throws: If the configuration names neither topic.
    package init(_ configuration: Configuration) throws(ServiceError) {
        self.configuration = configuration
        topic = configuration.campaigns.topic
        tallyTopic = configuration.campaigns.tallyTopic
        if topic == nil, tallyTopic == nil { throw Self.noTopic }
    }

    private static let noTopic = ServiceError(
        text: "\(key): is null, so campaigns cannot be paused or cancelled; set it"
    )

    /// Reads every order, and with a tally topic the counts of every campaign.
    ///
    /// - Parameter complain: Called for each malformed record, which changes nothing.
    /// - Returns: The campaigns with an order or with counts, sorted by name.
    /// - Throws: If a topic cannot be read.
    package func list(complain: (String) -> Void) throws(ServiceError) -> [CampaignEntry] {
        var entries = try read(complain: complain)
        if let tallyTopic {
            let sums = try tallies(tallyTopic, complain: complain).sums
            for campaign in Set(entries.keys).union(sums.keys) {
                let counts = CampaignCounts(tally: sums[campaign] ?? OutcomeCounts())
                entries[campaign, default: CampaignEntry(campaign, nil)].counts = counts
            }
        }
        return entries.values.sorted { $0.campaign < $1.campaign }
    }

    /// A campaign's order, and its outcomes: from the tally topic, if there is one, otherwise
    /// counted in the whole results topic.
    ///
    /// - Parameters:
    ///   - campaign: The campaign.
    ///   - limit: How long to count outcomes; then the counts are incomplete.
    ///   - complain: Called for each malformed record of the campaigns' topic.
    ///   - progress: Called every few seconds with the number of records read.
    /// - Returns: The current order, and the counts.
    /// - Throws: If a topic cannot be read.
    package func show(
        _ campaign: CampaignName,
        within limit: Duration,
        complain: (String) -> Void,
        progress: (Int) -> Void
    ) throws(ServiceError) -> CampaignReport {
        let entry = try read(complain: complain)[campaign] ?? CampaignEntry(campaign, nil)
        let counts: CampaignCounts
        if let tallyTopic {
            let sums = try tallies(tallyTopic, complain: complain).sums
            counts = CampaignCounts(tally: sums[campaign] ?? OutcomeCounts())
        } else {
            counts = try count(campaign, until: SystemClock.now + limit, progress)
        }
        return CampaignReport(entry, counts, now: SystemClock.wallClock)
    }

    /// Reads a campaign's order, changes it, and returns once Kafka has acknowledged the change.
    ///
    /// Of two commands at the same time, the later record takes effect.
    ///
    /// - Returns: The campaign with its current order.
    package func apply(
        _ change: CampaignChange,
        to campaign: CampaignName,
        complain: (String) -> Void
    ) throws(WriteError) -> CampaignEntry {
        guard let topic else { throw .failed(Self.noTopic) }
        let order: CampaignOrder?
        do {
            let old = try read(complain: complain)[campaign]?.order
            order = try change.order(after: old, now: SystemClock.wallClock)
        } catch let refusal as CampaignChange.Refusal {
            throw .failed(ServiceError(text: "\(campaign) \(refusal.predicate)"))
        } catch let error as ServiceError {
            throw .failed(error)
        } catch {
            throw .failed(ServiceError(text: "\(error)"))
        }
        try write(order, of: campaign, to: topic)
        return CampaignEntry(campaign, order, writtenAt: SystemClock.wallClock)
    }

    // MARK: Reading

    private func read(
        complain: (String) -> Void
    ) throws(ServiceError) -> [CampaignName: CampaignEntry] {
        var entries: [CampaignName: CampaignEntry] = [:]
        guard let topic else { return entries }
        try scan(topic, Self.key, until: Instant(nanoseconds: .max)) { record, partition in
            do throws(CampaignOrderError) {
                let read = try CampaignRecord(record)
                entries[read.campaign] = read.order.map { order in
                    CampaignEntry(read.campaign, order, writtenAt: record.timestamp)
                }
            } catch {
                complain(
                    "\(partition)@\(record.offset): malformed; the previous order stays in effect:"
                        + " \(error)"
                )
            }
        } _: { _ in
        }
        return entries
    }

    private func tallies(
        _ topic: KafkaTopic,
        complain: (String) -> Void
    ) throws(ServiceError) -> CampaignTallies {
        var tallies = CampaignTallies()
        try scan(topic, "campaigns.tally_topic", until: Instant(nanoseconds: .max)) {
            record,
            partition in
            do throws(CampaignTallyRecord.Flaw) {
                try tallies.take(record)
            } catch {
                complain("\(partition)@\(record.offset): malformed, so it is not counted: \(error)")
            }
        } _: { _ in
        }
        return tallies
    }

    private func count(
        _ campaign: CampaignName,
        until end: Instant,
        _ progress: (Int) -> Void
    ) throws(ServiceError) -> CampaignCounts {
        var counts = CampaignCounts()
        counts.isComplete = try scan(configuration.results.topic, "results.topic", until: end) {
            record,
            _ in
            counts.count(record.value, of: campaign)
        } _: { count in
            progress(count)
        }
        return counts
    }

    /// Reads a topic from its beginning to its end at the start.
    ///
    /// - Returns: Whether it was read to its end before the time.
    @discardableResult
    private func scan(
        _ topic: KafkaTopic,
        _ key: String,
        until end: Instant,
        _ take: (Record, TopicPartition) -> Void,
        _ progress: (Int) -> Void
    ) throws(ServiceError) -> Bool {
        let waiter = try CommandWaiter()
        let scan: TopicScan
        do throws(KafkaError) {
            scan = try TopicScan(
                topic: topic,
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties,
                wakeup: waiter.wakeup.fileDescriptor,
                deadline: Configuration.kafkaDeadline,
                patience: configuration.topicPatience.ofCommands
            )
        } catch {
            throw ServiceError(error, reading: topic, of: key, configuration)
        }
        defer { scan.destroyAside() }
        var records: [Record] = []
        var count = 0
        var nextProgress = SystemClock.now + Self.progressInterval
        while !scan.isComplete {
            guard SystemClock.now < end else { return false }
            do throws(KafkaError) {
                _ = try scan.poll(budget: Self.batch, into: &records)
            } catch {
                throw ServiceError(text: "\(key): '\(topic)' cannot be read: \(error)")
            }
            let partitions = scan.partitions
            for record in records { take(record, partitions[record.partition]) }
            count += records.count
            if SystemClock.now >= nextProgress {
                nextProgress = SystemClock.now + Self.progressInterval
                progress(count)
            }
            let isIdle = records.isEmpty
            records.removeAll(keepingCapacity: true)
            if isIdle, !scan.isComplete { try waiter.wait(until: min(end, nextProgress)) }
        }
        return true
    }

    // MARK: Writing

    private func write(
        _ order: CampaignOrder?,
        of campaign: CampaignName,
        to topic: KafkaTopic
    ) throws(WriteError) {
        let producer: SingleRecordProducer
        do throws(KafkaError) {
            producer = try SingleRecordProducer(
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties
            )
        } catch {
            throw .failed(ServiceError(text: "kafka.properties: \(error.text)"))
        }
        do throws(SingleRecordProducer.Failure) {
            try producer.write(order?.value, key: campaign.utf8, to: topic, within: Self.patience)
        } catch {
            switch error {
            case .refused(let cause):
                throw .failed(
                    ServiceError(text: "\(Self.key): '\(topic)' cannot be written: \(cause)")
                )
            case .unanswered:
                throw .unanswered(
                    ServiceError(
                        text: "\(Self.key): Kafka did not acknowledge the order; it may be written:"
                            + " list the campaigns before you try again"
                    )
                )
            }
        }
    }
}

extension CampaignChange.Refusal {
    /// Completes a sentence about the campaign.
    fileprivate var predicate: String {
        switch self {
        case .isCancelled: "is cancelled; resume it first"
        case .isUnconfirmed:
            "is cancelled; add --yes to let it run again: events that ended stay as they are"
        case .endsPause: "is paused, so --until would end the pause; resume it first"
        }
    }
}
