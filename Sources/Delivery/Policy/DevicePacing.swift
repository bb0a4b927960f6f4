public import Vocabulary

/// Allows one notification in flight per device and app, or per channel; others wait in line.
///
/// Only the first of a line is sent, and it stays first through its retries, so a device receives
/// its notifications in order. A line exists only while it has members, so memory is bounded by the
/// deliveries in flight.
public struct DevicePacing: Sendable {
    private struct Line: Sendable {
        var first: DeliveryID
        var last: DeliveryID
        /// Set after `TooManyRequests`: the earliest time of the next request, in nanoseconds of an
        /// `Instant`; the smallest integer: not throttled.
        var throttledUntil = Int64.min

        var isThrottled: Bool { throttledUntil != .min }
    }

    private struct Neighbors: Sendable {
        var previous = DeliveryID.nobody
        var next = DeliveryID.nobody
    }

    private var lines: KeyedTable<Line>
    /// By delivery slot.
    private var neighbors: [Neighbors] = []
    private var throttledCount = 0

    /// - Parameter maxEvents: The maximum number of deliveries in flight.
    public init(maxEvents: Int = 1_000) {
        let vacant = Line(first: .nobody, last: .nobody)
        lines = KeyedTable(for: maxEvents, vacant: vacant)
    }

    // MARK: Inputs

    @inline(__always)
    func prefetch(_ device: KeyedHash) { lines.prefetch(device) }

    /// Puts a delivery at the end of its device's line.
    ///
    /// - Returns: whether it is the first in line, and may be sent.
    public mutating func joined(_ id: DeliveryID, _ device: KeyedHash) -> Bool {
        while neighbors.count <= id.index { neighbors.append(Neighbors()) }
        guard let line = lines.find(device) else {
            neighbors[id.index] = Neighbors()
            lines.insert(device, Line(first: id, last: id))
            return true
        }
        let last = lines[line].last
        neighbors[last.index].next = id
        neighbors[id.index] = Neighbors(previous: last)
        lines[line].last = id
        return false
    }

    /// Removes a delivery from its device's line, wherever it is in it.
    ///
    /// - Returns: the new first delivery and the earliest time to send it; nil: the first is
    ///   unchanged.
    public mutating func left(
        _ id: DeliveryID,
        _ device: KeyedHash
    ) -> (next: DeliveryID, notBefore: Instant?)? {
        guard let line = lines.find(device) else { return nil }
        let (previous, next) = (neighbors[id.index].previous, neighbors[id.index].next)
        neighbors[id.index] = Neighbors()
        if !previous.isNobody { neighbors[previous.index].next = next }
        if !next.isNobody { neighbors[next.index].previous = previous }
        if next.isNobody, !previous.isNobody { lines[line].last = previous }
        // A delivery behind another one was not the first.
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

    /// APNs answered `TooManyRequests`: nothing is sent to this device before `until`.
    public mutating func throttled(_ device: KeyedHash, until: Instant) {
        guard let line = lines.find(device) else { return }
        if !lines[line].isThrottled { throttledCount += 1 }
        lines[line].throttledUntil = until.nanoseconds
    }

    /// The device accepted a notification, or refused it for another reason.
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

    /// The deliveries in line, newest first.
    public func line(of device: KeyedHash) -> [DeliveryID] {
        members(upTo: lines.find(device).map { lines[$0].last } ?? .nobody)
    }

    /// The lines with more than `length` deliveries, each newest first.
    ///
    /// Visits every delivery that is behind another.
    public func lines(longerThan length: Int) -> [[DeliveryID]] {
        lines.values { $0.first != $0.last }.map { members(upTo: $0.last) }
            .filter { $0.count > length }
    }

    private func members(upTo last: DeliveryID) -> [DeliveryID] {
        var line: [DeliveryID] = []
        var member = last
        while !member.isNobody {
            line.append(member)
            member = neighbors[member.index].previous
        }
        return line
    }

    /// Whether the device has a line.
    public func hasLine(_ device: KeyedHash) -> Bool { lines.find(device) != nil }

    /// Whether no delivery joined the line after this one, which must be in it.
    public func isNewest(_ id: DeliveryID, of device: KeyedHash) -> Bool {
        lines.find(device).map { lines[$0].last == id } ?? false
    }

    /// The number of devices and channels with a line.
    public var deviceCount: Int { lines.count }
}

extension DeliveryID {
    /// A sentinel: an optional would make a line half as large again.
    fileprivate static var nobody: DeliveryID { DeliveryID(slot: .max, generation: 0) }

    fileprivate var isNobody: Bool { slot == .max }
}
