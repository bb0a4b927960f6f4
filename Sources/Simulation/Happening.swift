import Delivery
import Vocabulary

/// A process of the service in the simulated world; a restart gets a new ID.
struct MemberID: Hashable, Comparable, Sendable {
    let number: Int32

    static func < (left: MemberID, right: MemberID) -> Bool { left.number < right.number }
}

/// One stream of one connection of one member, together with its delivery.
struct StreamKey: Hashable, Sendable {
    let member: MemberID
    let connection: ConnectionID
    let stream: UInt32
    let delivery: DeliveryID
    let event: Int32
}

/// The result of a request, chosen at random when it is sent.
enum Fate: UInt8, Hashable, Sendable {
    /// APNs processes the request and answers.
    case answered
    case answered503
    case answered429
    case answeredBadToken
    case answeredShutdown
    case answeredTokenExpired
    /// APNs closes the connection because of the provider token, without processing open requests.
    case sentAwayTokenExpired
    /// Processed, but the stream is reset before the answer is complete.
    case answerLost
    /// The stream is reset, and the peer reports that it did not process the request.
    case refused
    /// Processed, but without any answer.
    case silent
}

/// A future action of the simulated world; kept small, because many are pending.
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
    case deliveryReported(MemberID, producer: Int, PublicationTag, ProduceAnswer)
    case producerFailed
    case offsetsFetched(MemberID, generation: Int)
    case commitReached(Int)
    case commitEnded(Int, isAnswered: Bool)
    case transactionalCallMade(MemberID, Int, TransactionalCall)
    case transactionalCallEnded(MemberID, Int, TransactionFailure?)
    case transactionTimedOut(Int)
    case groupRebalanced
    case tokenStatusRead(MemberID, upTo: Int)
    case logCut
    case logFound(MemberID, generation: Int, PartitionID)
    case heartbeatMissed(MemberID)

    // Processes
    case memberDied
    case memberRestarted
    case memberFenced
    case memberStalled
    case groupGrew
    case groupShrank
    case clockJumped
    case campaignOrdered
    case ordersRead(MemberID)
    case tallyProduced(TallyRequest)
    case tallyReported(TallyRequest)
}

extension Happening {
    /// The order of happenings at the same moment: lowest rank first, equal ranks in order of
    /// insertion.
    ///
    /// So the order depends on what happens, not on the order of an engine's requests. A turn is
    /// last: it handles everything of its moment.
    var rank: UInt64 {
        switch self {
        case .faultsEnded: Self.rank(0)
        case .episodeBegan(let index): Self.rank(1, UInt64(index))
        case .episodeEnded(let index): Self.rank(2, UInt64(index))
        case .clockJumped: Self.rank(3)
        case .memberDied: Self.rank(4)
        case .memberRestarted: Self.rank(5)
        case .memberFenced: Self.rank(6)
        case .memberStalled: Self.rank(7)
        case .groupGrew: Self.rank(8)
        case .groupShrank: Self.rank(9)
        case .producerFailed: Self.rank(10)
        case .heartbeatMissed(let member): Self.rank(11, member)
        case .groupRebalanced: Self.rank(12)
        case .eventAppended: Self.rank(13)
        case .produced(let request): Self.rank(14, request.member)
        case .deliveryReported(let member, _, _, _): Self.rank(15, member)
        case .offsetsFetched(let member, _): Self.rank(16, member)
        case .commitReached: Self.rank(17)
        case .commitEnded: Self.rank(18)
        case .transactionalCallMade(let member, _, _): Self.rank(19, member)
        case .transactionalCallEnded(let member, _, _): Self.rank(20, member)
        case .transactionTimedOut: Self.rank(21)
        case .tokenStatusRead(let member, _): Self.rank(22, member)
        case .schemaAnswered(let member, _, _): Self.rank(23, member)
        case .connectEnded(let member, let connection): Self.rank(24, member, connection)
        case .pingAnswered(let member, let connection): Self.rank(25, member, connection)
        case .streamLimitChanged(let member, let connection): Self.rank(26, member, connection)
        case .goAwaySent(let member, let connection): Self.rank(27, member, connection)
        case .requestEnds(let key, _): Self.rank(28, key.member, key.connection)
        case .connectionEnded(let member, let connection): Self.rank(29, member, connection)
        case .logCut: Self.rank(30)
        case .logFound(let member, _, _): Self.rank(31, member)
        case .campaignOrdered: Self.rank(32)
        case .ordersRead(let member): Self.rank(33, member)
        case .tallyProduced(let request): Self.rank(34, request.member)
        case .tallyReported(let request): Self.rank(35, request.member)
        case .turn(let member): Self.rank(36, member)
        }
    }

    private static func rank(_ kind: UInt64, _ place: UInt64 = 0) -> UInt64 { kind << 56 | place }

    private static func rank(
        _ kind: UInt64,
        _ member: MemberID,
        _ connection: ConnectionID = ConnectionID(rawValue: 0)
    ) -> UInt64 {
        rank(kind, UInt64(UInt32(member.number)) << 32 | UInt64(connection.rawValue))
    }
}

/// A record on its way from a member's producer to Kafka.
struct ProduceRequest: Hashable, Sendable {
    let member: MemberID
    /// The number of the producer or transaction; a failed producer gets a successor.
    let producer: Int
    /// The index of its transaction in the world's list; nil: none.
    let transaction: Int?
    let tag: PublicationTag
    /// The index of the record in the world's list of produced records.
    let record: Int
    let fate: ProduceFate
}

enum ProduceFate: UInt8, Hashable, Sendable {
    case acknowledged
    /// Kafka rejects it.
    case refused
    /// Kafka stores it, but the acknowledgement is lost.
    case acknowledgementLost
    /// Kafka stores it twice.
    case doubled
    /// Kafka rejects every batch that contains it.
    case tooLarge
    /// Its topic rejects all writes.
    case topicRefuses
}

/// Kafka's answer for a record.
enum ProduceAnswer: UInt8, Hashable, Sendable {
    case taken
    case notTaken
    case topicRefuses
    /// Its batch is too large; other records may be in it.
    case batchTooLarge
}
