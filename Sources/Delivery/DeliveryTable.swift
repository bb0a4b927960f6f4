import CPrefetch
import Vocabulary

/// The deliveries in flight, in slots that are used again.
///
/// The deliveries in flight are also linked in the order in which they were sent. All attempts
/// have the same time limit, so the first of the list is the next to run out of it, and an answer
/// takes its delivery out in constant time.
///
/// The slot is the only truth about a delivery; a queue is an order of tickets, which are void once
/// their delivery has moved on. So nothing is ever searched in a queue.
struct DeliveryTable: Sendable {
    /// A delivery, behind what the table itself keeps of it: who asks for one needs both.
    private struct Slot {
        var generation: UInt32 = 1
        /// Grows with each move and is never reset: an older ticket is void.
        var moves: UInt32 = 0
        var previous = DeliveryTable.none
        var next = DeliveryTable.none
        var isTaken = true
        var deadline = Instant(nanoseconds: 0)
        /// Not optional: of an optional the compiler copies all to read one field.
        var delivery: Delivery
    }

    private static let none: Int32 = -1
    private static let capacity = 1 << PublicationTag.slotBitCount

    private var slots: [Slot] = []
    private var free: [Int] = []
    /// The table's own: all threads would count references to one that they shared.
    private let nothing = Arrival.ofNothing()
    private var oldest = none
    private var newest = none

    var count: Int { slots.count - free.count }

    mutating func insert(_ arrival: Arrival, _ entry: OffsetLedger.Entry) -> DeliveryID {
        let delivery = Delivery(
            arrival: arrival,
            ledgerEntry: entry,
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
    /// Inlined, because what is returned is moved once more.
    ///
    /// - Returns: What stood there, moved out of it.
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

    /// The delivery, which is in flight.
    ///
    /// Inlined, so that who wants one field copies that field: a delivery has many, and a call
    /// (let alone a coroutine, which allocates its frame) would copy them all.
    subscript(id: DeliveryID) -> Delivery {
        @inline(__always) get {
            requireTaken(id)
            return slots[id.index].delivery
        }
    }

    /// Changes the delivery where it is.
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

    /// Moves the delivery: every ticket of it is void from now on.
    @inline(__always)
    mutating func move(_ id: DeliveryID, to place: Delivery.Place) -> Ticket {
        requireTaken(id)
        slots[id.index].moves &+= 1
        slots[id.index].delivery.place = place
        return Ticket(slot: id.slot, moves: slots[id.index].moves)
    }

    /// Whose ticket it is; nil: it is void.
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

    /// When the oldest delivery in flight arrived, those that wait to come due left out.
    ///
    /// Reads the slots where they are: to copy each would cost more than to look at it.
    var oldestArrival: Instant? {
        var oldest: Instant?
        for index in slots.indices {
            guard slots[index].isTaken else { continue }
            if case .held = slots[index].delivery.place { continue }
            let arrival = slots[index].delivery.arrival.receivedAt.instant
            oldest = min(oldest ?? arrival, arrival)
        }
        return oldest
    }

    /// By source, when the oldest of its records was written, as far as they came from there.
    func oldestRecords(ofSources count: Int) -> [Timestamp?] {
        var oldest = [Timestamp?](repeating: nil, count: count)
        for index in slots.indices where slots[index].isTaken {
            let arrival = slots[index].delivery.arrival
            guard !arrival.isRetry, arrival.source < count else { continue }
            let time = arrival.record.timestamp ?? arrival.receivedAt.timestamp
            oldest[arrival.source] = min(oldest[arrival.source] ?? time, time)
        }
        return oldest
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

    /// The next delivery on a stream to run out of time.
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
