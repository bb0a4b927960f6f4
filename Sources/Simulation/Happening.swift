import Delivery
import Vocabulary

/// A process of the service in the simulated world; a restart makes a new one.
struct MemberID: Hashable, Comparable, Sendable {
    let number: Int32

    static func < (left: MemberID, right: MemberID) -> Bool { left.number < right.number }
}

/// One stream of one connection of one member, with the event that it carries.
struct StreamKey: Hashable, Sendable {
    let member: MemberID
    let connection: ConnectionID
    let stream: UInt32
    let delivery: DeliveryID
    let event: Int32
}

/// What becomes of a request, drawn when it is sent.
enum Fate: UInt8, Hashable, Sendable {
    /// APNs judges it and answers.
    case answered
    case answered503
    case answered429
    case answeredBadToken
    case answeredShutdown
    case answeredTokenExpired
    /// Judged, but the stream is reset before the answer is through.
    case answerLost
    /// The stream is reset, and the peer says that it did nothing.
    case refused
    /// Judged, and nothing more is heard.
    case silent
}

/// Something that the simulated world does at its time; small, because many wait.
enum Happening: Sendable {
    /// The member's next turn is due.
    case turn(MemberID)
    /// The next event is appended to a source.
    case eventAppended
    case episodeBegan(Int)
    case episodeEnded(Int)
    case faultsEnded

    // APNs
    case connectEnded(MemberID, ConnectionID)
    case requestEnds(StreamKey, Fate)
    case goAwaySent(MemberID, ConnectionID)
    case streamLimitChanged(MemberID, ConnectionID)
    case pingAnswered(MemberID, ConnectionID)
    case connectionEnded(MemberID, ConnectionID)

    // Schema Registry
    case schemaAnswered(MemberID, SchemaReference, succeeds: Bool)

    // Kafka
    case produced(ProduceRequest)
    case deliveryReported(MemberID, producer: Int, PublicationTag, succeeds: Bool)
    case producerFailed
    case offsetsFetched(MemberID, generation: Int)
    case commitReached(Int)
    case commitEnded(Int, isAnswered: Bool)
    case transactionalCallMade(MemberID, Int, TransactionalCall)
    case transactionalCallEnded(MemberID, Int, TransactionFailure?)
    case transactionTimedOut(Int)
    case groupRebalanced
    case tokenStatusRead(MemberID, upTo: Int)
    case heartbeatMissed(MemberID)

    // Processes
    case memberDied
    case memberRestarted
    case memberFenced
    case memberStalled
    case groupGrew
    case groupShrank
    case clockJumped
}

/// A record on its way from a member's producer to Kafka.
struct ProduceRequest: Hashable, Sendable {
    let member: MemberID
    /// Counts the member's producers, for one that failed is replaced, and their transactions.
    let producer: Int
    /// Place of its transaction in the world's list; nil: it is in none.
    let transaction: Int?
    let tag: PublicationTag
    /// Place of what is produced in the world's list of it.
    let record: Int
    let fate: ProduceFate
}

enum ProduceFate: UInt8, Hashable, Sendable {
    case acknowledged
    /// Kafka does not take it.
    case refused
    /// Kafka takes it, and the acknowledgement is lost.
    case acknowledgementLost
    /// Kafka takes it twice.
    case doubled
}
