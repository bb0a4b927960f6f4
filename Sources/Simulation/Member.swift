import Delivery
import Vocabulary

/// One process of the service: the real engine, and what its shard would hold.
final class Member {
    let id: MemberID
    /// Its process's.
    let tokens: TokenList
    var engine: DeliveryEngine
    var connections: [ConnectionID: SimulatedConnection] = [:]
    /// What it reads, in the order of the partitions.
    var cursors: [Cursor] = []
    /// Which of the cursors is read first in the next turn.
    var firstCursor = 0
    /// The turn that is planned; an earlier one replaces it.
    var nextTurn: Instant?
    var lastTurn = Instant(nanoseconds: -1_000_000_000)
    /// The one before it: what the last one carried out was decided since.
    var turnBefore = Instant(nanoseconds: -1_000_000_000)
    /// It does nothing before this moment.
    var stalledUntil = Instant(nanoseconds: 0)
    var isLeaving = false
    /// The group's messages that it has not read: a member that hangs answers nothing.
    var groupEvents: [GroupEvent] = []
    /// The group's generation when its partitions were assigned.
    var generation = 0
    /// Partitions whose commit failed and was not repeated yet, or that are to have their first one:
    /// since when.
    var uncommitted: [PartitionID: Instant] = [:]
    /// Partitions without a stored position that were first read, or found empty, in the present
    /// assignment.
    var placed: Set<PartitionID> = []
    /// Every partition it ever had.
    var owned: Set<PartitionID> = []
    /// How often their logs were cut, as far as it knows.
    var knownCuts: [PartitionID: Int] = [:]
    /// What the committed metadata called settled when the assignment began.
    var settledBefore: [PartitionID: SettledOffsets] = [:]
    /// When reading of the present assignment began; nil: there is none.
    var assignedAt: Instant?
    /// Counts its producers and their transactions.
    var producer = 0
    /// Place of its present transaction in the world's list.
    var transaction: Int?
    /// The transactional call that was made last, and how many were made.
    var call: TransactionalCall?
    var callNumber = 0
    /// Records whose batch was refused: each is sent by itself.
    var singles: Set<PublicationTag> = []
    /// How many token statuses waited for their topic since its last turn, at most.
    var mostStatusWaits = 0
    /// Outcomes on their way.
    var publishing: [DeliveryID: Pending] = [:]
    /// By delivery: the streams opened for it, and those given back unprocessed.
    var streams: [DeliveryID: StreamCount] = [:]
    /// Retry records in flight, and when each may be sent.
    var notBefore: [RecordPlace: Instant] = [:]
    /// Events in flight, by device; and those of the first source.
    var load: [Int32: Int] = [:]
    var urgentLoad = 0
    /// By route.
    var urgent = Array(repeating: UrgentQueue(), count: Applications.credentialCount * 2)
    /// By device: since when its token is dead, as APNs answered this member, and when it did.
    var deadTokens: [Int32: (since: Timestamp, toldAt: Instant)] = [:]
    /// Where the records of each event are, by its identity, that are neither at an end nor
    /// deferred.
    var inHand: [Int32: Set<RecordPlace>] = [:]
    /// Identities of the events that APNs took from it.
    var accepted: Set<Int32> = []
    /// By route.
    var fuses = Array(repeating: FuseWatch(), count: Applications.credentialCount * 2)
    var knownSchemas: Set<SchemaReference> = []
    /// Every stream it opened, the oldest first, until no answer may be waited for any more.
    var timeLimits: ArraySlice<(stream: StreamKey, due: Instant)> = []
    /// By route.
    var breakers = Array(repeating: BreakerWatch(), count: Applications.credentialCount * 2)
    /// Broadcasts without an outcome, by channel, in the order of their arrival.
    var broadcasts: [Int32: [RecordPlace]] = [:]
    /// The broadcast of each channel that arrived last, whatever became of it.
    var newestBroadcasts: [Int32: RecordPlace] = [:]
    /// Open streams by device: how many.
    var streamsByDevice: [Int32: Int] = [:]
    /// By credential: when APNs stops taking its provider token.
    var tokenExpiries = Array(
        repeating: Instant(nanoseconds: .max),
        count: Applications.credentialCount
    )

    /// By credential: when another member of its process learned that the key is revoked, and this
    /// one had used it until then.
    var revokedAt: [Int: Instant] = [:]

