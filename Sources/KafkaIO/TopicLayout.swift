/// A topic's partitions and their leaders, as reported by a broker.
public struct TopicLayout: Hashable, Sendable {
    public var partitionCount: Int
    /// One partition for each broker that leads any.
    public var onePerLeader: [Int32]
    /// The partitions without a leader.
    public var leaderless: [Int32]

    public init(partitionCount: Int, onePerLeader: [Int32], leaderless: [Int32] = []) {
        self.partitionCount = partitionCount
        self.onePerLeader = onePerLeader
        self.leaderless = leaderless
    }

    /// - Parameter leaders: Each partition with its leader's broker ID; negative: it has no leader.
    init(leaders: [(partition: Int32, leader: Int32)]) {
        var first: [Int32: Int32] = [:]
        for (partition, leader) in leaders where leader >= 0 {
            first[leader] = min(partition, first[leader] ?? partition)
        }
        partitionCount = leaders.count
        onePerLeader = first.values.sorted()
        leaderless = leaders.filter { $0.leader < 0 }.map(\.partition).sorted()
    }
}
