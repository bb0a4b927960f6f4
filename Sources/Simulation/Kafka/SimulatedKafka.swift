import Delivery
import Vocabulary

/// The source topics and the group's committed offsets, in memory.
struct SimulatedKafka {
    /// One offset of a log.
    struct Entry {
        /// The index of the event in the world's list; nil: a gap from compaction or a transaction.
        var event: Int32?
        /// The index of the retry record in the world's list; nil: not a retry record.
        var retry: Int32?
        /// Whether the partition's owner may continue after it.
        ///
        /// That requires an acknowledged outcome, or a record that continues the event; with
        /// recipients, for each of them.
        var isResolved: Bool
        /// For each of its recipients, the same; empty: it is not an event with recipients.
        private(set) var recipients: [Bool] = []

        init(event: Int32?, retry: Int32? = nil, isResolved: Bool, recipientCount: Int = 0) {
            self.event = event
            self.retry = retry
            self.isResolved = isResolved
            recipients = Array(repeating: false, count: recipientCount)
        }

        /// Notes that the owner may continue after these recipients, or the whole record.
        mutating func resolve(_ indices: [Int]) {
            for index in indices where recipients.indices.contains(index) {
                recipients[index] = true
            }
            if indices.isEmpty || !recipients.contains(false) { isResolved = true }
        }

        func isResolved(recipient: Int) -> Bool {
            isResolved || recipients.indices.contains(recipient) && recipients[recipient]
        }
    }

    struct StoredOffset: Hashable {
        var offset: Int64
        var metadata: String
        /// How many cuts of the log its writer knew.
        var cuts = 0
    }

    struct Partition {
        let name: TopicPartition
        /// The index of the source in the plan.
        let source: Int
        /// For a retry topic, the index of its tier in the plan.
        let tier: Int?
        var entries: [Entry] = []
        var stored: StoredOffset? {
            didSet {
                guard oldValue?.offset != stored?.offset else { return }
                metadataBefore = oldValue?.metadata ?? ""
            }
        }
        /// The last metadata committed with another offset.
        private(set) var metadataBefore = ""

        /// The end of the log after each loss of its last records.
        private(set) var cuts: [Int64] = []

        var end: Int64 { Int64(entries.count) }

        /// Up to here, the group's offset refers to records that have not been cut since.
        var trustedOffset: Int64 {
            guard let stored else { return 0 }
            return cuts[min(stored.cuts, cuts.count)...].reduce(stored.offset, min)
        }

        mutating func cut(at end: Int64) {
            entries.removeLast(entries.count - Int(end))
            cuts.append(end)
        }
    }

    var partitions: [Partition] = []
    let retryTopics: RetryTopics
    /// The compacted token-status topic, without compaction.
    var tokenStatus: [TokenStatus] = []
    /// The partition names, numbered like `partitions`.
    private(set) var table = PartitionTable()

    init(plan: FaultPlan) {
        let sources = plan.sources.indices.map { KafkaTopic("source-\($0)") }
        let names = plan.tiers.map { "\($0.components.seconds)s" }
        retryTopics = RetryTopics(sources: sources, delayNames: names)
        for (index, source) in plan.sources.enumerated() {
            add(sources[index], source.partitions, source: index, tier: nil)
        }
        for (index, source) in sources.enumerated() {
            for tier in plan.tiers.indices {
                let topic = retryTopics.topic(forEventOf: source, tier: tier)
                add(topic, 2, source: index, tier: tier)
            }
        }
    }

    private mutating func add(_ topic: KafkaTopic, _ count: Int, source: Int, tier: Int?) {
        for number in 0..<count {
            let name = TopicPartition(topic: topic, partition: Int32(number))
            _ = table.intern(name)
            partitions.append(Partition(name: name, source: source, tier: tier))
        }
    }

    /// The partitions of a source, or of one of its retry topics.
    func partitions(ofSource source: Int, tier: Int? = nil) -> [Int] {
        partitions.indices.filter {
            partitions[$0].source == source && partitions[$0].tier == tier
        }
    }

    /// Whether all partitions are committed up to their last record.
    var isDrained: Bool {
        partitions.allSatisfy { ($0.stored?.offset ?? 0) >= $0.lastRecord }
    }
}

extension SimulatedKafka.Partition {
    /// One past the last record that is not a gap; gaps at the end are never read.
    var lastRecord: Int64 {
        Int64((entries.lastIndex { $0.event != nil } ?? -1) + 1)
    }
}
