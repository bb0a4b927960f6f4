import CPrefetch
import Vocabulary

/// The deliveries in flight, in reused slots.
///
/// Deliveries with an open stream are also linked in the order in which they were sent. All
/// attempts have the same timeout, so the head of the list is the next to time out, and an answer
/// unlinks its delivery in constant time.
///
/// The slot is the only source of truth about a delivery. A queue orders tickets, which become void
/// when their delivery moves on, so a queue is searched only if another delivery takes its place.
struct DeliveryTable: Sendable {
    /// A delivery, after the table's own fields: reading one needs both.
    private struct Slot {
        var generation: UInt32 = 1
        /// Incremented with each move and never reset, which voids older tickets.
        var moves: UInt32 = 0
        var previous = DeliveryTable.none
        var next = DeliveryTable.none
        var isTaken = true
        var deadline = Instant(nanoseconds: 0)
        /// Not optional: the compiler copies a whole optional to read one of its fields.
        var delivery: Delivery
    }

    private static let none: Int32 = -1
    /// The last slot is left to `TallyRecord`.
    private static let capacity = 1 << PublicationTag.slotBitCount - 1

    private var slots: [Slot] = []
    private var free: [Int] = []
    /// One per table: threads sharing one would contend for its reference count.
    private let nothing = Arrival.ofNothing()
    private var oldest = none
    private var newest = none

    var count: Int { slots.count - free.count }

