import APNsRules
public import Vocabulary

/// A record that came from Kafka: what it is, and what the engine gets of it.
///
/// An object, because it is large and is looked at all the time: who copies a delivery, or takes
/// the record out of it, counts one reference instead of twenty.
public final class Arrival: Sendable {
    /// All that the engine looks at.
    ///
    /// First, so that the caches have it when they have the beginning.
    let facts: ArrivalFacts
    public let record: Record
    /// Only valid if `isEvent`; not optional, because to read one field of an optional the compiler
    /// copies all of them.
    public let content: Event
    /// How the event's request names the app; see `APNsTopicRule.topic(of:)`.
    public let topic: APNsTopic
    private let rejected: RejectedEvent?

    fileprivate init(
        _ record: consuming Record,
        _ content: consuming Event,
        _ topic: consuming APNsTopic,
        invalid: consuming InvalidEvent?,
        _ facts: consuming ArrivalFacts
    ) {
        self.facts = facts
        self.record = record
        self.content = content
        self.topic = topic
        rejected = invalid.map(RejectedEvent.init)
    }

    /// What could be read of a record that is not a valid event.
    public var invalid: InvalidEvent? { rejected?.event }

    /// False for a record that is not a valid event.
    public var isEvent: Bool { facts.kind == .event }

    public var event: Event? { isEvent ? content : nil }

    /// What the ranges of an event point into.
    ///
    /// Not the record's own, of another module: the record would be copied to call it.
    public var eventBytes: [UInt8] { record.decodedValue ?? record.valueAndKey }

    /// The event's own time, if it could be read.
    public var occurredAt: Timestamp? { invalid.map(\.occurredAt) ?? content.occurredAt }

    public var receivedAt: Moment { facts.receivedAt }

    /// The route on which an event is sent; nil for what is never sent.
    public var route: Route? { facts.route }

    /// What was tried in earlier rounds; nil for an event that comes from its source.
    public var history: RetryHistory? { facts.history }

    /// It comes out of a retry topic.
    public var isRetry: Bool { facts.isRetry }

    /// The source's place in the configuration; a retry topic's is its source's.
    public var source: Int { facts.source }

    /// In the first round.
    public var firstReceivedAt: Timestamp {
        facts.history?.receivedAt ?? facts.receivedAt.timestamp
    }
}

/// In an object of its own, because it is large and few are.
private final class RejectedEvent: Sendable {
    let event: InvalidEvent

    init(_ event: InvalidEvent) {
        self.event = event
    }
}

/// What decisions about a record depend on: no token and no payload.
///
/// The engine reads nothing else, so its inputs can be written down and played again.
struct ArrivalFacts: Sendable {
    enum Kind: UInt8, Sendable {
        case event
        case invalid
        case tombstone
    }

    let partition: PartitionID
    let offset: Offset
    /// Of the record in Kafka.
    let fingerprint: UInt32
    let byteCount: Int
    /// The source topic's place in the configuration; a retry topic's is its source's.
    let source: Int
    let kind: Kind
    let receivedAt: Moment
    private let rare: RareFacts?
    // Of a valid event only.
    var isBroadcast = false
    var pushType = PushType.alert
    /// Nil for an event that no credential covers.
    var route: Route?
    /// Of what has a route.
    var names: DeliveryNames?
    /// What the process has against the token: since when it is dead, or `SuppressionList.noted`.
    var deadSince: Timestamp?
    /// When the app last reported the token.
    var tokenRegisteredAt: Timestamp?
    /// Epoch seconds; 0 and nil: never.
    var expiration: Int64?
    /// When the event is older than `limits.event_age` allows; nil: never.
    var tooOldAt: Timestamp?
    /// Of the `collapse_id`.
    var collapse: KeyedHash?
    /// The rate limit that the event falls under, by its place in the configuration.
    var rateLimit: Int?

    /// What was tried in earlier rounds; nil for an event that comes from its source.
    var history: RetryHistory? { rare?.history }

    var isRetry: Bool { rare?.history != nil }

    /// Streams opened in earlier rounds.
    var earlierAttempts: Int { rare?.history?.attempts ?? 0 }

    /// The schema that has to be fetched before more can be said.
    var awaitedSchema: SchemaReference? { rare?.awaitedSchema }

    /// Why the record is not a valid event.
    var invalidReason: LocalReason? { rare?.invalidReason }

    @inline(__always)
    init(
        partition: PartitionID,
        offset: Offset,
        fingerprint: UInt32,
        byteCount: Int,
        source: Int,
        kind: Kind,
        receivedAt: Moment,
        history: RetryHistory? = nil,
        awaitedSchema: SchemaReference? = nil,
        invalidReason: LocalReason? = nil
    ) {
        self.partition = partition
        self.offset = offset
        self.fingerprint = fingerprint
        self.byteCount = byteCount
        self.source = source
        self.kind = kind
        self.receivedAt = receivedAt
        rare = RareFacts.kept(history, awaitedSchema, invalidReason)
    }

