package import Vocabulary

/// One notification in flight per device and app, or per channel: further ones wait in line.
///
/// The first of a line is the one that is sent; it stays first through its retries, so a device
/// gets its notifications in order. A line exists only while somebody stands in it: memory is
/// bounded by the deliveries in hand.
package struct DevicePacing: Sendable {
    private struct Line: Sendable {
        var first: DeliveryID
        var last: DeliveryID
        /// After `TooManyRequests`: nothing goes before then.
        var throttledUntil: Instant?
    }

    private struct Neighbours: Sendable {
        var previous: DeliveryID?
        var next: DeliveryID?
    }

    private var lines: [KeyedHash: Line] = [:]
    /// By the delivery's slot.
    private var neighbours: [Neighbours] = []

    package init() {}

    // MARK: Inputs

    /// A delivery comes to the end of its device's line.
    ///
    /// - Returns: true when it is the first, and may be sent.
    package mutating func joined(_ id: DeliveryID, _ device: KeyedHash) -> Bool {
        while neighbours.count <= id.slot { neighbours.append(Neighbours()) }
        guard let last = lines[device]?.last else {
            neighbours[id.slot] = Neighbours()
            lines[device] = Line(first: id, last: id)
            return true
        }
        neighbours[last.slot].next = id
        neighbours[id.slot] = Neighbours(previous: last)
        lines[device]?.last = id
        return false
    }

    /// A delivery leaves its device's line, from wherever it stands.
    ///
    /// - Returns: who is first now, and from when on it may be sent, if that has changed.
    package mutating func left(
        _ id: DeliveryID,
        _ device: KeyedHash
    ) -> (next: DeliveryID, notBefore: Instant?)? {
        guard var line = lines[device] else { return nil }
        let (previous, next) = (neighbours[id.slot].previous, neighbours[id.slot].next)
        neighbours[id.slot] = Neighbours()
        if let previous { neighbours[previous.slot].next = next }
        if let next { neighbours[next.slot].previous = previous }
        if let previous, line.last == id { line.last = previous }
        guard line.first == id else {
            lines[device] = line
            return nil
        }
        guard let next else {
            lines[device] = nil
            return nil
        }
        line.first = next
        lines[device] = line
        return (next, line.throttledUntil)
    }

    /// `TooManyRequests`: nothing goes to this device before then.
    package mutating func throttled(_ device: KeyedHash, until: Instant) {
        lines[device]?.throttledUntil = until
    }

    /// The device took a notification, or refused it for another reason.
    package mutating func relieved(_ device: KeyedHash) {
        guard lines[device]?.throttledUntil != nil else { return }
        lines[device]?.throttledUntil = nil
    }

    // MARK: Queries

    package func isThrottled(_ device: KeyedHash) -> Bool {
        lines[device]?.throttledUntil != nil
    }

    /// The line, newest first.
    package func line(of device: KeyedHash) -> [DeliveryID] {
        var line: [DeliveryID] = []
        var place = lines[device]?.last
        while let id = place {
            line.append(id)
            place = neighbours[id.slot].previous
        }
        return line
    }

    /// Whether nobody came to the line after that delivery, which stands in it.
    package func isNewest(_ id: DeliveryID, of device: KeyedHash) -> Bool {
        lines[device]?.last == id
    }

    /// Devices with somebody in line.
    package var deviceCount: Int { lines.count }
}
