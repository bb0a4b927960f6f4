/// A valid event with `recipients`: one notification for each of them.
///
/// A class, so that the deliveries of one record share it. Ranges point into `eventBytes` of the
/// record that the event was decoded from.
public final class FanOut: Sendable {
    /// What the notifications have in common.
    public struct Common: Hashable, Sendable {
        public var id: EventID
        public var destination: Event.Destination
        public var pushType: PushType
        /// The payload's bytes, sent unchanged.
        public var payload: Range<Int>
        public var environment: APNsEnvironment?
        public var priority: Priority?
        /// The default of the recipients, as in `Event.expiration`.
        public var expiration: Int64?
        /// The default of the recipients.
        public var collapseID: CollapseID?
        public var tokenRegisteredAt: Timestamp?
        public var occurredAt: Timestamp?
        /// As in `Event`.
        public var campaign: CampaignName?
        /// As in `Event`.
        public var notBefore: Timestamp?
        /// The `metadata` object's bytes.
        public var metadata: Range<Int>?
        /// What `schemas.payload: warn` reported.
        public var warnings: [Violation]

        public init(
            id: EventID,
            destination: Event.Destination,
            pushType: PushType,
            payload: Range<Int>,
            environment: APNsEnvironment? = nil,
            priority: Priority? = nil,
            expiration: Int64? = nil,
            collapseID: CollapseID? = nil,
            tokenRegisteredAt: Timestamp? = nil,
            occurredAt: Timestamp? = nil,
            campaign: CampaignName? = nil,
            notBefore: Timestamp? = nil,
            metadata: Range<Int>? = nil,
            warnings: [Violation] = []
        ) {
            self.id = id
            self.destination = destination
            self.pushType = pushType
            self.payload = payload
            self.environment = environment
            self.priority = priority
            self.expiration = expiration
            self.collapseID = collapseID
            self.tokenRegisteredAt = tokenRegisteredAt
            self.occurredAt = occurredAt
            self.campaign = campaign
            self.notBefore = notBefore
            self.metadata = metadata
            self.warnings = warnings
        }
    }

    public let common: Common
    public let recipients: RecipientList
    public let framing: RecordFraming
    /// The JSON string in the record's value that contains the event in Base64; nil: the event's
    /// bytes are in the value.
    private let base64: Range<Int>?

    public init(
        _ common: Common,
        _ recipients: RecipientList,
        framing: RecordFraming = .plain,
        base64: Range<Int>? = nil
    ) {
        self.common = common
        self.recipients = recipients
        self.framing = framing
        self.base64 = base64
    }
}

extension FanOut: Hashable {
    public static func == (left: FanOut, right: FanOut) -> Bool {
        left === right
            || left.common == right.common && left.recipients == right.recipients
                && left.framing == right.framing && left.base64 == right.base64
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(common)
        hasher.combine(recipients)
        hasher.combine(framing)
        hasher.combine(base64)
    }
}

/// One entry of `recipients`.
public enum Recipient: Hashable, Sendable {
    /// The notification to send.
    case valid(Event)
    /// A notification that is not sent: an earlier entry has the same token.
    case duplicate(Event)
    case invalid(InvalidEvent)
}

extension FanOut {
    /// The entry at an index, from 0; built on each call.
    public func recipient(at index: Int) -> Recipient {
        switch recipients.status(at: index) {
        case .valid: .valid(event(at: index))
        case .duplicate: .duplicate(event(at: index))
        case .invalid: .invalid(invalidEvent(at: index))
        }
    }

    /// The notification for an entry; traps if the entry is invalid.
    public func event(at index: Int) -> Event {
        let token = recipients.deviceToken(at: index)
        let own = recipients.fields(at: index)
        return Event(
            id: common.id,
            target: .device(token),
            destination: common.destination,
            payload: common.payload,
            collapseID: own.collapseID ?? common.collapseID,
            apnsID: own.apnsID ?? APNsID(eventID: common.id, deviceToken: token),
            campaign: common.campaign,
            warnings: common.warnings,
            expiration: own.expiration ?? common.expiration,
            pushType: common.pushType,
            environment: common.environment,
            priority: common.priority,
            tokenRegisteredAt: common.tokenRegisteredAt,
            occurredAt: common.occurredAt,
            notBefore: common.notBefore,
            metadata: common.metadata,
            recipient: RecipientPlace(index: index, count: recipients.count)
        )
    }

    /// Why an entry gets no notification; traps unless the entry is invalid.
    public func invalidEvent(at index: Int) -> InvalidEvent {
        guard let refusal = recipients.refusal(at: index) else {
            preconditionFailure("the entry is valid")
        }
        var event = invalidEvent(refusal.reason, refusal.violations)
        event.deviceToken = refusal.deviceToken
        event.apnsID =
            refusal.apnsID
            ?? refusal.deviceToken.map { APNsID(eventID: common.id, deviceToken: $0) }
        event.recipient = RecipientPlace(index: index, count: recipients.count)
        return event
    }

    /// The event as a whole, refused.
    public func invalidEvent(_ reason: LocalReason, _ violations: [Violation]) -> InvalidEvent {
        var event = InvalidEvent(reason: reason, violations: violations)
        event.id = common.id
        event.destination = common.destination
        event.pushType = common.pushType
        event.environment = common.environment
        event.occurredAt = common.occurredAt
        event.campaign = common.campaign
        event.metadata = common.metadata
        return event
    }
}

extension FanOut {
    /// A record's value with only some of the recipients; all other bytes are those of the record.
    ///
    /// The entries keep their bytes too. Only if the record contains the event in Base64 is that
    /// text written again, from the changed event.
    ///
    /// - Parameters:
    ///   - indices: The entries to keep, in ascending order; at least one.
    ///   - record: The record that the event was decoded from.
    /// - Returns: The value. It decodes to the kept recipients, in their order, under new indices.
    public func value(keeping indices: some Collection<Int>, of record: Record) -> [UInt8] {
        precondition(!indices.isEmpty, "an event has a recipient")
        guard let value = record.valueRange else { preconditionFailure("a tombstone has no event") }
        guard let base64 else { return kept(indices, of: record.valueAndKey[value]) }
        guard let event = record.decodedValue else { preconditionFailure("not the event's record") }
        var text = Array(record.valueAndKey[value.lowerBound..<base64.lowerBound])
        text.append(UInt8(ascii: "\""))
        Base64.standard.append(kept(indices, of: event[...]), to: &text)
        text.append(UInt8(ascii: "\""))
        return text + record.valueAndKey[base64.upperBound..<value.upperBound]
    }

    /// Bytes that contain the event, with only some of the recipients.
    private func kept(_ indices: some Collection<Int>, of bytes: ArraySlice<UInt8>) -> [UInt8] {
        let list = recipients.bytes
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        text += bytes[..<list.lowerBound]
        var separator = UInt8(ascii: "[")
        for index in indices {
            text.append(separator)
            text += bytes[recipients.bytes(at: index)]
            separator = UInt8(ascii: ",")
        }
        text.append(UInt8(ascii: "]"))
        return text + bytes[list.upperBound...]
    }
}