    mutating func insert(
        _ arrival: Arrival,
        _ entry: OffsetLedger.Entry,
        of fanOut: FanOutID? = nil
    ) -> DeliveryID {
        let delivery = Delivery(
            arrival: arrival,
            ledgerEntry: entry,
            fanOut: fanOut,
            deadSince: arrival.facts.deadSince
        )
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

    /// Frees the slot.
    ///
    /// Inlined, because returning it costs another move.
    ///
    /// - Returns: The delivery, moved out of the slot.
    @inline(__always)
    mutating func take(_ id: DeliveryID) -> Delivery {
        requireTaken(id)
        slots[id.index].generation &+= 1
        slots[id.index].moves &+= 1
        slots[id.index].isTaken = false
        free.append(id.index)
        var taken = Delivery(arrival: nothing, ledgerEntry: .nowhere)
        swap(&taken, &slots[id.index].delivery)
        return taken
    }

    /// The delivery, which must be in flight.
    ///
    /// Inlined, so that reading one field copies only that field: a call would copy all fields, and
    /// a coroutine would also allocate its frame.
    subscript(id: DeliveryID) -> Delivery {
        @inline(__always) get {
            requireTaken(id)
            return slots[id.index].delivery
        }
    }

    /// Changes the delivery in place.
    @inline(__always)
    mutating func update(_ id: DeliveryID, _ change: (inout Delivery) -> Void) {
        requireTaken(id)
        change(&slots[id.index].delivery)
    }

    @inline(__always)
    private func requireTaken(_ id: DeliveryID) {
        precondition(contains(id), "a delivery that has left is asked for")
    }

    // MARK: Tickets

    /// Moves the delivery, which voids all its earlier tickets.
    @inline(__always)
    mutating func move(_ id: DeliveryID, to place: Delivery.Place) -> Ticket {
        requireTaken(id)
        slots[id.index].moves &+= 1
        slots[id.index].delivery.place = place
        return Ticket(slot: id.slot, moves: slots[id.index].moves)
    }

    /// The ticket of the delivery's last move.
    func ticket(of id: DeliveryID) -> Ticket {
        requireTaken(id)
        return Ticket(slot: id.slot, moves: slots[id.index].moves)
    }

    /// The delivery of a ticket; nil: the ticket is void.
    @inline(__always)
    func holder(of ticket: Ticket) -> DeliveryID? {
        slots[Int(ticket.slot)].moves == ticket.moves
            ? DeliveryID(slot: ticket.slot, generation: slots[Int(ticket.slot)].generation) : nil
    }

    @inline(__always)
    func contains(_ id: DeliveryID) -> Bool {
        // A free slot has a generation that nobody has seen.
        id.index < slots.count && slots[id.index].generation == id.generation
    }

    func contains(where isWanted: (Delivery) -> Bool) -> Bool {
        slots.indices.contains { slots[$0].isTaken && isWanted(slots[$0].delivery) }
    }

    /// When the oldest delivery in flight arrived, leaving out those that wait to become due or for
    /// their campaign.
    ///
    /// Reads the slots in place: copying each would cost more than reading it.
    var oldestArrival: Instant? {
        var oldest: Instant?
        for index in slots.indices {
            guard slots[index].isTaken else { continue }
            switch slots[index].delivery.place {
            case .held, .atCampaign: continue
            default: break
            }
            let arrival = slots[index].delivery.arrival.receivedAt.instant
            oldest = min(oldest ?? arrival, arrival)
        }
        return oldest
    }

    /// By source, when its oldest record in flight was written; leaves out records of retry topics,
    /// and those that wait for their campaign.
    func oldestRecords(ofSources count: Int) -> [Timestamp?] {
        var oldest = [Timestamp?](repeating: nil, count: count)
        for index in slots.indices where slots[index].isTaken {
            let arrival = slots[index].delivery.arrival
            guard !arrival.isRetry, arrival.source < count,
                slots[index].delivery.place != .atCampaign
            else { continue }
            let time = arrival.record.timestamp ?? arrival.receivedAt.timestamp
            oldest[arrival.source] = min(oldest[arrival.source] ?? time, time)
        }
        return oldest
    }

    /// Calls `body` with each delivery of a campaign, and the campaign's key.
    func forEachOfCampaign(_ body: (KeyedHash, Delivery) -> Void) {
        for index in slots.indices where slots[index].isTaken {
            guard let campaign = slots[index].delivery.arrival.facts.campaign else { continue }
            body(campaign, slots[index].delivery)
        }
    }

    /// Every delivery in flight, in the order of its slot.
    var identifiers: [DeliveryID] {
        slots.indices.filter { slots[$0].isTaken }.map(identifier(ofSlot:))
    }

    // MARK: Caches (see Lookahead.swift)

    func prefetchDelivery(_ id: DeliveryID) {
        guard id.index < slots.count else { return }
        unsafe slots.withUnsafeBufferPointer { slots in
            guard let start = slots.baseAddress else { return }
            // SAFETY: the index is that of a slot, and the address is not read.
            unsafe hg_prefetch(start + id.index, MemoryLayout<Slot>.stride)
        }
    }

    func prefetchArrival(_ id: DeliveryID) {
        guard contains(id) else { return }
        slots[id.index].delivery.arrival.prefetch()
        if case .ended(let ending) = slots[id.index].delivery.conclusion { ending.prefetch() }
    }

    func prefetchBytes(_ id: DeliveryID) {
        if contains(id) { slots[id.index].delivery.arrival.prefetchBytes() }
    }

    // MARK: In flight

    /// The delivery on a stream that times out next, and when.
    var nextDeadline: (delivery: DeliveryID, at: Instant)? {
        guard oldest != Self.none else { return nil }
        return (identifier(ofSlot: Int(oldest)), slots[Int(oldest)].deadline)
    }

    mutating func sent(_ id: DeliveryID, deadline: Instant) {
        slots[id.index].deadline = deadline
        slots[id.index].previous = newest
        slots[id.index].next = Self.none
        let place = Int32(truncatingIfNeeded: id.index)
        if newest == Self.none {
            oldest = place
        } else {
            slots[Int(newest)].next = place
        }
        newest = place
    }

    mutating func returned(_ id: DeliveryID) {
        let (previous, next) = (slots[id.index].previous, slots[id.index].next)
        if previous == Self.none {
            oldest = next
        } else {
            slots[Int(previous)].next = next
        }
        if next == Self.none {
            newest = previous
        } else {
            slots[Int(next)].previous = previous
        }
    }

    private func identifier(ofSlot index: Int) -> DeliveryID {
        DeliveryID(slot: UInt32(index), generation: slots[index].generation)
    }
}
