import Vocabulary

/// A record that upstream wrote to a source, and its results outside the service.
struct SimulatedEvent {
    enum Content: UInt8 {
        case notification
        case invalid
        case tombstone
        /// No credential covers its bundle ID.
        case uncovered
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

    var apnsID: APNsID { APNsID(high: 0x5000, low: UInt64(identity)) }
}

extension World {
    /// Values of different sizes; their content does not matter.
    static let values = [2, 100, 2000].map { [UInt8](repeating: 0x20, count: $0) }

    func record(_ event: Int32, at offset: Int64, of partition: PartitionID) -> Record {
        Record(
            partition: partition,
            offset: Offset(offset),
            timestamp: SimulatedAPNs.timestamp(events[Int(event)].appendedAt),
            key: nil,
            value: events[Int(event)].content == .tombstone
                ? nil : Self.values[Int(events[Int(event)].size)]
        )
    }

    /// The result of the service's decoder for the record.
    func decoded(_ number: Int32, by member: Member) -> DecodedRecord {
        let event = events[Int(number)]
        switch event.content {
        case .tombstone: return .tombstone
        case .invalid: return .invalid(InvalidEvent(reason: .schemaViolation, violations: []))
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
            tokenRegisteredAt: event.tokenRegisteredAt
        )
        guard let schema = event.schema, !member.knownSchemas.contains(schema) else {
            return .event(decoded)
        }
        return .awaitingSchema(decoded, schema)
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
