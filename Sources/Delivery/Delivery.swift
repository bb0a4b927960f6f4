public import Vocabulary

/// The life of one event over all attempts, from arrival to the acknowledged outcome.
public struct Delivery: Sendable {
    /// Where a delivery waits, and for what.
    ///
    /// The engine's `move` is the only way from one to the next.
    public enum Place: Hashable, Sendable {
        /// It has just arrived, or its wait or its stream has just ended: the input that says so
        /// decides what is next. Next: any.
        case undecided
        /// The schema that its record names is being fetched. Next: `undecided`, `publishing`.
        case awaitingSchema
        /// A retry record whose time has not come; its partition stands still for it.
        /// Next: `undecided`.
        case held
        /// Behind another of its device. Next: `waiting`, `publishing`.
        case inLine
        /// In the queue of its app's rate limit. Next: `inLane`, `publishing`.
        case atRate
        /// In its route's queue. Next: `onStream`, `publishing`.
        case inLane
        /// A stream is open. Next: `undecided`.
        case onStream(ConnectionID)
        /// The next attempt is timed. Next: `atRate`, `inLane`, `publishing`.
        case waiting
        /// The outcome is decided, or that there is none yet (`retry`); these records are not
        /// acknowledged yet. Next: `publishing` (fewer records, or others). Then the delivery ends.
        case publishing(Publications)
    }

    // In the order of how often they are looked at: by the time that an answer comes, a delivery
    // has left the caches, and most inputs then fetch its beginning only.
    public internal(set) var arrival: Arrival
    let ledgerEntry: OffsetLedger.Entry
    /// What was last heard against its token.
    var deadSince: Timestamp?
    /// It has a place in its device's line; false before, and once it has left.
    var isInLine = false
    /// The endpoint answered one of its attempts with a failure of its own, or not at all.
    var hasFailed = false
    var isProviderTokenRefreshed = false
    /// Streams given back unprocessed, in a row; no more are counted than the number holds.
    var refusals: UInt8 = 0
    public internal(set) var place = Place.undecided
    /// When the present or last stream was asked for.
    public internal(set) var sentAt: Instant?
    /// When it came to the end of its route's queue.
    var queuedAt: Instant?
    /// Streams opened and not given back unprocessed, in this round.
    public internal(set) var attempts = 0
    /// When APNs answered last, whatever it said.
    public internal(set) var answeredAt: Instant?
    /// Decided when the place becomes `publishing`.
    public internal(set) var conclusion: Conclusion?
    var firstFailureAt: Instant?
}

extension Delivery.Place {
    /// Whether a delivery may go from here to there; the cases say why.
    func mayBecome(_ next: Delivery.Place) -> Bool {
        switch (next, self) {
        case (.undecided, .awaitingSchema), (.undecided, .held), (.undecided, .onStream): true
        case (.awaitingSchema, .undecided), (.held, .undecided), (.inLine, .undecided): true
        case (.waiting, .undecided), (.waiting, .inLine): true
        case (.atRate, .undecided), (.atRate, .waiting): true
        case (.inLane, .undecided), (.inLane, .waiting), (.inLane, .atRate): true
        case (.onStream, .inLane): true
        case (.publishing, .held), (.publishing, .onStream): false
        case (.publishing, _): true
        default: false
        }
    }

    /// Whether it has neither a stream nor an outcome.
    var isBeforeSending: Bool {
        switch self {
        case .undecided, .awaitingSchema, .held, .inLine, .atRate, .inLane, .waiting: true
        case .onStream, .publishing: false
        }
    }
}

extension Delivery {
    public var record: Record { arrival.record }
    public var event: Event? { arrival.event }
    public var receivedAt: Moment { arrival.receivedAt }
    public var history: RetryHistory? { arrival.history }
    /// By whom it is sent; nil for what is never sent.
    public var route: Route? { arrival.route }

    var facts: ArrivalFacts { arrival.facts }

    /// Its device, or its channel, while it has a place in that line.
    var line: KeyedHash? { isInLine ? facts.names?.target : nil }