    init(id: MemberID, engine: DeliveryEngine, tokens: TokenList) {
        self.id = id
        self.tokens = tokens
        self.engine = engine
    }

    /// As the engine has it: `engine.delivery` would copy the engine.
    func delivery(_ id: DeliveryID) -> Delivery? {
        engine.lend { $0.delivery(id) }
    }

    /// Place of the partition's cursor; nil: the member does not have the partition.
    func cursorIndex(of partition: PartitionID) -> Int? {
        let cursors = cursors
        return cursors.indices.first { cursors[$0].partition == partition }
    }

    /// Where one partition of the assignment is read, and how far it is settled.
    struct Cursor {
        let partition: PartitionID
        var position: Int64
        var isPaused = false
        var start: Int64
        /// The group's offset when it began.
        var stored: Int64
        /// By offset past `start`, up to `position`: settled as far as the member knows.
        var settled: [Bool] = []
        /// Before it everything is settled.
        var frontier: Int64
        /// Where the log was cut: the record before is not known.
        var cutEnd: Int64?
        /// The end that was reported last: the same one is reported once.
        var toldEnd: Int64?
        /// How often the log was cut, as far as what the member commits knows.
        var cuts = 0
        /// How many of the cuts a fetch has met since.
        var cutsMet = 0
        /// The record before its start, until something was read.
        var mark: RecordMark?
        /// The last record that its member knows something of, until that was compared.
        var lastKnown: RecordMark?
        /// The log ends before its position, and its leader is asked where.
        var isLost = false
        /// The log was cut and filled again beyond its position before it looked.
        var isOvertaken = false
        /// When it restarted within the same assignment.
        var restartedAt: Instant?
    }

    enum GroupEvent {
        case assigned([PartitionID], generation: Int)
        case revoked
        case lost
    }

    struct StreamCount {
        var opened = 0
        var unprocessed = 0
        /// Of the unprocessed ones, those since something else became of one.
        var refusals = 0
        /// When the first and the last of them came back.
        var refusedSince = Instant(nanoseconds: 0)
        var refusedAt = Instant(nanoseconds: 0)
    }

    /// An outcome on its way to Kafka.
    struct Pending {
        let event: Int32
        let partition: PartitionID
        let offset: Int64
        /// The record arrived in the present assignment, or in one before it.
        let arrivedAt: Instant
        /// Not yet acknowledged to the member.
        var awaited: Publications
        /// Not yet in Kafka, of everything that this outcome calls for.
        var unwritten: Publications
    }
}

extension DeliveryEngine {
    /// Gives read access to the engine.
    ///
    /// `mutating`, though it changes nothing: a look at the property of a class copies the engine,
    /// all of it, before another module's function may have it.
    mutating func lend<Result>(to look: (borrowing DeliveryEngine) -> Result) -> Result {
        look(self)
    }
}

/// A record's place in Kafka.
struct RecordPlace: Hashable, Sendable {
    let partition: PartitionID
    let offset: Int64

    init(partition: PartitionID, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    init(_ record: Record) {
        self.init(partition: record.partition, offset: record.offset.rawValue)
    }
}

/// A connection as the peer sees it.
struct SimulatedConnection {
    let route: Route
    var isOpen = false
    var isDraining = false
    /// The member says GOAWAY once its last stream has ended.
    var isLeaving = false
    var limit = 0
    /// Something was accepted on it.
    var isProven = false
    /// The oldest PING without an answer.
    var pingedAt: Instant?
    /// The oldest request since the last answer; nil: everything was answered.
    var askedAt: Instant?
    /// How it fails, and since when; nil: it does not.
    var death: (kind: Death, at: Instant)?
    /// Streams opened so far.
    var streamCount: UInt32 = 0
    /// The open ones, by delivery.
    var streams: [DeliveryID: OpenStream] = [:]

    enum Death {
        /// Nothing is heard of the peer any more.
        case silent
        /// It answers PINGs, and no request.
        case answersPingsOnly
    }

    /// Whether no request is answered on it any more.
    func isDead(at now: Instant) -> Bool { death.map { $0.at <= now } ?? false }

    /// Whether nothing at all is heard of it any more.
    func isSilent(at now: Instant) -> Bool { isDead(at: now) && death?.kind == .silent }

    struct OpenStream {
        var number: UInt32
        var event: Int32
        var sentAt: Instant
    }
}
