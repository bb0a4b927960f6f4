import Delivery
import Vocabulary

/// Where a recipient stands in its event, and what its entry says.
struct RecipientNumber {
    /// The index of the event with recipients in the world's list; the recipients follow it.
    let head: Int32
    let place: RecipientPlace
    let fields: Fields

    /// The fields that the entry has itself, and how it is written.
    struct Fields: OptionSet {
        let rawValue: UInt8

        static let apnsID = Fields(rawValue: 1)
        static let collapseID = Fields(rawValue: 2)
        static let expiration = Fields(rawValue: 4)
        /// The token is in upper case.
        static let capitals = Fields(rawValue: 8)
    }
}

/// Events with recipients.
///
/// The value of such a record ends with a list of the recipients' indices in the world's list.
extension World {
    // MARK: Upstream

    /// Writes a new event with recipients.
    ///
    /// - Returns: its index in the world's list; the recipients follow it.
    mutating func makeFanOut(source: UInt8) -> Int32 {
        let sample = dice[.recipients].number(below: plan.devices)
        let app = apns.devices[sample].app
        let pool = apns.devicesOfApp[app]
        let hot = pool.filter { $0 < Int32(apns.hotDevices) }
        let count = min(recipientCount(), max(2, pool.count))
        let isUncovered = strikes(plan.chances.uncoveredEvent, .recipients)
        var shared = SimulatedEvent(
            content: .fanOut,
            identity: Int32(events.count),
            device: Int32(sample),
            source: source,
            expiration: drawExpiration(plan.chances.expiringEvent),
            isCollapsible: dice[.recipients].comesUp(0.2),
            tokenRegisteredAt: dice[.recipients].comesUp(0.1) ? SimulatedAPNs.timestamp(now) : nil,
            appendedAt: now
        )
        if strikes(plan.chances.namedSchema, .recipients) {
            shared.schema = .id(UInt32(dice[.recipients].number(below: 20)))
        }
        shared.size = UInt8(dice[.recipients].number(below: Self.values.count))
        shared.isOversized = strikes(plan.chances.oversizedEvent, .recipients)
        shared.isTooLargeToRetry = strikes(plan.fanOuts.tooLargeToRetry, .recipients)
        let head = Int32(events.count)
        events.append(shared)
        var first: [Int32: Int32] = [:]
        for index in 0..<count {
            let isHot = !hot.isEmpty && dice[.recipients].comesUp(plan.chances.hotDevice)
            let device = dice[.recipients].element(isHot ? hot : pool)
            var content: SimulatedEvent.Content = isUncovered ? .uncovered : .notification
            if dice[.recipients].comesUp(0.05) {
                content = .invalid
            } else if first[device] != nil {
                content = .repeated
            }
            if content == .notification || content == .uncovered {
                first[device] = Int32(events.count)
            }
            let number = RecipientNumber(
                head: head,
                place: RecipientPlace(index: index, count: count),
                fields: drawFields()
            )
            let original = content == .repeated ? first[device] : nil
            append(number, of: shared, content, to: device, like: original)
        }
        return head
    }

    /// Writes an event with recipients a second time.
    mutating func repeatFanOut(_ original: Int32, source: UInt8) -> Int32 {
        coverage.note(.eventRepeatedUpstream)
        let head = Int32(events.count)
        let count = recipientCount(of: original)
        for event in events[Int(original)...Int(original) + count] {
            var copy = SimulatedEvent(
                content: event.content,
                identity: event.identity,
                device: event.device,
                source: source,
                expiration: event.expiration,
                isCollapsible: event.isCollapsible,
                tokenRegisteredAt: event.tokenRegisteredAt,
                appendedAt: now
            )
            copy.schema = event.schema
            copy.size = event.size
            copy.isOversized = event.isOversized
            copy.isTooLargeToRetry = event.isTooLargeToRetry
            copy.recipient = event.recipient.map {
                RecipientNumber(head: head, place: $0.place, fields: $0.fields)
            }
            events.append(copy)
        }
        return head
    }

    private mutating func append(
        _ number: RecipientNumber,
        of shared: SimulatedEvent,
        _ content: SimulatedEvent.Content,
        to device: Int32,
        like original: Int32?
    ) {
        var event = SimulatedEvent(
            content: content,
            identity: original.map { events[Int($0)].identity } ?? Int32(events.count),
            device: device,
            source: shared.source,
            expiration: number.fields.contains(.expiration)
                ? drawExpiration(0.7) : shared.expiration,
            isCollapsible: shared.isCollapsible,
            tokenRegisteredAt: shared.tokenRegisteredAt,
            appendedAt: now
        )
        event.schema = shared.schema
        event.size = shared.size
        event.isOversized = shared.isOversized
        event.isTooLargeToRetry = shared.isTooLargeToRetry
        event.recipient = number
        events.append(event)
    }

    private mutating func recipientCount() -> Int {
        switch dice[.recipients].number(below: 100) {
        case 0: dice[.recipients].number(100...600)
        case 1..<25: dice[.recipients].number(2...40)
        default: dice[.recipients].number(2...8)
        }
    }

