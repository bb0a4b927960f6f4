import Delivery
import Vocabulary

/// A process of the service in the simulated world; a restart makes a new one.
struct MemberID: Hashable, Comparable, Sendable {
    let number: Int

    static func < (left: MemberID, right: MemberID) -> Bool { left.number < right.number }
}

/// Something that the simulated world does at its time.
enum Happening: Sendable {
    /// The member's next turn is due.
    case turn(MemberID)
    /// A new event is appended to a partition.
    case eventAppended
    case connectEnded(MemberID, ConnectionID, succeeds: Bool)
    case answer(MemberID, ConnectionID, DeliveryID, APNsAnswer)
    case streamReset(MemberID, ConnectionID, DeliveryID, StreamBreak)
    case goAwaySent(MemberID, ConnectionID)
    case streamLimitChanged(MemberID, ConnectionID)
    case pingAnswered(MemberID, ConnectionID)
    case connectionEnded(MemberID, ConnectionID)
    case deliveryReported(MemberID, PublicationTag, succeeds: Bool)
    case offsetsFetched(MemberID, [PartitionID], succeeds: Bool)
    case commitEnded(MemberID, [PartitionID], succeeds: Bool)
    case groupRebalanced
    case memberDied
    case memberRestarted
    case memberFenced
    case faultsEnded
}
