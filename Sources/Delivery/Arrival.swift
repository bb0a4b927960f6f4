import APNsRules
public import Vocabulary

/// A record from Kafka, decoded, with the facts that the engine decides on.
///
/// A class, because it is large and read often: copying a delivery, or taking the record out of it,
/// then updates one reference count instead of twenty.
public final class Arrival: Sendable {
    /// Everything that the engine reads.
    ///
    /// First, so that fetching the start of the object brings it into the CPU's caches.
    let facts: ArrivalFacts
    public let record: Record
    /// Valid only if `isEvent`.
    ///
    /// Not optional, because the compiler copies a whole optional to read one of its fields.
    public let content: Event
    /// The APNs topic of the event's request; see `APNsTopicRule.topic(of:)`.
    public let topic: APNsTopic
    /// The event of a record with `recipients`, also in the arrival of each of them.
    public let fanOut: FanOut?
    private let rejected: RejectedEvent?

    fileprivate init(
        _ record: consuming Record,
        _ content: consuming Event,
        _ topic: consuming APNsTopic,
        of fanOut: consuming FanOut? = nil,
        invalid: consuming InvalidEvent?,
        _ facts: consuming ArrivalFacts
    ) {
        self.facts = facts
        self.record = record
        self.content = content
        self.topic = topic
        self.fanOut = fanOut
        rejected = invalid.map(RejectedEvent.init)
    }

    /// The readable fields of a record that is not a valid event; nil for an event.
    public var invalid: InvalidEvent? { rejected?.event }

    /// False for a record that is not a valid event.
    public var isEvent: Bool { facts.kind == .event }

    public var event: Event? { isEvent ? content : nil }

    /// The bytes that the ranges of the event point into.
    ///
    /// Repeats `Record.eventBytes`: calling a getter in another module would copy the record.
    public var eventBytes: [UInt8] { record.decodedValue ?? record.valueAndKey }

    /// The event's own time, if it could be read.
    public var occurredAt: Timestamp? { invalid.map(\.occurredAt) ?? content.occurredAt }

    public var receivedAt: Moment { facts.receivedAt }

    /// The route on which the event is sent; nil for a record that is never sent.
    public var route: Route? { facts.route }

    /// The event's earlier rounds; nil for a record of a source topic.
    public var history: RetryHistory? { facts.history }

    /// The recipient's index among those of the record; nil: the arrival is a whole record.
    public var recipient: Int? { facts.recipient }

    /// The record's value with only some of its recipients; none of them means all.
    public func value(keeping recipients: [Int]) -> [UInt8]? {
        guard let fanOut, !recipients.isEmpty, recipients.count < fanOut.recipients.count
        else { return record.value }
        return fanOut.value(keeping: recipients, of: record)
    }

    /// Whether the record comes from a retry topic.
    public var isRetry: Bool { facts.isRetry }

    /// The index of the source topic in the configuration; a retry topic has the index of its
    /// source.
    public var source: Int { facts.source }

    /// When the event arrived in its first round.
    public var firstReceivedAt: Timestamp {
        facts.history?.receivedAt ?? facts.receivedAt.timestamp
    }
}

/// A separate object, because it is large and rarely needed.
private final class RejectedEvent: Sendable {
    let event: InvalidEvent

    init(_ event: InvalidEvent) {
        self.event = event
    }
}

/// The facts that decisions about a record depend on; contains no device token and no payload.
///
/// The engine reads nothing else, so its inputs can be logged and replayed.
struct ArrivalFacts: Sendable {
    enum Kind: UInt8, Sendable {
        case event
        case invalid
        case tombstone
        /// An event with recipients, which become arrivals of their own.
        case fanOut
    }

    let partition: PartitionID
    let offset: Offset
    /// The fingerprint of the record in Kafka.
    let fingerprint: UInt32
    let byteCount: Int
    /// The index of the source topic in the configuration; a retry topic has the index of its
    /// source.
    let source: Int
    let kind: Kind
    let receivedAt: Moment
    private let rare: RareFacts?
    /// -1: it is a whole record.
    private var recipientIndex: Int32 = -1
    /// Whether an earlier recipient of the record has the same token.
    var isRepeated = false
    // The following fields are set for valid events only; of an event with recipients, those that
    // are the same for all of them.
    var isBroadcast = false
    var pushType = PushType.alert
    /// Nil if no credential covers the event.
    var route: Route?
    /// Set if `route` is set.
    var names: DeliveryNames?
    /// What the process knows against the token: since when it is dead, or `SuppressionList.noted`.
    var deadSince: Timestamp?
    /// When the app last reported the token.
    var tokenRegisteredAt: Timestamp?
    /// Epoch seconds; 0 or nil: the event never expires.
    var expiration: Int64?
    /// When the event exceeds `limits.event_age`; nil: there is no limit.
    var tooOldAt: Timestamp?
    /// The hash of the `collapse_id`.
    var collapse: KeyedHash?
    /// The index in the configuration of the rate limit that applies to the event.
    var rateLimit: Int?

