import Delivery
import Vocabulary

/// One process of the service: a real engine, and the state that its shard would have.
final class Member {
    let id: MemberID
    /// The list of its process.
    let tokens: TokenList
    var engine: DeliveryEngine
    var connections: [ConnectionID: SimulatedConnection] = [:]
    /// Its read positions, in the order of the partitions.
    var cursors: [Cursor] = []
    /// The same when the commit was decided that waits for the tally; nil: none does.
    var heldCursors: [Cursor]?
    /// The index of the cursor that is read first in the next turn.
    var firstCursor = 0
    /// The time of the planned turn; an earlier plan replaces a later one.
    var nextTurn: Instant?
    var lastTurn = Instant(nanoseconds: -1_000_000_000)
    /// The turn before the last; the last turn's actions were decided since then.
    var turnBefore = Instant(nanoseconds: -1_000_000_000)
    /// The member hangs until this time.
    var stalledUntil = Instant(nanoseconds: 0)
    var isLeaving = false
    /// Group events that it has not handled; a member that hangs answers none.
    var groupEvents: [GroupEvent] = []
    /// The group generation in which its partitions were assigned.
    var generation = 0
    /// Since when a commit is due: the last one failed, or there has been none yet.
    var uncommitted: [PartitionID: Instant] = [:]
    /// Partitions without a stored offset that this assignment has read or found empty.
    var placed: Set<PartitionID> = []
    /// All partitions that it has ever had.
    var owned: Set<PartitionID> = []
    /// The number of cuts of their logs that it knows.
    var knownCuts: [PartitionID: Int] = [:]
    /// The offsets that the metadata marked as settled at the start of the assignment.
    var settledBefore: [PartitionID: SettledOffsets] = [:]
    /// Partitions whose stored metadata was tampered with.
    var forged: Set<PartitionID> = []
    /// The same, for recipients of records that were not settled; by offset.
    var recipientsBefore: [PartitionID: [Int64: MarkedRecipients]] = [:]
    /// When it started reading the present assignment; nil: none.
    var assignedAt: Instant?
    /// The number of its producer or transaction.
    var producer = 0
    /// The index of its present transaction in the world's list.
    var transaction: Int?
    /// The last transactional call, and the number of calls so far.
    var call: TransactionalCall?
    var callNumber = 0
    /// Records whose batch was refused; each is sent on its own.
    var singles: Set<PublicationTag> = []
    /// The most token statuses that waited for their topic since its last turn.
    var mostStatusWaits = 0
    /// Outcomes on their way to Kafka.
    var publishing: [DeliveryID: Pending] = [:]
    /// By device: the last delivery that ended with a status of its token.
    var lastStatuses: [Int32: DeliveryID] = [:]
    /// By delivery: the streams opened for it, and those that were not processed.
    var streams: [DeliveryID: StreamCount] = [:]
    /// Recipients and events to be retried: the streams of the round that ended.
    var streamsBefore: [Reading: StreamCount] = [:]
    /// The last delivery of each recipient that was sent.
    var recipientsSent: [Reading: DeliveryID] = [:]
    /// Deliveries whose retry record was refused, so that they end.
    var refusedDeferrals: Set<DeliveryID> = []
    /// Recipients whose retry record was refused: they end once taken from the record again.
    var refusedRecipients: Set<Reading> = []
    var order = ArrivalOrder()
    /// What it knows of the orders for campaigns.
    var orders = CampaignOrders() {
        didSet { ordersOfTurn.append(orders) }
    }
    /// What it has known of them since its last turn.
    var ordersOfTurn: [CampaignOrders] = []
    /// By campaign that has an order: how the member obeys it.
    var paces: [UInt8: PaceWatch] = [:]
    /// Its part of each pace; the engine's at its start.
    var paceShare = 1.0
    /// By device: when an event last arrived for it while another one was in hand.
    var crowdedAt: [Int32: Instant] = [:]
    /// Whether it gives up its partitions, or has lost them.
    var isGivingUp = false
    /// The retry records in flight, and when each may be sent.
    var notBefore: [RecordPlace: Instant] = [:]
    /// The number of events in flight by device, then of those of the first source.
    var load: [Int32: Int] = [:]
    var urgentLoad = 0
    /// By route.
    var urgent = Array(repeating: UrgentQueue(), count: Applications.credentialCount * 2)
    /// By device: since when its token is dead, as APNs told this member, and when it did.
    var deadTokens: [Int32: (since: Timestamp, toldAt: Instant)] = [:]
    /// By event identity: the places of its records that have neither ended nor been deferred.
    var inHand: [Int32: Set<RecordPlace>] = [:]
    /// The identities of the events that APNs accepted from it.
    var accepted: Set<Int32> = []
    /// By route.
    var fuses = Array(repeating: FuseWatch(), count: Applications.credentialCount * 2)
    var knownSchemas: Set<SchemaReference> = []
    /// The timeouts of its streams, oldest first.
    var timeLimits: ArraySlice<(stream: StreamKey, due: Instant)> = []
    /// By route.
    var breakers = Array(repeating: BreakerWatch(), count: Applications.credentialCount * 2)
    /// The broadcasts without an outcome by channel, in order of arrival.
    var broadcasts: [Int32: [RecordPlace]] = [:]
    /// The last broadcast that arrived for each channel, whatever its outcome.
    var newestBroadcasts: [Int32: RecordPlace] = [:]
    /// The number of open streams by device.
    var streamsByDevice: [Int32: Int] = [:]
    /// By credential: when APNs stops accepting its provider token.
    var tokenExpiries = Array(
        repeating: Instant(nanoseconds: .max),
        count: Applications.credentialCount
    )

