import APNsRules
import ConnectionPool
import Vocabulary

/// A value that is one number in the log.
private protocol LoggedNumber: Logged {
    var logged: Int64 { get }
    /// - Returns: nil if the number stands for no value.
    init?(logged: Int64)
}

extension LoggedNumber {
    static var blank: Self {
        guard let blank = Self(logged: 0) else { preconditionFailure("0 is a value of each") }
        return blank
    }

    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var number = logged
        try log.pass(number: &number)
        guard let read = Self(logged: number) else { return try log.refuse() }
        self = read
    }
}

extension Int: LoggedNumber {
    fileprivate var logged: Int64 { Int64(self) }
    fileprivate init?(logged: Int64) { self.init(logged) }
}

extension Int64: LoggedNumber {
    fileprivate var logged: Int64 { self }
    fileprivate init?(logged: Int64) { self = logged }
}

extension Double: LoggedNumber {
    fileprivate var logged: Int64 { Int64(bitPattern: bitPattern) }
    fileprivate init?(logged: Int64) { self.init(bitPattern: UInt64(bitPattern: logged)) }
}

extension Instant: LoggedNumber {
    fileprivate var logged: Int64 { nanoseconds }
    fileprivate init?(logged: Int64) { self.init(nanoseconds: logged) }
}

extension Timestamp: LoggedNumber {
    fileprivate var logged: Int64 { milliseconds }
    fileprivate init?(logged: Int64) { self.init(milliseconds: logged) }
}

extension DeliveryID: LoggedNumber {
    fileprivate var logged: Int64 { Int64(bitPattern: rawValue) }
    fileprivate init?(logged: Int64) { self.init(rawValue: UInt64(bitPattern: logged)) }
}

extension ConnectionID: LoggedNumber {
    fileprivate var logged: Int64 { Int64(rawValue) }
    fileprivate init?(logged: Int64) { self.init(rawValue: UInt32(truncatingIfNeeded: logged)) }
}

extension PartitionID: LoggedNumber {
    fileprivate var logged: Int64 { Int64(index) }
    fileprivate init?(logged: Int64) { self.init(index: Int(logged)) }
}

extension Offset: LoggedNumber {
    fileprivate var logged: Int64 { rawValue }
    fileprivate init?(logged: Int64) { self.init(logged) }
}

extension KeyedHash: LoggedNumber {
    fileprivate var logged: Int64 { Int64(bitPattern: rawValue) }
    fileprivate init?(logged: Int64) { self.init(rawValue: UInt64(bitPattern: logged)) }
}

extension PublicationTag: LoggedNumber {
    fileprivate var logged: Int64 { Int64(bitPattern: rawValue) }
    fileprivate init?(logged: Int64) { self.init(rawValue: UInt64(bitPattern: logged)) }
}

extension Route: LoggedNumber {
    fileprivate var logged: Int64 { Int64(index) }
    fileprivate init?(logged: Int64) { self.init(index: Int(logged)) }
}

extension String: Logged {
    static var blank: String { "" }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&self)
    }
}

extension Moment: Logged {
    static var blank: Moment { Moment(instant: .blank, timestamp: .blank) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&instant)
        try log.pass(&timestamp)
    }
}

extension Duration: Logged {
    static var blank: Duration { .zero }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (seconds, attoseconds) = components
        try log.pass(number: &seconds)
        try log.pass(number: &attoseconds)
        self = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
    }
}

extension LocalReason: Logged {
    static var blank: LocalReason { .malformedEvent }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(text: &self)
    }
}

extension Reason: Logged {
    static var blank: Reason { .local(.blank) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var isLocal = if case .local = self { true } else { false }
        var text = text
        try log.pass(&isLocal)
        try log.pass(&text)
        guard isLocal else {
            self = Reason(apnsText: text)
            return
        }
        guard let reason = LocalReason(rawValue: text) else { return try log.refuse() }
        self = .local(reason)
    }
}

extension SchemaReference: Logged {
    static var blank: SchemaReference { .id(0) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (id, guid) = (UInt32(0), "")
        var isGUID = false
        switch self {
        case .id(let number): id = number
        case .guid(let text): (isGUID, guid) = (true, text)
        }
        try log.pass(&isGUID)
        if isGUID { try log.pass(&guid) } else { try log.pass(number: &id) }
        self = isGUID ? .guid(guid) : .id(id)
    }
}

extension APNsAnswer: Logged {
    static var blank: APNsAnswer { APNsAnswer(status: 0) }
    /// Leaves out `apnsUniqueID`: no decision depends on it.
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&status)
        try log.pass(&reason)
        try log.pass(&unregisteredAt)
        try log.pass(&retryAfter)
        try log.pass(&topic)
    }
}

extension TopicPartition: Logged {
    static var blank: TopicPartition { TopicPartition(topic: KafkaTopic(""), partition: 0) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (name, number) = (topic.name, partition)
        try log.pass(&name)
        try log.pass(number: &number)
        self = TopicPartition(topic: KafkaTopic(name), partition: number)
    }
}