    @inline(__always)
    func isExpired(at timestamp: Timestamp) -> Bool {
        Event.isOver(expiration, at: timestamp) || isTooOld(at: timestamp)
    }

    @inline(__always)
    private func isTooOld(at timestamp: Timestamp) -> Bool {
        if let tooOldAt { tooOldAt <= timestamp } else { false }
    }

    /// Why an event is over that is.
    func expiry(at timestamp: Timestamp) -> LocalReason {
        Event.isOver(expiration, at: timestamp) ? .expired : .eventTooOld
    }

    /// Whether the app reported the token after APNs had called it dead, if it did.
    @inline(__always)
    func isRegistered(after unregisteredAt: Timestamp) -> Bool {
        unregisteredAt == SuppressionList.noted
            || tokenRegisteredAt.map { $0 > unregisteredAt } ?? false
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

extension APNsEnvironment {
    /// Read where it is: `==` of an enum of another module is a call through a witness table.
    @inline(__always)
    var isProduction: Bool {
        if case .production = self { true } else { false }
    }
}

/// A delivery's names in the tables of the engine.
struct DeliveryNames: Hashable, Sendable {
    /// Of the device's line, or of the channel's, which is in no table of tokens.
    let target: KeyedHash
    let notification: KeyedHash
}

/// Of a record that comes out of a retry topic, names a schema that is not known, or is not an
/// event.
///
/// Apart, because few are.
private final class RareFacts: Sendable {
    let history: RetryHistory?
    let awaitedSchema: SchemaReference?
    let invalidReason: LocalReason?

    private init(
        _ history: RetryHistory?,
        _ awaitedSchema: SchemaReference?,
        _ invalidReason: LocalReason?
    ) {
        self.history = history
        self.awaitedSchema = awaitedSchema
        self.invalidReason = invalidReason
    }

    /// Nil when there is nothing to keep.
    @inline(__always)
    static func kept(
        _ history: RetryHistory?,
        _ schema: SchemaReference?,
        _ invalidReason: LocalReason?
    ) -> RareFacts? {
        if case .none = history, schema == nil, invalidReason == nil { return nil }
        return RareFacts(history, schema, invalidReason)
    }
}

/// Turns a decoded record into what the engine gets: by whom it is sent, the names of its device
/// and notification, the rate limit that it falls under.
///
/// It depends on the configuration only, and on the process's list of dead tokens, which it asks.
public struct ArrivalReader: Sendable {
    private let routing: CredentialRouting
    private let rateLimits: [RateLimit]
    private let key: HashKey
    private let suppressesUnregistered: Bool
    private let eventAge: Duration?

    public init(_ settings: EngineSettings) {
        routing = settings.routing
        rateLimits = settings.rateLimits
        key = settings.hygiene.hashKey
        suppressesUnregistered = settings.hygiene.suppressesUnregistered
        eventAge = settings.eventAge
    }

    /// Reads a record that has arrived.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - decoded: What it turned out to be.
    ///   - fingerprint: Its fingerprint in Kafka; nil: the record is as it was read.
    ///   - history: Its earlier rounds, when it comes out of a retry topic.
    ///   - source: The source topic's place in the configuration.
    ///   - now: This turn's moment.
    ///   - deadSince: What the process's list of dead tokens has against a token.
    /// - Returns: what the engine gets.
    public func read(
        _ record: consuming Record,
        _ decoded: consuming DecodedRecord,
        fingerprint: UInt32? = nil,
        history: RetryHistory? = nil,
        source: Int = 0,
        now: Moment,
        deadSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Arrival {
        let common = Common(
            fingerprint: fingerprint ?? record.fingerprint,
            history: history,
            source: source,
            receivedAt: now
        )
        switch consume decoded {
        case .event(let event):
            return read(record, event, common, awaiting: nil, deadSince)
        case .awaitingSchema(let event, let schema):
            return read(record, event, common, awaiting: schema, deadSince)
        case .invalid(let invalid):
            let facts = common.facts(of: record, .invalid, because: invalid.reason)
            return Arrival(record, Self.noEvent, Self.noTopic, invalid: invalid, facts)
        case .unreadable(let invalid, let schema):
            let facts = common.facts(
                of: record,
                .invalid,
                awaiting: schema,
                because: invalid.reason
            )
            return Arrival(record, Self.noEvent, Self.noTopic, invalid: invalid, facts)
        case .tombstone:
            let facts = common.facts(of: record, .tombstone)
            return Arrival(record, Self.noEvent, Self.noTopic, invalid: nil, facts)
        }
    }

    /// Reads a record again once its schema has arrived.
    public func read(
        again arrival: Arrival,
        _ decoded: consuming DecodedRecord,
        deadSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Arrival {
        read(
            arrival.record,
            decoded,
            fingerprint: arrival.facts.fingerprint,
            history: arrival.history,
            source: arrival.facts.source,
            now: arrival.receivedAt,
            deadSince: deadSince
        )
    }

    /// What is known of a record whatever it turns out to be.
    private struct Common {
        let fingerprint: UInt32
        let history: RetryHistory?
        let source: Int
        let receivedAt: Moment

        /// From when on an event ages: its first record's timestamp, or when that was read.
        ///
        /// A writer chooses the timestamp: it lies neither in the future nor before 1970.
        func firstWritten(_ record: borrowing Record) -> Timestamp {
            let now = receivedAt.timestamp
            let written = record.timestamp ?? history?.receivedAt ?? now
            return max(Timestamp(milliseconds: 0), min(written, now))
        }

        @inline(__always)
        func facts(
            of record: borrowing Record,
            _ kind: ArrivalFacts.Kind,
            awaiting schema: SchemaReference? = nil,
            because invalidReason: LocalReason? = nil
        ) -> ArrivalFacts {
            ArrivalFacts(
                partition: record.partition,
                offset: record.offset,
                fingerprint: fingerprint,
                byteCount: record.byteCount,
                source: source,
                kind: kind,
                receivedAt: receivedAt,
                history: history,
                awaitedSchema: schema,
                invalidReason: invalidReason
            )
        }
    }

    @inline(__always)
    private func read(
        _ record: consuming Record,
        _ event: consuming Event,
        _ common: Common,
        awaiting schema: SchemaReference?,
        _ deadSince: (KeyedHash) -> Timestamp?
    ) -> Arrival {
        let topic = APNsTopicRule.topic(of: event)
        var facts = common.facts(of: record, .event, awaiting: schema)
        facts.isBroadcast = event.isBroadcast
        facts.pushType = event.pushType
        facts.tokenRegisteredAt = event.tokenRegisteredAt
        facts.expiration = event.expiration
        if let eventAge { facts.tooOldAt = common.firstWritten(record).advanced(by: eventAge) }
        if let collapseID = event.collapseID { facts.collapse = key.hash(of: collapseID) }
        facts.rateLimit = RateLimit.index(in: rateLimits, for: event.destination, event.pushType)
        let choice = routing.route(
            for: event.destination,
            pushType: event.pushType,
            environment: event.environment
        )
        if let choice {
            facts.route = Route(credential: choice.credential, environment: choice.environment)
            let names = names(of: event, topic, choice.environment)
            facts.names = names
            if suppressesUnregistered, !event.isBroadcast {
                facts.deadSince = deadSince(names.target)
            }
        }
        return Arrival(record, event, topic, invalid: nil, facts)
    }

    private func names(
        of event: borrowing Event,
        _ topic: APNsTopic,
        _ environment: APNsEnvironment
    ) -> DeliveryNames {
        switch event.target {
        case .device(let token):
            let (target, notification) = key.hashes(
                ofEvent: event.id,
                token,
                topic: topic,
                environment: environment
            )
            return DeliveryNames(target: target, notification: notification)
        case .channel(let channel):
            return DeliveryNames(
                target: key.hash(of: channel, environment: environment),
                notification: key.hash(ofEvent: event.id, channel)
            )
        }
    }

    fileprivate static let noTopic = APNsTopic("")
    fileprivate static let noEvent = Event(
        id: "",
        deviceToken: DeviceToken(checked: "00".utf8.span),
        destination: .bundleID(""),
        pushType: .alert,
        payload: 0..<0
    )
}

extension Arrival {
    /// What is in a slot that is free.
    static func ofNothing() -> Arrival {
        known(
            by: ArrivalFacts(
                partition: PartitionID(index: 0),
                offset: Offset(0),
                fingerprint: 0,
                byteCount: 0,
                source: 0,
                kind: .tombstone,
                receivedAt: Moment(
                    instant: Instant(nanoseconds: 0),
                    timestamp: Timestamp(milliseconds: 0)
                )
            )
        )
    }

    /// A record of which only what the engine gets is known.
    static func known(by facts: ArrivalFacts) -> Arrival {
        let record = Record(
            partition: facts.partition,
            offset: facts.offset,
            timestamp: nil,
            key: nil,
            value: nil
        )
        return Arrival(record, ArrivalReader.noEvent, ArrivalReader.noTopic, invalid: nil, facts)
    }
}

extension EngineSettings {
    /// Whether a retry topic may take the event; a broadcast never goes there: by then another
    /// process may have sent a newer one.
    func canPostpone(_ arrival: Arrival) -> Bool {
        canPostpone && !arrival.facts.isBroadcast
    }
}
