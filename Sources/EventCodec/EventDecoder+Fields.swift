import JSON
import JSONSchema
import Vocabulary

extension EventDecoder {
    private static let pushTypes = PushType.allCases
    private static let pushTypeNames = NameTable(pushTypes.map(\.rawValue))

    /// The event of fields that the event's schema has admitted.
    mutating func event(_ fields: EventFields) -> Event? {
        guard let id = fields.id.flatMap({ id($0) }),
            let token = fields.deviceToken.flatMap({ checkedToken($0) }),
            let destination = Self.destination(fields, { apps.text(of: $0, in: check.document) }),
            let pushType = pushType(fields), let payload = fields.payload
        else { return nil }
        return Event(
            id: id,
            deviceToken: token,
            destination: destination,
            pushType: pushType,
            payload: payload.range,
            environment: environment(fields),
            priority: fields.priority.flatMap { check.document.integer($0) }
                .flatMap { Priority(rawValue: Int($0)) },
            expiration: fields.expiration.flatMap { check.document.integer($0) },
            collapseID: fields.collapseID.flatMap { check.document.string($0) }.flatMap(
                CollapseID.init
            ),
            apnsID: fields.apnsID.flatMap { APNsID(utf8: check.document.content(of: $0).span) },
            tokenRegisteredAt: fields.tokenRegisteredAt.flatMap { check.document.integer($0) }
                .map { Timestamp(milliseconds: $0) },
            occurredAt: fields.occurredAt.flatMap { check.milliseconds(ofDateTime: $0) }
                .map { Timestamp(milliseconds: $0) },
            metadata: fields.metadata?.range
        )
    }

    /// An invalid event with every field that is valid by itself.
    borrowing func readable(
        _ fields: EventFields,
        _ reason: LocalReason
    ) -> InvalidEvent {
        var event = InvalidEvent(reason: reason, violations: [])
        event.id = fields.id.flatMap { readableID($0) }
        event.deviceToken = deviceToken(fields)
        event.destination = Self.destination(fields) { text($0, upTo: Self.longestDestination) }
        event.pushType = pushType(fields)
        event.environment = environment(fields)
        event.apnsID = fields.apnsID.flatMap { APNsID(utf8: check.document.content(of: $0).span) }
        event.occurredAt = occurredAt(fields)
        event.metadata = fields.metadata.flatMap { isMetadata($0) ? $0.range : nil }
        if event.apnsID == nil, let id = event.id, let token = event.deviceToken {
            event.apnsID = APNsID(eventID: id, deviceToken: token)
        }
        return event
    }

    /// Of an admitted event.
    borrowing func id(_ node: JSONNode) -> EventID? {
        guard node.isString else { return nil }
        return check.document.withContent(of: node) { EventID(utf8: $0) }
    }

    /// Of an event that is not valid; nil unless this is.
    borrowing func readableID(_ node: JSONNode) -> EventID? {
        (1...128).contains(check.document.scalarCount(of: node)) ? id(node) : nil
    }

    /// Of an admitted event; its digits need no second look.
    private borrowing func checkedToken(_ node: JSONNode) -> DeviceToken? {
        guard node.isString else { return nil }
        return check.document.withContent(of: node) { DeviceToken(checked: $0) }
    }

    /// The limits of the event's schema: the outcome names these, and must fit its topic.
    private static let longestToken = 1024
    private static let longestDestination = 255

    private borrowing func deviceToken(_ fields: EventFields) -> DeviceToken? {
        fields.deviceToken.flatMap { text($0, upTo: Self.longestToken) }.flatMap(DeviceToken.init)
    }

    /// Nil for a text of more bytes.
    private borrowing func text(_ node: JSONNode, upTo byteCount: Int) -> String? {
        node.byteCount <= byteCount + 2 ? check.document.string(node) : nil
    }

    /// Nil also when both names stand there: neither is more right than the other.
    private static func destination(
        _ fields: EventFields,
        _ text: (JSONNode) -> String?
    ) -> Event.Destination? {
        switch (fields.bundleID, fields.topic) {
        case (let bundleID?, nil): text(bundleID).map(Event.Destination.bundleID)
        case (nil, let topic?): text(topic).map { .topic(APNsTopic($0)) }
        case (nil, nil), (_?, _?): nil
        }
    }

    /// By its name's hash: making a string and comparing it with every case takes longer.
    private borrowing func pushType(_ fields: EventFields) -> PushType? {
        fields.pushType.flatMap { Self.pushTypeNames.position(of: $0, in: check.document) }
            .map { Self.pushTypes[$0] }
    }

    private borrowing func environment(_ fields: EventFields) -> APNsEnvironment? {
        fields.environment.flatMap { check.document.string($0) }.flatMap(APNsEnvironment.init)
    }

    private borrowing func occurredAt(_ fields: EventFields) -> Timestamp? {
        fields.occurredAt.flatMap { Timestamp(rfc3339: check.document.content(of: $0)) }
    }

    borrowing func isMetadata(_ node: JSONNode) -> Bool {
        guard node.isObject, node.count <= 16 else { return false }
        var cursor = check.document.children(of: node)
        while let (_, value) = check.document.nextMember(&cursor) {
            if !value.isString { return false }
        }
        return true
    }
}
