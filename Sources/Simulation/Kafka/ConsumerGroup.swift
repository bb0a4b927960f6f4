import Vocabulary

/// The group coordinator: who is in, and who owns what.
///
/// Eager protocol.
struct ConsumerGroup {
    private let partitionCount: Int
    /// True: each generation deals the partitions out again; false: in the order of the members.
    private let shuffles: Bool
    private(set) var generation = 0
    /// Who owns which partitions; a member that has released its partitions is missing.
    private(set) var assignment: [MemberID: [PartitionID]] = [:]
    /// The generation of each member's last assignment.
    private var assignedIn: [MemberID: Int] = [:]
    /// Members that must still release theirs before the group can be assigned again.
    private(set) var lettingGo: Set<MemberID> = []
    private(set) var members: Set<MemberID> = []
    /// Somebody came or went; the members are called together soon.
    private(set) var isRebalancing = false
    /// The members were called together; when all have released their partitions, they get new
    /// shares.
    private var isGathering = false

    init(partitionCount: Int, shuffles: Bool) {
        self.partitionCount = partitionCount
        self.shuffles = shuffles
    }

    mutating func joined(_ member: MemberID) {
        members.insert(member)
        isRebalancing = true
    }

    /// A member died, left, or was given up.
    mutating func left(_ member: MemberID) {
        members.remove(member)
        assignment[member] = nil
        lettingGo.remove(member)
        isRebalancing = true
    }

    /// - Returns: the members that must release what they own.
    mutating func rebalanceBegan() -> [MemberID] {
        isGathering = true
        lettingGo = Set(assignment.keys)
        return lettingGo.sorted()
    }

    /// A member gave up what it was assigned in that generation; a later assignment stays.
    mutating func letGo(_ member: MemberID, of generation: Int) {
        guard assignedIn[member] == generation else { return }
        lettingGo.remove(member)
        assignment[member] = nil
    }

    /// Hands the partitions out when everybody has released theirs.
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