    /// The event's earlier rounds; nil for a record of a source topic.
    var history: RetryHistory? { rare?.history }

    var isRetry: Bool { rare?.history != nil }

    /// Streams opened in earlier rounds.
    var earlierAttempts: Int { rare?.history?.attempts ?? 0 }

    /// The schema that must be fetched before the record can be judged.
    var awaitedSchema: SchemaReference? { rare?.awaitedSchema }

    /// Why the record is not a valid event.
    var invalidReason: LocalReason? { rare?.invalidReason }

    /// How many recipients the record has; 0: it is not an event with recipients.
    var recipientCount: Int { rare?.recipientCount ?? 0 }

    /// The hash of the name of the event's campaign.
    var campaign: KeyedHash? { rare?.campaign }

    /// The event is not sent before; nil: at once.
    var notBefore: Timestamp? { rare?.notBefore }

    /// The recipient's index among those of the record; nil: this is a whole record.
    var recipient: Int? {
        get { recipientIndex < 0 ? nil : Int(recipientIndex) }
        set { recipientIndex = Int32(newValue ?? -1) }
    }

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
        invalidReason: LocalReason? = nil,
        recipientCount: Int = 0,
        campaign: KeyedHash? = nil,
        notBefore: Timestamp? = nil
    ) {
        self.partition = partition
        self.offset = offset
        self.fingerprint = fingerprint
        self.byteCount = byteCount
        self.source = source
        self.kind = kind
        self.receivedAt = receivedAt
        rare = RareFacts.kept(
            history,
            awaitedSchema,
            invalidReason,
            recipientCount,
            campaign,
            notBefore
        )
    }

    /// Whether the notification is of use only at once, such as a call: `expiration` is 0.
    ///
    /// For a broadcast, 0 only means that its channel does not store messages.
    var isNowOrNever: Bool { expiration == 0 && !isBroadcast }

    @inline(__always)
    func isExpired(at timestamp: Timestamp) -> Bool {
        Event.isOver(expiration, at: timestamp) || isTooOld(at: timestamp)
    }

    @inline(__always)
    private func isTooOld(at timestamp: Timestamp) -> Bool {
        if let tooOldAt { tooOldAt <= timestamp } else { false }
    }

    /// Why an event has ended that expired or became too old.
    func expiry(at timestamp: Timestamp) -> LocalReason {
        Event.isOver(expiration, at: timestamp) ? .expired : .eventTooOld
    }

    /// Whether the app registered the token again after APNs called it dead.
    @inline(__always)
    func isRegistered(after unregisteredAt: Timestamp) -> Bool {
        unregisteredAt == SuppressionList.noted
            || tokenRegisteredAt.map { $0 > unregisteredAt } ?? false
    }
}

/// A connection pool's key: a credential, by its index in the configuration, and an environment.
///
/// Each route of a shard has its own connections, so a connection never mixes teams, keys or
/// environments.
public struct Route: Hashable, Sendable {
    /// Twice the credential's index for production, plus one for the sandbox.
    public let index: Int

    public init(index: Int) {
        self.index = index
    }

    public init(credential: Int, environment: APNsEnvironment) {
        index = credential * 2 + (environment.isProduction ? 0 : 1)
    }

    public var credential: Int { index / 2 }
    public var environment: APNsEnvironment { index.isMultiple(of: 2) ? .production : .sandbox }

    /// The routes of one credential.
    public static func all(of credential: Int) -> [Route] {
        [Route(index: credential * 2), Route(index: credential * 2 + 1)]
    }

    /// All routes of this many credentials, ordered by `index`.
    public static func all(credentialCount: Int) -> [Route] {
        (0..<credentialCount * 2).map(Route.init(index:))
    }
}

extension APNsEnvironment {
    /// A pattern match, because `==` on an enum of another module calls through a witness table.
    @inline(__always)
    var isProduction: Bool {
        if case .production = self { true } else { false }
    }
}

/// The keys of a delivery in the engine's tables.
struct DeliveryNames: Hashable, Sendable {
    /// The key of the device's line, or of the channel's, which appears in no table of tokens.
    let target: KeyedHash
    let notification: KeyedHash
}

