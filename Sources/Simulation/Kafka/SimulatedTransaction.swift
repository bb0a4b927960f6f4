import Delivery
import Vocabulary

/// A transaction of a member's producer as Kafka has it: nobody reads any of it before it is
/// committed.
struct SimulatedTransaction {
    enum State {
        /// Next: `committed`, `aborted`.
        case open
        case committed
        /// By its member, by the producer that took its place, or because it took too long.
        case aborted
    }

    let member: MemberID
    var state = State.open
    /// Kafka has something of it, and the time that it may take runs.
    var hasBegun = false
    /// librdkafka has given it up: it takes no record any more, and cannot be committed.
    var hasFailed = false
    /// Kinds of records with one among them that is too large.
    var refused: Publications = []
    /// The records that Kafka has taken.
    var written: [ProduceRequest] = []
    /// What was given to the producer: the deliveries, with all records that each calls for.
    var deliveries: [DeliveryID: Member.Pending] = [:]
    var commits: [PartitionCommit] = []
    /// How often the logs were cut, as far as its member knew.
    var cuts: [PartitionID: Int] = [:]
    /// The group's generation that its offsets are of.
    var generation = 0
    /// A member that asks for the group's offsets gets no answer.
    var holdsOffsets = false
}

/// A call of a member's transactional producer; the number is that of a transaction in the world's
/// list.
enum TransactionalCall: Hashable, Sendable {
    case open
    /// The offsets; the commit follows at once.
    case send(Int)
    case commit(Int)
    case abort(Int)
}