    /// By credential: when another member of its process learned that the key is revoked.
    ///
    /// Only set if this member was using the key at that time.
    var revokedAt: [Int: Instant] = [:]

    init(id: MemberID, engine: DeliveryEngine, tokens: TokenList) {
        self.id = id
        self.tokens = tokens
        self.engine = engine
    }

    /// The engine's delivery; reading it as `engine.delivery` would copy the engine.
    func delivery(_ id: DeliveryID) -> Delivery? {
        engine.lend { $0.delivery(id) }
    }

    /// The index of the partition's cursor; nil: the member does not have the partition.
    func cursorIndex(of partition: PartitionID) -> Int? {
        let cursors = cursors
        return cursors.indices.first { cursors[$0].partition == partition }
    }

    /// The read position in one assigned partition, and how far it is settled.
    struct Cursor {
        let partition: PartitionID
        var position: Int64
        var isPaused = false
        var start: Int64
        /// The group's committed offset at the start of the assignment.
        var stored: Int64
        /// For each offset from `start` to `position`: whether it is settled, as far as the member
        /// knows.
        var settled: [Bool] = []
        /// All offsets before this one are settled.
        var frontier: Int64
        /// The offset at which the log was cut; the record before it is not known.
        var cutEnd: Int64?
        /// The end that was reported last; each end is reported once.
        var toldEnd: Int64?
        /// The number of cuts of the log known to the member's commits.
        var cuts = 0
        /// The number of cuts that its fetches have noticed.
        var cutsMet = 0
        /// The record before its start, until something has been read.
        var mark: RecordMark?
        /// The last record known to its member, until it has been compared.
        var lastKnown: RecordMark?
        /// Whether the log ends before its position, so that the leader is asked for the end.
        var isLost = false
        /// Whether the log was cut, and grew past its position before the member read again.
        var isOvertaken = false
        /// When it restarted within the same assignment.
        var restartedAt: Instant?
        /// By offset, the records with recipients that are not settled.
        var recipients: [Int64: MarkedRecipients] = [:]
    }

    enum GroupEvent {
        case assigned([PartitionID], generation: Int)
        case revoked
        case lost
    }

    struct StreamCount {
        var opened = 0
        var unprocessed = 0
        /// The refused streams since one was last processed.
        var refusals = 0
        /// When the first and the last of them were refused.
        var refusedSince = Instant(nanoseconds: 0)
        var refusedAt = Instant(nanoseconds: 0)
    }

