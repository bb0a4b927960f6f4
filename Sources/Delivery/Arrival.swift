import APNsRules
public import Vocabulary

/// What a delivery begins with, and what never changes: a record, and what it turned out to be.
///
/// An object, because it is large and is looked at all the time: who copies a delivery, or takes
/// the record out of it, counts one reference in place of twenty.
public final class Arrival: Sendable {
    public let record: Record
    /// Of no meaning unless `isEvent`; not optional, because to read one field of an optional the
    /// compiler copies all of them.
    public let content: Event
    /// What the event's request names the app by; see `APNsTopicRule.topic(of:)`.
    public let topic: APNsTopic
    /// False for a record that is no valid event.
    public let isEvent: Bool
    let isBroadcast: Bool
    /// By its place in the configuration.
    let source: Int
    let byteCount: Int
    let ledgerEntry: OffsetLedger.Entry
    public let receivedAt: Moment
    private let rareFacts: RareFacts?

    init(
        record: consuming Record,
        event: consuming Event?,
        receivedAt: Moment,
        rareFacts: RareFacts?,
        ledgerEntry: OffsetLedger.Entry,
        source: Int
    ) {
        byteCount = record.byteCount
        self.record = consume record
        if let event {
            topic = APNsTopicRule.topic(of: event)
            isBroadcast = event.isBroadcast
            content = event
            isEvent = true
        } else {
            topic = Self.noEvent.topic
            isBroadcast = false
            content = Self.noEvent.content
            isEvent = false
        }
        self.receivedAt = receivedAt
        self.rareFacts = rareFacts
        self.ledgerEntry = ledgerEntry
        self.source = source
    }

    public var event: Event? { isEvent ? content : nil }

    /// What the ranges of an event point into.
    ///
    /// Not the record's own, of another module: the record would be copied to call it.
    public var eventBytes: [UInt8] { record.decodedValue ?? record.valueAndKey }

    /// What was tried in earlier rounds; nil for an event that comes from its source.
    public var history: RetryHistory? { rareFacts?.history }

    /// It comes out of a retry topic.
    public var isRetry: Bool { rareFacts?.isRetry ?? false }

    /// In the first round.
    public var firstReceivedAt: Timestamp { rareFacts?.history?.receivedAt ?? receivedAt.timestamp }

    /// Streams opened in earlier rounds.
    var earlierAttempts: Int { rareFacts?.history?.attempts ?? 0 }

    /// The schema that has to be fetched before the event can be sent.
    var awaitedSchema: SchemaReference? { rareFacts?.awaitedSchema }

    /// The same record, whose event could be read only now.
    func decoded(as event: Event) -> Arrival {
        Arrival(
            record: record,
            event: event,
            receivedAt: receivedAt,
            rareFacts: .kept(history),
            ledgerEntry: ledgerEntry,
            source: source
        )
    }

    private static let noEvent = (
        content: Event(
            id: "",
            deviceToken: DeviceToken(checked: "00".utf8.span),
            destination: .bundleID(""),
            pushType: .alert,
            payload: 0..<0
        ),
        topic: APNsTopic("")
    )
}

/// Of a record that comes out of a retry topic, or names a schema that is not known.
///
/// Apart, because few are.
final class RareFacts: Sendable {
    let history: RetryHistory?
    let awaitedSchema: SchemaReference?

    private init(_ history: RetryHistory?, _ awaitedSchema: SchemaReference?) {
        self.history = history
        self.awaitedSchema = awaitedSchema
    }

    /// Nil when there is nothing to keep.
    @inline(__always)
    static func kept(
        _ history: RetryHistory?,
        awaiting schema: SchemaReference? = nil
    ) -> RareFacts? {
        if case .none = history, schema == nil { return nil }
        return RareFacts(history, schema)
    }

    var isRetry: Bool { history != nil }
}

extension Delivery {
    public var record: Record { arrival.record }
    public var event: Event? { arrival.event }
    public var receivedAt: Moment { arrival.receivedAt }
    public var history: RetryHistory? { arrival.history }
    var ledgerEntry: OffsetLedger.Entry { arrival.ledgerEntry }
    var byteCount: Int { arrival.byteCount }
    var source: Int { arrival.source }
}

extension Event {
    /// Whether `expiration` has passed.
    ///
    /// 0 is no moment: it asks for one attempt without storage.
    @inline(__always)
    public func isExpired(at timestamp: Timestamp) -> Bool {
        guard let expiration, expiration != 0 else { return false }
        return expiration <= timestamp.seconds
    }
}