    private mutating func drawFields() -> RecipientNumber.Fields {
        var fields: RecipientNumber.Fields = []
        if dice[.recipients].comesUp(0.3) { fields.insert(.apnsID) }
        if dice[.recipients].comesUp(0.1) { fields.insert(.collapseID) }
        if dice[.recipients].comesUp(0.1) { fields.insert(.expiration) }
        if dice[.recipients].comesUp(0.2) { fields.insert(.capitals) }
        return fields
    }

    private mutating func drawExpiration(_ chance: Double) -> Int64? {
        if dice[.recipients].comesUp(chance) {
            return timestamp.seconds + Int64(dice[.recipients].number(-5...600))
        }
        return dice[.recipients].comesUp(0.1) ? 0 : nil
    }

    // MARK: Records

    func recipientCount(of head: Int32) -> Int {
        events[Int(head) + 1].recipient?.place.count ?? 0
    }

    /// The value of the record that upstream wrote.
    func fanOutValue(of head: Int32) -> [UInt8] {
        var value = Self.values[Int(events[Int(head)].size)]
        var separator = UInt8(ascii: "[")
        for index in 1...recipientCount(of: head) {
            value.append(separator)
            value += "\(Int(head) + index)".utf8
            separator = UInt8(ascii: ",")
        }
        value.append(UInt8(ascii: "]"))
        return value
    }

    /// The events that a value lists.
    static func recipients(in value: [UInt8]) -> [Int32] {
        entries(of: value).map { number(value[$0]) }
    }

    private static func entries(of value: [UInt8]) -> [Range<Int>] {
        guard let start = value.firstIndex(of: UInt8(ascii: "[")) else { return [] }
        var entries: [Range<Int>] = []
        var place = start + 1
        for (index, byte) in value[place...].enumerated()
        where byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
            let end = start + 1 + index
            entries.append(place..<end)
            place = end + 1
        }
        return entries
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int32 {
        digits.reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
    }

    /// The result of the service's decoder for a record with recipients.
    func fanOut(_ head: Int32, _ record: Record) -> FanOut {
        let shared = events[Int(head)]
        let app = Applications.apps[apns.devices[Int(shared.device)].app]
        let value = record.value ?? []
        let entries = Self.entries(of: value)
        let start = value.firstIndex(of: UInt8(ascii: "[")) ?? 0
        var list = RecipientList.Builder(bytes: start..<value.count, count: entries.count)
        var isCovered = true
        for entry in entries {
            let number = Self.number(value[entry])
            if events[Int(number)].content == .uncovered { isCovered = false }
            append(number, at: entry, to: &list)
        }
        let common = FanOut.Common(
            id: eventID(of: head),
            destination: .bundleID(isCovered ? app.bundleID : Applications.uncovered),
            pushType: app.pushType,
            payload: 0..<2,
            environment: app.environment,
            expiration: shared.expiration,
            collapseID: shared.isCollapsible ? CollapseID("c") : nil,
            tokenRegisteredAt: shared.tokenRegisteredAt,
            campaign: campaign(of: head)
        )
        return FanOut(common, list.finished())
    }

    private func append(_ number: Int32, at entry: Range<Int>, to list: inout RecipientList.Builder)
    {
        let event = events[Int(number)]
        guard event.content != .invalid else {
            let refusal = RecipientList.Refusal(reason: .schemaViolation, violations: [])
            return list.append(refusal, bytes: entry)
        }
        let own = event.recipient?.fields ?? []
        var fields: RecipientList.Fields?
        if !own.isDisjoint(with: [.apnsID, .collapseID, .expiration]) {
            fields = RecipientList.Fields(
                apnsID: own.contains(.apnsID) ? event.apnsID : nil,
                collapseID: own.contains(.collapseID) ? CollapseID("d") : nil,
                expiration: own.contains(.expiration) ? event.expiration : nil
            )
        }
        let token = apns.devices[Int(event.device)].token
        if own.contains(.capitals), let capitals = DeviceToken(token.hexadecimal.uppercased()) {
            capitals.withDigits { list.append(checked: $0, fields, bytes: entry) }
        } else {
            token.withDigits { list.append(checked: $0, fields, bytes: entry) }
        }
    }

    // MARK: Which event it is

    func eventID(of number: Int32) -> EventID { "e\(events[Int(number)].identity)" }

    /// The event whose record has the event: itself, or the one of which it is a recipient.
    func head(of number: Int32) -> Int32 { events[Int(number)].recipient?.head ?? number }

    /// The event that a member reads: a record's, or one of its recipients.
    func event(of arrival: Arrival) -> Int32? {
        guard arrival.fanOut != nil else { return event(of: arrival.record) }
        let number = recipient(arrival.recipient ?? 0, of: arrival)
        return arrival.recipient == nil ? number.map(head) : number
    }

    /// The event of a record's recipient.
    func recipient(_ index: Int, of arrival: Arrival) -> Int32? {
        guard let bytes = arrival.fanOut?.recipients.bytes(at: index) else { return nil }
        return Self.number(arrival.eventBytes[bytes])
    }

    /// The `apns-id` of all attempts for the event.
    func apnsID(of number: Int32) -> APNsID {
        let event = events[Int(number)]
        guard let recipient = event.recipient, !recipient.fields.contains(.apnsID)
        else { return event.apnsID }
        return APNsID(
            eventID: eventID(of: recipient.head),
            deviceToken: apns.devices[Int(event.device)].token
        )
    }
}