    /// Of a delivery that is on its way to a stream, or on one.
    var routeInUse: Route {
        guard let route = facts.route else {
            preconditionFailure("a delivery without a route is sent")
        }
        return route
    }

    var settledRecord: SettledRecord {
        SettledRecord(partition: facts.partition, entry: ledgerEntry)
    }
}

/// Where a notification goes: a credential, by its place in the configuration, in an environment.
///
/// Each route of a shard has connections of its own, so a connection never mixes teams, keys or
/// environments.
public struct Route: Hashable, Sendable {
    /// Two routes for each credential, production's first.
    public let index: Int

    public init(index: Int) {
        self.index = index
    }

    public init(credential: Int, environment: APNsEnvironment) {
        index = credential * 2 + (environment.isProduction ? 0 : 1)
    }

    public var credential: Int { index / 2 }
    public var environment: APNsEnvironment { index.isMultiple(of: 2) ? .production : .sandbox }

    /// Every route of so many credentials, in the order of `index`.
    public static func all(credentialCount: Int) -> [Route] {
        (0..<credentialCount * 2).map(Route.init(index:))
    }
}

/// What an attempt died of, or what keeps an event from being attempted; becomes the outcome's
/// reason when there is no next attempt.
struct AttemptFailure: Hashable, Sendable {
    var reason: Reason
    var httpStatus: Int?

    static let streamBroken = AttemptFailure(reason: .local(.streamBroken))
    static let requestTimeout = AttemptFailure(reason: .local(.requestTimeout))
    static let schemaUnavailable = AttemptFailure(reason: .local(.schemaUnavailable))
    static let routeCongested = AttemptFailure(reason: .local(.routeCongested))
    static let deviceCongested = AttemptFailure(reason: .local(.deviceCongested))
}

/// A delivery and one of its records, as the number that a delivery report carries back.
public struct PublicationTag: Hashable, Sendable {
    public let delivery: DeliveryID
    public let publication: Publication

    public init(_ delivery: DeliveryID, _ publication: Publication) {
        self.delivery = delivery
        self.publication = publication
    }

    /// Reads what `rawValue` wrote; nil for any other number.
    public init?(rawValue: UInt64) {
        let number = UInt8(rawValue >> Self.slotBitCount & Self.publicationMask)
        guard let publication = Publication(rawValue: number) else { return nil }
        self.publication = publication
        delivery = DeliveryID(rawValue: rawValue & ~(Self.publicationMask << Self.slotBitCount))
    }

    /// The publication stands between slot and generation.
    public var rawValue: UInt64 {
        delivery.rawValue | UInt64(publication.rawValue) << Self.slotBitCount
    }

    /// Slots have 32 bits in a `DeliveryID`; `DeliveryTable` leaves the two highest to the tag.
    static let slotBitCount: UInt64 = 30
    private static let publicationMask: UInt64 = 3
}

extension APNsEnvironment {
    /// Read where it is: `==` of an enum of another module is a call through a witness table.
    @inline(__always)
    var isProduction: Bool {
        if case .production = self { true } else { false }
    }
}

extension DeliveryID {
    /// The slot, as arrays count.
    @inline(__always)
    var index: Int { Int(slot) }
}

/// The records that an outcome can consist of, and the one that stands for its absence.
public enum Publication: UInt8, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus
    case deadLetter
    /// The event itself, to be tried again later; never together with the others.
    case retry
}

/// A set of them; every event has one, so it is no `Set`, which allocates.
public struct Publications: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public init(_ publication: Publication) {
        rawValue = 1 << publication.rawValue
    }

    public static let outcome = Publications(.outcome as Publication)
    public static let tokenStatus = Publications(.tokenStatus as Publication)
    public static let deadLetter = Publications(.deadLetter as Publication)
    public static let retry = Publications(.retry as Publication)

    public func contains(_ publication: Publication) -> Bool {
        rawValue & 1 << publication.rawValue != 0
    }

    public mutating func remove(_ publication: Publication) {
        self = Publications(rawValue: rawValue & ~(1 << publication.rawValue))
    }
}
