import JSON
import JSONSchema
import Vocabulary

extension EventDecoder {
    private static let pushTypes = PushType.allCases
    private static let pushTypeNames = NameTable(pushTypes.map(\.rawValue))

    /// The event of fields that the event's schema has admitted; of each kind that schema demands
    /// what makes it one.
    mutating func event(_ fields: EventFields) -> Event? {
        fields.isBroadcast ? broadcast(fields) : notification(fields)
    }

    private mutating func notification(_ fields: EventFields) -> Event? {
        let (bundleID, topic) = (node(.bundleID, fields), node(.topic, fields))
        guard let id = node(.id, fields).flatMap({ id($0) }),
            let token = node(.deviceToken, fields).flatMap({ checkedToken($0) }),
            let destination = Self.destination(
                bundleID,
                topic,
                { apps.text(of: $0, in: check.document) }
            ),
            let pushType = pushType(fields), let payload = node(.payload, fields)
        else { return nil }
        return Event(
            id: id,
            deviceToken: token,
            destination: destination,
            pushType: pushType,
            payload: payload.range,
            environment: environment(fields),
            priority: priority(fields),
            expiration: node(.expiration, fields).flatMap { check.document.integer($0) },
            collapseID: node(.collapseID, fields).flatMap { check.document.string($0) }.flatMap(
                CollapseID.init
            ),
            apnsID: apnsID(fields),
            tokenRegisteredAt: node(.tokenRegisteredAt, fields).flatMap {
                check.document.integer($0)
            }
            .map { Timestamp(milliseconds: $0) },
            occurredAt: node(.occurredAt, fields).flatMap { check.milliseconds(ofDateTime: $0) }
                .map { Timestamp(milliseconds: $0) },
            metadata: node(.metadata, fields)?.range
        )
    }

    private borrowing func broadcast(_ fields: EventFields) -> Event? {
        guard let id = node(.id, fields).flatMap({ id($0) }), let channel = channel(fields),
            let bundleID = node(.bundleID, fields).flatMap({ check.document.string($0) }),
            let payload = node(.payload, fields),
            let expiration = node(.expiration, fields).flatMap({ check.document.integer($0) })
        else { return nil }
        return Event(
            id: id,
            channel: channel,
            bundleID: bundleID,
            payload: payload.range,
            expiration: expiration,
            environment: environment(fields),
            priority: priority(fields),
            requestID: apnsID(fields),
            occurredAt: occurredAt(fields),
            metadata: node(.metadata, fields)?.range
        )
    }

    /// An invalid event with every field that is valid by itself.
    borrowing func readable(
        _ fields: EventFields,
        _ reason: LocalReason
    ) -> InvalidEvent {
        var event = InvalidEvent(reason: reason, violations: [])
        event.id = node(.id, fields).flatMap { readableID($0) }
        if fields.isBroadcast {
            event.channel = channel(fields)
            event.pushType = .liveactivity
        } else {
            event.deviceToken = deviceToken(fields)
            event.destination = Self.destination(node(.bundleID, fields), node(.topic, fields)) {
                text($0, upTo: Self.longestDestination)
            }
            event.pushType = pushType(fields)
        }
        event.environment = environment(fields)
        event.apnsID = apnsID(fields)
        event.occurredAt = occurredAt(fields)
        event.metadata = node(.metadata, fields).flatMap { isMetadata($0) ? $0.range : nil }
        guard event.apnsID == nil, let id = event.id else { return event }
        if let token = event.deviceToken {
            event.apnsID = APNsID(eventID: id, deviceToken: token)
        } else if let channel = event.channel {
            event.apnsID = APNsID(eventID: id, channel: channel)
        }
        return event
    }

    // In line what each event needs: a decoder that is lent out while it changes is copied.

    /// A field's value.
    @inline(__always)
    borrowing func node(_ field: EventFields.Field, _ fields: EventFields) -> JSONNode? {
        fields[field].map { check.document.node(at: $0) }
    }

    /// Of an admitted event.
    private borrowing func id(_ node: JSONNode) -> EventID? {
        guard node.isString else { return nil }
        return check.document.withContent(of: node) { EventID(utf8: $0) }
    }

    /// Of an event that is not valid; nil unless this is.
    private borrowing func readableID(_ node: JSONNode) -> EventID? {
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
        node(.deviceToken, fields).flatMap { text($0, upTo: Self.longestToken) }.flatMap(
            DeviceToken.init
        )
    }

    /// Nil for a text of more bytes.
    private borrowing func text(_ node: JSONNode, upTo byteCount: Int) -> String? {
        node.byteCount <= byteCount + 2 ? check.document.string(node) : nil
    }

    /// Nil also when both names stand there: neither is more right than the other.
    private static func destination(
        _ bundleID: JSONNode?,
        _ topic: JSONNode?,
        _ text: (JSONNode) -> String?
    ) -> Event.Destination? {
        switch (bundleID, topic) {
        case (let bundleID?, nil): text(bundleID).map(Event.Destination.bundleID)
        case (nil, let topic?): text(topic).map { .topic(APNsTopic($0)) }
        case (nil, nil), (_?, _?): nil
        }
    }

    private borrowing func channel(_ fields: EventFields) -> ChannelID? {
        node(.channelID, fields).flatMap { check.document.string($0) }.flatMap(ChannelID.init)
    }

    @inline(__always)
    private borrowing func apnsID(_ fields: EventFields) -> APNsID? {
        node(.apnsID, fields).flatMap { APNsID(utf8: check.document.content(of: $0).span) }
    }

    @inline(__always)
    private borrowing func priority(_ fields: EventFields) -> Priority? {
        node(.priority, fields).flatMap { check.document.integer($0) }
            .flatMap { Priority(rawValue: Int($0)) }
    }

    /// By its name's hash: making a string and comparing it with every case takes longer.
    @inline(__always)
    private borrowing func pushType(_ fields: EventFields) -> PushType? {
        node(.pushType, fields).flatMap { Self.pushTypeNames.position(of: $0, in: check.document) }
            .map { Self.pushTypes[$0] }
    }

    @inline(__always)
    private borrowing func environment(_ fields: EventFields) -> APNsEnvironment? {
        node(.environment, fields).flatMap { check.document.string($0) }.flatMap(
            APNsEnvironment.init
        )
    }

    private borrowing func occurredAt(_ fields: EventFields) -> Timestamp? {
        node(.occurredAt, fields).flatMap { Timestamp(rfc3339: check.document.content(of: $0)) }
    }

    private borrowing func isMetadata(_ node: JSONNode) -> Bool {
        guard node.isObject, node.count <= 16 else { return false }
        var cursor = check.document.children(of: node)
        while let (_, value) = check.document.nextMember(&cursor) {
            if !value.isString { return false }
        }
        return true
    }
}
