import Vocabulary

/// A record that upstream wrote to a source, or one of its recipients, and its results outside the
/// service.
struct SimulatedEvent {
    enum Content: UInt8 {
        case notification
        case invalid
        case tombstone
        /// No credential covers its bundle ID.
        case uncovered
        /// An event with recipients, each of which is an event of its own.
        case fanOut
        /// A recipient with the token of an earlier one.
        case repeated
    }

    let content: Content
    /// Differs from the event's index in the list if upstream wrote the event twice.
    let identity: Int32
    let device: Int32
    let source: UInt8
    /// In epoch seconds; nil: none.
    let expiration: Int64?
    let isCollapsible: Bool
    let tokenRegisteredAt: Timestamp?
    let appendedAt: Instant
    /// The schema named by its record; nil: none.
    var schema: SchemaReference?
    /// The index of its record's value in `World.values`.
    var size: UInt8 = 0
    /// Whether its dead letter exceeds the size limit of that topic.
    var isOversized = false
    /// Whether its retry record exceeds the size limit of those topics.
    var isTooLargeToRetry = false
    /// Nil: none; recipients have that of their record.
    var campaign: UInt8?
    /// Its event with recipients, and its place among them; nil: it is a record.
    var recipient: RecipientNumber?

    /// Whether it precedes the end at which a group without an offset started.
    var isSkipped = false
    /// Whether its log was mistaken for a new one and read again.
    var isRepeated = false
    /// The number of acknowledged outcomes.
    var outcomes: UInt16 = 0
    var kind: OutcomeKind?
    /// Whether it had an outcome other than `duplicate`.
    var endedByItself = false
    /// How many times APNs accepted it.
    var pushes: UInt16 = 0

    /// Whether it gets an outcome; if it has recipients, each of them gets one.
    var isOwed: Bool { content != .tombstone && content != .fanOut }

    /// The ID that it has in its record.
    var apnsID: APNsID { APNsID(high: 0x5000, low: UInt64(identity)) }
}

extension World {
    /// Values of different sizes; their content does not matter.
    static let values = [2, 100, 2000].map { [UInt8](repeating: 0x20, count: $0) }

    /// The record at an offset that is not a gap.
    func record(_ event: Int32, at offset: Int64, of partition: PartitionID) -> Record {
        Record(
            partition: partition,
            offset: Offset(offset),
            timestamp: SimulatedAPNs.timestamp(events[Int(event)].appendedAt),
            key: nil,
            value: value(of: event, at: offset, of: partition)
        )
    }

    private func value(
        of event: Int32,
        at offset: Int64,
        of partition: PartitionID
    ) -> [UInt8]? {
        switch events[Int(event)].content {
        case .tombstone: return nil
        case .fanOut:
            let entry = kafka.partitions[partition.index].entries[Int(offset)]
            return entry.retry.map { retryRecords[Int($0)].value } ?? fanOutValue(of: event)
        case .notification, .invalid, .uncovered, .repeated:
            return Self.values[Int(events[Int(event)].size)]
        }
    }

    /// The result of the service's decoder for the record.
    func decoded(_ number: Int32, _ record: Record, by member: Member) -> DecodedRecord {
        let event = events[Int(number)]
        let schema = event.schema.flatMap { member.knownSchemas.contains($0) ? nil : $0 }
        switch event.content {
        case .tombstone: return .tombstone
        case .invalid, .repeated:
            return .invalid(InvalidEvent(reason: .schemaViolation, violations: []))
        case .fanOut: return .fanOut(fanOut(number, record), awaiting: schema)
        case .notification, .uncovered: break
        }
        let device = apns.devices[Int(event.device)]
        let app = Applications.apps[device.app]
        if let channel = device.channel { return .event(broadcast(event, to: channel, of: app)) }
        let decoded = Event(
            id: "e\(event.identity)",
            deviceToken: device.token,
            destination: .bundleID(
                event.content == .uncovered ? Applications.uncovered : app.bundleID
            ),
            pushType: app.pushType,
            payload: 0..<2,
            environment: app.environment,
            expiration: event.expiration,
            collapseID: event.isCollapsible ? CollapseID("c") : nil,
            apnsID: event.apnsID,
            tokenRegisteredAt: event.tokenRegisteredAt,
            campaign: campaign(of: number)
        )
        return schema.map { .awaitingSchema(decoded, $0) } ?? .event(decoded)
    }

    private func broadcast(
        _ event: SimulatedEvent,
        to channel: ChannelID,
        of app: Applications.App
    ) -> Event {
        Event(
            id: "e\(event.identity)",
            channel: channel,
            bundleID: event.content == .uncovered ? Applications.uncovered : app.bundleID,
            payload: 0..<2,
            expiration: event.expiration ?? 0,
            environment: app.environment,
            requestID: event.apnsID
        )
    }
}
