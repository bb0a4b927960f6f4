import Vocabulary

/// The group coordinator: the members, and their assigned partitions.
///
/// It uses the eager rebalance protocol.
struct ConsumerGroup {
    private let partitionCount: Int
    /// Whether each generation assigns the partitions differently, not in the order of members.
    private let shuffles: Bool
    private(set) var generation = 0
    /// The partitions of each member; members that have released theirs are missing.
    private(set) var assignment: [MemberID: [PartitionID]] = [:]
    /// The generation of each member's last assignment.
    private var assignedIn: [MemberID: Int] = [:]
    /// Members that must still release their partitions before the next assignment.
    private(set) var lettingGo: Set<MemberID> = []
    private(set) var members: Set<MemberID> = []
    /// Whether a member joined or left, so that a rebalance starts soon.
    private(set) var isRebalancing = false
    /// Whether a rebalance has begun; once all partitions are released, they are assigned again.
    private var isGathering = false

    init(partitionCount: Int, shuffles: Bool) {
        self.partitionCount = partitionCount
        self.shuffles = shuffles
    }

    mutating func joined(_ member: MemberID) {
        members.insert(member)
        isRebalancing = true
    }

    /// Removes a member that died, left, or was fenced.
    mutating func left(_ member: MemberID) {
        members.remove(member)
        assignment[member] = nil
        lettingGo.remove(member)
        isRebalancing = true
    }

    /// - Returns: The members that must release their partitions.
    mutating func rebalanceBegan() -> [MemberID] {
        isGathering = true
        lettingGo = Set(assignment.keys)
        return lettingGo.sorted()
    }

    /// Releases a member's assignment of that generation; a later assignment stays.
    mutating func letGo(_ member: MemberID, of generation: Int) {
        guard assignedIn[member] == generation else { return }
        lettingGo.remove(member)
        assignment[member] = nil
    }

    /// Assigns the partitions once all are released.
    mutating func assignmentIfReady() -> [(MemberID, [PartitionID])]? {
        guard isGathering, lettingGo.isEmpty else { return nil }
        isRebalancing = false
        isGathering = false
        generation += 1
        let members = members.sorted()
        guard !members.isEmpty else { return [] }
        var shares: [[PartitionID]] = Array(repeating: [], count: members.count)
        let shift = shuffles ? generation : 0
        for index in 0..<partitionCount {
            shares[(index + shift) % members.count].append(PartitionID(index: index))
        }
        for (member, share) in zip(members, shares) {
            assignment[member] = share
            assignedIn[member] = generation
        }
        return Array(zip(members, shares))
    }

    func owns(_ member: MemberID, _ partition: PartitionID, in generation: Int) -> Bool {
        assignedIn[member] == generation && assignment[member]?.contains(partition) == true
    }
}
