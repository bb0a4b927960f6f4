public import Vocabulary

/// One notification in flight per device and app, or per channel: further ones wait in line.
///
/// The first of a line is the one that is sent; it stays first through its retries, so a device
/// gets its notifications in order. A line exists only while somebody is in it: memory is bounded
/// by the deliveries in flight.
public struct DevicePacing: Sendable {
    private struct Line: Sendable {
        var first: DeliveryID
        var last: DeliveryID
        /// After `TooManyRequests`: nothing goes before then, in nanoseconds as an `Instant`;
        /// the least number: it may.
        var throttledUntil = Int64.min

        var isThrottled: Bool { throttledUntil != .min }
    }

    private struct Neighbours: Sendable {
        var previous = DeliveryID.nobody
        var next = DeliveryID.nobody
    }

    private var lines: KeyedTable<Line>
    /// By the delivery's slot.
    private var neighbours: [Neighbours] = []
    private var throttledCount = 0

    /// - Parameter maxEvents: So many deliveries are in flight at most.
    public init(maxEvents: Int = 1_000) {
        let vacant = Line(first: .nobody, last: .nobody)
        lines = KeyedTable(for: maxEvents, vacant: vacant)
    }

    // MARK: Inputs

    @inline(__always)
    func prefetch(_ device: KeyedHash) { lines.prefetch(device) }

    /// A delivery comes to the end of its device's line.
    ///
    /// - Returns: true when it is the first, and may be sent.
    public mutating func joined(_ id: DeliveryID, _ device: KeyedHash) -> Bool {
        while neighbours.count <= id.index { neighbours.append(Neighbours()) }
        guard let line = lines.find(device) else {
            neighbours[id.index] = Neighbours()
            lines.insert(device, Line(first: id, last: id))
            return true
        }
        let last = lines[line].last
        neighbours[last.index].next = id
        neighbours[id.index] = Neighbours(previous: last)
        lines[line].last = id
        return false
    }

    /// A delivery leaves its device's line, from wherever it is.
    ///
    /// - Returns: who is first now, and from when on it may be sent, if that has changed.
    public mutating func left(
        _ id: DeliveryID,
        _ device: KeyedHash
    ) -> (next: DeliveryID, notBefore: Instant?)? {
        guard let line = lines.find(device) else { return nil }
        let (previous, next) = (neighbours[id.index].previous, neighbours[id.index].next)
        neighbours[id.index] = Neighbours()
        if !previous.isNobody { neighbours[previous.index].next = next }
        if !next.isNobody { neighbours[next.index].previous = previous }
        if next.isNobody, !previous.isNobody { lines[line].last = previous }
        // What is behind another is not the first.
        guard previous.isNobody else { return nil }
        let left = lines[line]
        guard !next.isNobody else {
            if left.isThrottled { throttledCount -= 1 }
            lines.remove(line)
            return nil
        }
        lines[line].first = next
        return (next, left.isThrottled ? Instant(nanoseconds: left.throttledUntil) : nil)
    }

    /// `TooManyRequests`: nothing goes to this device before then.
    public mutating func throttled(_ device: KeyedHash, until: Instant) {
        guard let line = lines.find(device) else { return }
        if !lines[line].isThrottled { throttledCount += 1 }
        lines[line].throttledUntil = until.nanoseconds
    }

    /// The device took a notification, or refused it for another reason.
    public mutating func relieved(_ device: KeyedHash) {
        guard throttledCount > 0, let line = lines.find(device), lines[line].isThrottled
        else { return }
        lines[line].throttledUntil = .min
        throttledCount -= 1
    }

    // MARK: Queries

    public func isThrottled(_ device: KeyedHash) -> Bool {
        guard throttledCount > 0, let line = lines.find(device) else { return false }
        return lines[line].isThrottled
    }

    /// The line, newest first.
    public func line(of device: KeyedHash) -> [DeliveryID] {
        members(upTo: lines.find(device).map { lines[$0].last } ?? .nobody)
    }

    /// The lines of more than so many deliveries, each newest first.
    ///
    /// Looks at everybody who is behind another.
    public func lines(longerThan length: Int) -> [[DeliveryID]] {
        lines.values { $0.first != $0.last }.map { members(upTo: $0.last) }
            .filter { $0.count > length }
    }

    private func members(upTo last: DeliveryID) -> [DeliveryID] {
        var line: [DeliveryID] = []
        var member = last
        while !member.isNobody {
            line.append(member)
            member = neighbours[member.index].previous
        }
        return line
    }

    /// Whether anybody is in line for the device.
    public func hasLine(_ device: KeyedHash) -> Bool { lines.find(device) != nil }

    /// Whether nobody came to the line after that delivery, which is in it.
    public func isNewest(_ id: DeliveryID, of device: KeyedHash) -> Bool {
        lines.find(device).map { lines[$0].last == id } ?? false
    }

    /// Devices with somebody in line.
    public var deviceCount: Int { lines.count }
}

extension DeliveryID {
    /// No optional: a line would be half as long again.
    fileprivate static var nobody: DeliveryID { DeliveryID(slot: .max, generation: 0) }

    fileprivate var isNobody: Bool { slot == .max }
}