/// Facts that few records have: earlier rounds, an unknown schema, the reason why a record is not a
/// valid event, recipients, a campaign, or a time before which the event is not sent.
///
/// A separate object, to keep `ArrivalFacts` small.
private final class RareFacts: Sendable {
    let history: RetryHistory?
    let awaitedSchema: SchemaReference?
    let invalidReason: LocalReason?
    let recipientCount: Int
    let campaign: KeyedHash?
    let notBefore: Timestamp?

    private init(
        _ history: RetryHistory?,
        _ awaitedSchema: SchemaReference?,
        _ invalidReason: LocalReason?,
        _ recipientCount: Int,
        _ campaign: KeyedHash?,
        _ notBefore: Timestamp?
    ) {
        self.history = history
        self.awaitedSchema = awaitedSchema
        self.invalidReason = invalidReason
        self.recipientCount = recipientCount
        self.campaign = campaign
        self.notBefore = notBefore
    }

    /// Nil if there is nothing to keep.
    @inline(__always)
    static func kept(
        _ history: RetryHistory?,
        _ schema: SchemaReference?,
        _ invalidReason: LocalReason?,
        _ recipientCount: Int,
        _ campaign: KeyedHash?,
        _ notBefore: Timestamp?
    ) -> RareFacts? {
        if case .none = history, schema == nil, invalidReason == nil, recipientCount == 0,
            campaign == nil, notBefore == nil
        {
            return nil
        }
        return RareFacts(
            history,
            schema,
            invalidReason,
            recipientCount,
            campaign,
            notBefore
        )
    }
}

