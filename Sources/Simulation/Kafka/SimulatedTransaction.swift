import Delivery
import Vocabulary

/// A transaction of a member's producer in Kafka; its records are visible only once committed.
struct SimulatedTransaction {
    enum State {
        /// Next: `committed`, `aborted`.
        case open
        case committed
        /// Aborted by its member, by the next producer with its name, or by its timeout.
        case aborted
    }

    let member: MemberID
    var state = State.open
    /// Whether Kafka has received part of it, so that its timeout runs.
    var hasBegun = false
    /// Whether librdkafka has given it up: it accepts no more records and cannot be committed.
    var hasFailed = false
    /// Kinds of records that were refused because one of them is too large.
    var refused: Publications = []
    /// The records that Kafka has stored.
    var written: [ProduceRequest] = []
    /// The deliveries given to the producer, each with all its records.
    var deliveries: [DeliveryID: Member.Pending] = [:]
    /// The records of the tally topic.
    var tallies: [TallyRecord] = []
    var commits: [PartitionCommit] = []
    /// How many cuts of each log its member knew.
    var cuts: [PartitionID: Int] = [:]
    /// The group generation of its offsets.
    var generation = 0
    /// Whether it blocks members that request the group's offsets.
    var holdsOffsets = false
}

/// A call of a member's transactional producer.
///
/// The number is the index of the transaction in the world's list.
enum TransactionalCall: Hashable, Sendable {
    case open
    /// Sends the offsets; the commit follows at once.
    case send(Int)
    case commit(Int)
    case abort(Int)
}
