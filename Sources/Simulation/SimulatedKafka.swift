import Delivery
import Vocabulary

/// One source topic with its consumer group, in memory.
struct SimulatedKafka {
    /// A record of the source topic, and what became of it.
    struct LogEntry {
        var record: Record
        var decoded: DecodedRecord
        /// Acknowledged outcomes.
        var outcomes: [OutcomeKind] = []
        /// Streams that APNs processed for it.
        var pushes = 0

        var isTombstone: Bool { decoded == .tombstone }
    }

    private(set) var log: [[LogEntry]]
    private(set) var committed: [Int64?]
    /// What was written with each committed offset.
    private(set) var metadata: [String]
    let partitions: PartitionTable
    /// Who owns which partitions; a member that has let go is missing.
    private(set) var assignment: [MemberID: [PartitionID]] = [:]
    /// Members that must still let go before the group can be assigned anew.
    private(set) var lettingGo: Set<MemberID> = []
    private(set) var group: Set<MemberID> = []
    /// Somebody came or went; the members are called together soon.
    private(set) var isRebalancing = false
    /// The members were called together; when all have let go, they get new shares.
    private var isGathering = false

    init(partitions: Int) {
        log = Array(repeating: [], count: partitions)
        committed = Array(repeating: nil, count: partitions)
        metadata = Array(repeating: "", count: partitions)
        var table = PartitionTable()
        for number in 0..<Int32(partitions) {
            _ = table.intern(TopicPartition(topic: KafkaTopic("source"), partition: number))
        }
        self.partitions = table
    }

    mutating func append(to partition: PartitionID, _ make: (Offset) -> LogEntry) {
        log[partition.index].append(make(Offset(Int64(log[partition.index].count))))
    }

    func entry(_ record: Record) -> LogEntry {
        log[record.partition.index][Int(record.offset.rawValue)]
    }

    mutating func outcomeAcknowledged(_ record: Record, _ kind: OutcomeKind) {
        log[record.partition.index][Int(record.offset.rawValue)].outcomes.append(kind)
    }

    mutating func pushed(_ record: Record) {
        log[record.partition.index][Int(record.offset.rawValue)].pushes += 1
    }

    // MARK: Group

    mutating func joined(_ member: MemberID) {
        group.insert(member)
        isRebalancing = true
    }

    /// A member died or left: the others are called together.
    mutating func left(_ member: MemberID) {
        group.remove(member)
        assignment[member] = nil
        lettingGo.remove(member)
        isRebalancing = true
    }

    /// - Returns: the members that must let go of what they own.
    mutating func rebalanceBegan() -> [MemberID] {
        isGathering = true
        lettingGo = Set(assignment.keys)
        return lettingGo.sorted()
    }

    mutating func letGo(_ member: MemberID) {
        lettingGo.remove(member)
        assignment[member] = nil
    }

    /// Hands the partitions out when everybody has let go.
    mutating func assignmentIfReady() -> [(MemberID, [PartitionID])]? {
        guard isGathering, lettingGo.isEmpty else { return nil }
        isRebalancing = false
        isGathering = false
        let members = group.sorted()
        guard !members.isEmpty else { return [] }
        var shares: [[PartitionID]] = Array(repeating: [], count: members.count)
        for index in log.indices { shares[index % members.count].append(PartitionID(index: index)) }
        for (member, share) in zip(members, shares) { assignment[member] = share }
        return Array(zip(members, shares))
    }

    func owns(_ member: MemberID, _ partition: PartitionID) -> Bool {
        assignment[member]?.contains(partition) ?? false
    }

    /// Takes a commit in, if the member is still part of the group.
    mutating func commit(_ commit: PartitionCommit, by member: MemberID) -> Bool {
        guard owns(member, commit.partition) else { return false }
        committed[commit.partition.index] = commit.offset.rawValue
        metadata[commit.partition.index] = commit.metadata
        return true
    }

    func position(of partition: PartitionID) -> CommittedPosition? {
        committed[partition.index].map {
            CommittedPosition(offset: Offset($0), metadata: metadata[partition.index])
        }
    }
}