/// Turns a decoded record into an `Arrival`.
///
/// Determines the route, the hashes of device and notification, and the rate limit that applies.
///
/// Depends only on the configuration, and on the process's list of dead tokens, passed as a
/// closure.
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
    ///   - decoded: The result of decoding it.
    ///   - fingerprint: The record's fingerprint in Kafka; nil: computed from `record`.
    ///   - history: The event's earlier rounds, if the record comes from a retry topic.
    ///   - source: The index of the source topic in the configuration.
    ///   - now: This turn's moment.
    ///   - deadSince: Looks a token up in the process's list of dead tokens.
    /// - Returns: the record with its facts.
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
        case .fanOut(let fanOut, let schema):
            return read(record, fanOut, common, awaiting: schema)
        case .invalid(let invalid): return refused(record, invalid, common)
        case .unreadable(let invalid, let schema):
            let facts = common.facts(
                of: record,
                .invalid,
                awaiting: schema,
                because: invalid.reason,
                campaign: invalid.campaign.map(key.hash)
            )
            return Arrival(record, Self.noEvent, Self.noTopic, invalid: invalid, facts)
        case .tombstone:
            let facts = common.facts(of: record, .tombstone)
            return Arrival(record, Self.noEvent, Self.noTopic, invalid: nil, facts)
        }
    }

    /// Reads a record again after its schema arrived.
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

    /// Reads one recipient of a record.
    ///
    /// - Parameters:
    ///   - index: The recipient's index among those of the record.
    ///   - arrival: The record.
    ///   - deadSince: Looks a token up in the process's list of dead tokens.
    /// - Returns: the recipient's event, or why it is invalid, with its facts.
    public func read(
        recipient index: Int,
        of arrival: Arrival,
        deadSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Arrival {
        guard let fanOut = arrival.fanOut else {
            preconditionFailure("the record has no recipients")
        }
        let place = arrival.facts.history?.place(ofRecipient: index)
        switch fanOut.recipient(at: index) {
        case .valid(var event):
            event.recipient = place ?? event.recipient
            return read(event, index, of: arrival, deadSince)
        case .duplicate(var event):
            event.recipient = place ?? event.recipient
            // Without names: a table would take it for the first recipient with this token.
            var facts = arrival.facts.ofRecipient(index, .event)
            facts.isRepeated = true
            facts.pushType = event.pushType
            facts.route = arrival.facts.route
            return Self.recipient(of: arrival, event, facts)
        case .invalid(var invalid):
            invalid.recipient = place ?? invalid.recipient
            let facts = arrival.facts.ofRecipient(index, .invalid, because: invalid.reason)
            return Self.recipient(of: arrival, Self.noEvent, invalid: invalid, facts)
        }
    }

    private func read(
        _ event: consuming Event,
        _ index: Int,
        of arrival: Arrival,
        _ deadSince: (KeyedHash) -> Timestamp?
    ) -> Arrival {
        var facts = arrival.facts.ofRecipient(index, .event)
        facts.pushType = arrival.facts.pushType
        facts.tokenRegisteredAt = arrival.facts.tokenRegisteredAt
        facts.expiration = event.expiration
        facts.tooOldAt = arrival.facts.tooOldAt
        if let collapseID = event.collapseID { facts.collapse = key.hash(of: collapseID) }
        facts.rateLimit = arrival.facts.rateLimit
        if let route = arrival.facts.route {
            facts.route = route
            let names = names(of: event, arrival.topic, route.environment)
            facts.names = names
            if suppressesUnregistered { facts.deadSince = deadSince(names.target) }
        }
        return Self.recipient(of: arrival, event, facts)
    }

    private static func recipient(
        of arrival: Arrival,
        _ event: consuming Event,
        invalid: InvalidEvent? = nil,
        _ facts: ArrivalFacts
    ) -> Arrival {
        Arrival(arrival.record, event, arrival.topic, of: arrival.fanOut, invalid: invalid, facts)
    }

    /// The facts that every record has, valid or not.
    private struct Common {
        let fingerprint: UInt32
        let history: RetryHistory?
        let source: Int
        let receivedAt: Moment

        /// When the event starts to age: the first record's timestamp, or when the record was first
        /// read.
        ///
        /// Producers choose the timestamp, so it is clamped to between 1970 and now.
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
            because invalidReason: LocalReason? = nil,
            to recipients: RecipientList? = nil,
            campaign: KeyedHash? = nil,
            notBefore: Timestamp? = nil
        ) -> ArrivalFacts {
            ArrivalFacts(
                partition: record.partition,
                offset: record.offset,
                fingerprint: fingerprint,
                byteCount: record.byteCount + (recipients?.byteCount ?? 0),
                source: source,
                kind: kind,
                receivedAt: receivedAt,
                history: history,
                awaitedSchema: schema,
                invalidReason: invalidReason,
                recipientCount: recipients?.count ?? 0,
                campaign: campaign,
                notBefore: notBefore
            )
        }
    }

    private func read(
        _ record: consuming Record,
        _ fanOut: FanOut,
        _ common: Common,
        awaiting schema: SchemaReference?
    ) -> Arrival {
        let shared = fanOut.common
        var facts = common.facts(
            of: record,
            .fanOut,
            awaiting: schema,
            to: fanOut.recipients,
            campaign: shared.campaign.map(key.hash),
            notBefore: shared.notBefore
        )
        facts.pushType = shared.pushType
        facts.tokenRegisteredAt = shared.tokenRegisteredAt
        if let eventAge { facts.tooOldAt = common.firstWritten(record).advanced(by: eventAge) }
        facts.rateLimit = RateLimit.index(in: rateLimits, for: shared.destination, shared.pushType)
        let choice = routing.route(
            for: shared.destination,
            pushType: shared.pushType,
            environment: shared.environment
        )
        facts.route = choice.map {
            Route(credential: $0.credential, environment: $0.environment)
        }
        let topic = APNsTopicRule.topic(of: shared.destination, pushType: shared.pushType)
        return Arrival(record, Self.noEvent, topic, of: fanOut, invalid: nil, facts)
    }

    private func refused(
        _ record: consuming Record,
        _ invalid: InvalidEvent,
        _ common: Common
    ) -> Arrival {
        let facts = common.facts(
            of: record,
            .invalid,
            because: invalid.reason,
            campaign: invalid.campaign.map(key.hash)
        )
        return Arrival(record, Self.noEvent, Self.noTopic, invalid: invalid, facts)
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
        var facts = common.facts(
            of: record,
            .event,
            awaiting: schema,
            campaign: event.campaign.map(key.hash),
            notBefore: event.notBefore
        )
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

extension ArrivalFacts {
    /// The facts that a recipient shares with its record, whose bytes count only once.
    fileprivate func ofRecipient(
        _ index: Int,
        _ kind: Kind,
        because invalidReason: LocalReason? = nil
    ) -> ArrivalFacts {
        var facts = ArrivalFacts(
            partition: partition,
            offset: offset,
            fingerprint: fingerprint,
            byteCount: 0,
            source: source,
            kind: kind,
            receivedAt: receivedAt,
            history: history?.ofRecipient(index),
            invalidReason: invalidReason,
            campaign: campaign,
            notBefore: notBefore
        )
        facts.recipient = index
        return facts
    }
}

extension Arrival {
    /// The placeholder in a free slot.
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
    /// Whether a retry topic may take the event after a failure.
    func canPostpone(_ arrival: Arrival) -> Bool {
        canStayAway(arrival) && !arrival.facts.isNowOrNever
    }

    /// Whether a retry topic may take the event until its time, or until its campaign may send.
    ///
    /// Never a broadcast: by its next round, another process may have sent a newer one.
    func canStayAway(_ arrival: Arrival) -> Bool {
        canPostpone && !arrival.facts.isBroadcast
    }
}