extension AssignedPartition: Logged {
    static var blank: AssignedPartition { AssignedPartition(.blank, named: .blank) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (id, name, source, isOfRetryTopic) = (id, name, source, isOfRetryTopic)
        try log.pass(&id)
        try log.pass(&name)
        try log.pass(&source)
        try log.pass(&isOfRetryTopic)
        self = AssignedPartition(
            id,
            named: name,
            source: source,
            isOfRetryTopic: isOfRetryTopic
        )
    }
}

extension CommittedPosition: Logged {
    static var blank: CommittedPosition { CommittedPosition(offset: .blank) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (offset, metadata) = (offset, metadata)
        try log.pass(&offset)
        try log.pass(&metadata)
        self = CommittedPosition(offset: offset, metadata: metadata)
    }
}

extension DeliveryNames: Logged {
    static var blank: DeliveryNames { DeliveryNames(target: .blank, notification: .blank) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (target, notification) = (target, notification)
        try log.pass(&target)
        try log.pass(&notification)
        self = DeliveryNames(target: target, notification: notification)
    }
}

extension RetryHistory: Logged {
    static var blank: RetryHistory {
        RetryHistory(
            origin: RecordPosition(partition: .blank, offset: .blank),
            timestamp: nil,
            receivedAt: .blank,
            attempts: 0,
            firstFailedAt: .blank,
            dueAt: .blank,
            tier: 0,
            reason: ""
        )
    }
    /// Leaves out the origin and its timestamp: the engine only passes them on.
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&receivedAt)
        try log.pass(&attempts)
        try log.pass(&firstFailedAt)
        try log.pass(&dueAt)
        try log.pass(&writtenAt)
        try log.pass(&tier)
        try log.pass(&reason)
        try log.pass(&recipients)
    }
}

extension RetryHistory.Recipient: Logged {
    static var blank: RetryHistory.Recipient {
        RetryHistory.Recipient(
            place: RecipientPlace(index: 0, count: 1),
            attempts: 0,
            firstFailedAt: .blank,
            reason: ""
        )
    }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (index, count) = (place.index, place.count)
        try log.pass(&index)
        try log.pass(&count)
        place = RecipientPlace(index: index, count: count)
        try log.pass(&attempts)
        try log.pass(&firstFailedAt)
        try log.pass(&reason)
    }
}

extension CampaignOrder: Logged {
    static var blank: CampaignOrder { CampaignOrder(.running) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&state, of: State.allCases)
        try log.pass(&perSecond)
        try log.pass(&until)
    }
}

extension ArrivalFacts: Logged {
    static var blank: ArrivalFacts {
        ArrivalFacts(
            partition: .blank,
            offset: .blank,
            fingerprint: 0,
            byteCount: 0,
            source: 0,
            kind: .tombstone,
            receivedAt: .blank
        )
    }

    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (partition, offset, fingerprint) = (partition, offset, fingerprint)
        var (byteCount, source, kind, receivedAt) = (byteCount, source, kind, receivedAt)
        var (history, schema, reason) = (history, awaitedSchema, invalidReason)
        var (recipientCount, campaign, notBefore) = (recipientCount, campaign, notBefore)
        try log.pass(&partition)
        try log.pass(&offset)
        try log.pass(number: &fingerprint)
        try log.pass(&byteCount)
        try log.pass(&source)
        try log.pass(&kind, of: [.event, .invalid, .tombstone, .fanOut])
        try log.pass(&receivedAt)
        try log.pass(&history)
        try log.pass(&schema)
        try log.pass(&reason)
        try log.pass(&recipientCount)
        try log.pass(&campaign)
        try log.pass(&notBefore)
        var facts = ArrivalFacts(
            partition: partition,
            offset: offset,
            fingerprint: fingerprint,
            byteCount: byteCount,
            source: source,
            kind: kind,
            receivedAt: receivedAt,
            history: history,
            awaitedSchema: schema,
            invalidReason: reason,
            recipientCount: recipientCount,
            campaign: campaign,
            notBefore: notBefore
        )
        (facts.recipient, facts.isRepeated) = (recipient, isRepeated)
        (facts.isBroadcast, facts.pushType, facts.route) = (isBroadcast, pushType, route)
        (facts.names, facts.deadSince) = (names, deadSince)
        (facts.tokenRegisteredAt, facts.expiration) = (tokenRegisteredAt, expiration)
        (facts.collapse, facts.rateLimit) = (collapse, rateLimit)
        facts.tooOldAt = tooOldAt
        try log.pass(&facts.recipient)
        try log.pass(&facts.isRepeated)
        try log.pass(&facts.isBroadcast)
        try log.pass(text: &facts.pushType)
        try log.pass(&facts.route)
        try log.pass(&facts.names)
        try log.pass(&facts.deadSince)
        try log.pass(&facts.tokenRegisteredAt)
        try log.pass(&facts.expiration)
        try log.pass(&facts.tooOldAt)
        try log.pass(&facts.collapse)
        try log.pass(&facts.rateLimit)
        self = facts
    }
}
