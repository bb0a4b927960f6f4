import Delivery
import Vocabulary

/// The order in which a member took events, and the last of each line that it has sent.
struct ArrivalOrder {
    private struct Line: Hashable {
        let device: Int32
        let partition: PartitionID
    }

    private struct Sent {
        var arrival: UInt32
        /// When the last record arrived of which a recipient was sent.
        var record: Instant
    }

    private var arrivals: [RecordPlace: UInt32] = [:]
    private var next: UInt32 = 0
    private var lines: [Line: Sent] = [:]

    mutating func arrived(_ place: RecordPlace) {
        arrivals[place] = next
        next += 1
    }

    /// An event is sent, possibly not for the first time; its record arrived at `record`.
    ///
    /// - Returns: false if its first request comes after that of a later event for the device.
    mutating func sent(_ place: RecordPlace, from record: Instant, to device: Int32) -> Bool {
        guard let arrival = arrivals.removeValue(forKey: place) else { return true }
        let line = Line(device: device, partition: place.partition)
        let isRecipient = place.recipient >= 0
        let last = lines[line] ?? Sent(arrival: 0, record: Instant(nanoseconds: 0))
        lines[line] = Sent(
            arrival: max(last.arrival, arrival),
            record: isRecipient ? max(last.record, record) : last.record
        )
        return arrival >= last.arrival && (!isRecipient || record >= last.record)
    }
}

extension World {
    /// Checks that events of one partition for one device are first sent in their order.
    ///
    /// A recipient has its place among them from when it is read, but recipients of one record
    /// always come before those of a later one.
    mutating func checkOrder(of delivery: Delivery, _ number: Int32, by member: Member) {
        // A record may wait for its schema or its campaign while later ones are sent. After a cut,
        // it may have the place of another one.
        let event = events[Int(number)]
        let (place, readAt) = (RecordPlace(delivery.arrival), delivery.receivedAt.instant)
        guard event.schema == nil, campaign(of: number) == nil,
            !member.order.sent(place, from: readAt, to: event.device)
        else { return }
        found(.orderIsKept, "event \(event.identity) to device \(event.device) after a later one")
    }
}
