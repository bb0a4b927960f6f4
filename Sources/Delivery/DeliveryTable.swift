import Vocabulary

/// The deliveries in hand, in slots that are used again.
///
/// The deliveries in flight are also linked in the order in which they were sent. All attempts
/// have the same time limit, so the first of the list is the next to run out of it, and an answer
/// takes its delivery out in constant time.
struct DeliveryTable: Sendable {
    private struct Slot {
        var generation: UInt32 = 1
        /// Not optional: of an optional the compiler copies all to read one field.
        var delivery: Delivery
        var isTaken = true
        var deadline = Instant(nanoseconds: 0)
        var previous = DeliveryTable.none
        var next = DeliveryTable.none
    }

    private static let none = -1
    private static let capacity = 1 << PublicationTag.slotBitCount

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var oldest = none
    private var newest = none

    var count: Int { slots.count - free.count }

    mutating func insert(_ delivery: consuming Delivery) -> DeliveryID {
        let index: Int
        if let reused = free.popLast() {
            index = reused
            slots[index].delivery = delivery
            slots[index].isTaken = true
        } else {
            index = slots.count
            precondition(index < Self.capacity, "more deliveries than slots")
            slots.append(Slot(delivery: delivery))
        }
        return identifier(ofSlot: index)
    }

    mutating func remove(_ id: DeliveryID) -> Delivery? {
        guard contains(id) else { return nil }
        slots[id.slot].generation &+= 1
        slots[id.slot].isTaken = false
        free.append(id.slot)
        return exchange(&slots[id.slot].delivery, with: .nobody)
    }

    /// The delivery, unless it has left.
    ///
    /// Inlined, so that who wants one field copies that field: a delivery has many, and a call
    /// (let alone a coroutine, which allocates its frame) would copy them all.
    subscript(id: DeliveryID) -> Delivery? {
        @inline(__always) get { contains(id) ? slots[id.slot].delivery : nil }
    }

    /// Changes the delivery where it is, unless it has left.
    ///
    /// A subscript that could be set would be a coroutine in the way of the optimizer: it inlines
    /// none that is ended in two places, and `?.` does so.
    @inline(__always)
    mutating func update(_ id: DeliveryID, _ change: (inout Delivery) -> Void) {
        guard contains(id) else { return }
        change(&slots[id.slot].delivery)
    }

    @inline(__always)
    func contains(_ id: DeliveryID) -> Bool {
        id.slot < slots.count && slots[id.slot].generation == id.generation
            && slots[id.slot].isTaken
    }

    func contains(where isWanted: (Delivery) -> Bool) -> Bool {
        slots.indices.contains { slots[$0].isTaken && isWanted(slots[$0].delivery) }
    }

    /// When the oldest delivery in hand arrived, those that wait to come due left out.
    ///
    /// Reads the slots where they are: to copy each would cost more than to look at it.
    var oldestArrival: Instant? {
        var oldest: Instant?
        for index in slots.indices {
            guard slots[index].isTaken else { continue }
            if case .waitingForDue = slots[index].delivery.phase { continue }
            let arrival = slots[index].delivery.arrival.receivedAt.instant
            oldest = min(oldest ?? arrival, arrival)
        }
        return oldest
    }

    /// Every delivery in hand, in the order of its slot.
    var identifiers: [DeliveryID] {
        slots.indices.filter { slots[$0].isTaken }.map(identifier(ofSlot:))
    }

    // MARK: In flight

    /// The next delivery in flight to run out of time.
    var nextDeadline: (delivery: DeliveryID, at: Instant)? {
        oldest == Self.none ? nil : (identifier(ofSlot: oldest), slots[oldest].deadline)
    }

    mutating func sent(_ id: DeliveryID, deadline: Instant) {
        slots[id.slot].deadline = deadline
        slots[id.slot].previous = newest
        slots[id.slot].next = Self.none
        if newest == Self.none {
            oldest = id.slot
        } else {
            slots[newest].next = id.slot
        }
        newest = id.slot
    }

    mutating func returned(_ id: DeliveryID) {
        let (previous, next) = (slots[id.slot].previous, slots[id.slot].next)
        if previous == Self.none {
            oldest = next
        } else {
            slots[previous].next = next
        }
        if next == Self.none {
            newest = previous
        } else {
            slots[next].previous = previous
        }
    }

    private func identifier(ofSlot index: Int) -> DeliveryID {
        DeliveryID(slot: UInt32(index), generation: slots[index].generation)
    }
}

extension Delivery {
    /// What stands in a slot that is free.
    fileprivate static let nobody = Delivery(
        arrival: Arrival(
            record: Record(
                partition: PartitionID(index: 0),
                offset: Offset(0),
                timestamp: nil,
                key: nil,
                value: nil
            ),
            event: nil,
            receivedAt: Moment(
                instant: Instant(nanoseconds: 0),
                timestamp: Timestamp(milliseconds: 0)
            ),
            history: nil,
            ledgerEntry: .nowhere,
            source: 0
        ),
        phase: .waitingForStream
    )
}