    /// An outcome on its way to Kafka.
    struct Pending {
        /// With several recipients, the event that they are of.
        let event: Int32
        /// The recipients that it reports, by their index in the record; empty: the whole record.
        let recipients: [(index: Int, event: Int32)]
        /// Only with recipients.
        let fingerprint: UInt32
        let partition: PartitionID
        let offset: Int64
        /// When the record arrived; possibly in an earlier assignment.
        let arrivedAt: Instant
        /// The records not yet acknowledged to the member.
        var awaited: Publications
        /// The records of this outcome that are not yet in Kafka.
        var unwritten: Publications

        /// The events that it reports.
        var events: [Int32] { recipients.isEmpty ? [event] : recipients.map(\.event) }

        /// The events that it reports, with their places.
        var places: [(event: Int32, place: RecordPlace)] {
            guard !recipients.isEmpty else {
                return [(event, RecordPlace(partition: partition, offset: offset))]
            }
            return recipients.map { recipient in
                let place = RecordPlace(
                    partition: partition,
                    offset: offset,
                    recipient: recipient.index
                )
                return (recipient.event, place)
            }
        }

        /// The reading that a place stands for.
        func reading(of place: RecordPlace) -> Reading {
            Reading(place: place, arrivedAt: arrivedAt)
        }
    }
}

extension DeliveryEngine {
    /// Gives read access to the engine.
    ///
    /// It is `mutating` although it changes nothing: otherwise, passing the property of a class to
    /// a function of another module would copy the whole engine.
    mutating func lend<Result>(to look: (borrowing DeliveryEngine) -> Result) -> Result {
        look(self)
    }
}

/// A record's partition and offset, or one of its recipients.
struct RecordPlace: Hashable, Sendable {
    let partition: PartitionID
    let offset: Int64
    /// The recipient's index in the record; -1: the record.
    let recipient: Int32

    init(partition: PartitionID, offset: Int64, recipient: Int? = nil) {
        self.partition = partition
        self.offset = offset
        self.recipient = Int32(recipient ?? -1)
    }

    init(_ arrival: Arrival) {
        self.init(of: arrival.record, recipient: arrival.recipient)
    }

    init(of record: Record, recipient: Int? = nil) {
        self.init(
            partition: record.partition,
            offset: record.offset.rawValue,
            recipient: recipient
        )
    }
}

/// One reading of a record, or of one of its recipients.
///
/// A partition that is taken back is read again, while earlier readings of its records are in hand.
struct Reading: Hashable, Sendable {
    let place: RecordPlace
    let arrivedAt: Instant

    init(place: RecordPlace, arrivedAt: Instant) {
        self.place = place
        self.arrivedAt = arrivedAt
    }

    init(_ arrival: Arrival) {
        self.init(place: RecordPlace(arrival), arrivedAt: arrival.receivedAt.instant)
    }
}

/// A connection as the peer sees it.
struct SimulatedConnection {
    let route: Route
    var isOpen = false
    var isDraining = false
    /// Whether the member closes it with GOAWAY after its last stream.
    var isLeaving = false
    var limit = 0
    /// Whether APNs has accepted a request on it.
    var isProven = false
    /// When the oldest unanswered PING was sent.
    var pingedAt: Instant?
    /// When the oldest request since the last answer was sent; nil: all are answered.
    var askedAt: Instant?
    /// How the connection fails, and from when on; nil: it does not.
    var death: (kind: Death, at: Instant)?
    /// The number of streams opened so far.
    var streamCount: UInt32 = 0
    /// The open streams by delivery.
    var streams: [DeliveryID: OpenStream] = [:]

    enum Death {
        /// The peer is silent.
        case silent
        /// The peer answers PINGs, but no requests.
        case answersPingsOnly
    }

    /// Whether requests are no longer answered on it.
    func isDead(at now: Instant) -> Bool { death.map { $0.at <= now } ?? false }

    /// Whether the peer is completely silent on it.
    func isSilent(at now: Instant) -> Bool { isDead(at: now) && death?.kind == .silent }

    struct OpenStream {
        var number: UInt32
        var event: Int32
        var sentAt: Instant
    }
}
