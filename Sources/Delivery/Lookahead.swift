import CPrefetch
import Vocabulary

/// The parts of a delivery in memory, each found through the one before.
///
/// With thousands of events in flight a delivery has left the CPU's caches by the time that
/// something happens to it, and to fetch each of these takes as long as hundreds of instructions.
/// So code that goes through a batch has them fetched while those before are worked on; see
/// decision 0025.
public enum DeliveryPart: CaseIterable, Sendable {
    case delivery
    /// What arrived, and the result if it is decided.
    case arrival
    /// The record's value and key, or the beginning of it.
    case bytes

    /// How many places before its turn a delivery's part is fetched: early enough to be there when
    /// the next part needs it.
    public var distance: Int {
        switch self {
        case .delivery: 8
        case .arrival: 4
        case .bytes: 2
        }
    }
}

extension [Send] {
    /// Prefetches what opening the next streams will need.
    @inline(__always)
    public func lookAhead(from index: Int) {
        if let next = arrival(ahead: .arrival, of: index) { next.prefetch() }
        if let next = arrival(ahead: .bytes, of: index) { next.prefetchBytes() }
    }

    private func arrival(ahead part: DeliveryPart, of index: Int) -> Arrival? {
        index + part.distance < count ? self[index + part.distance].arrival : nil
    }
}

extension [OutgoingRecord] {
    /// Prefetches what writing the next records will need.
    ///
    /// For most outcomes that is not a byte of the event.
    @inline(__always)
    public func lookAhead(from index: Int) {
        let next = index + DeliveryPart.arrival.distance
        if next < count { self[next].arrival.prefetch() }
    }
}

extension Ending {
    func prefetch() {
        // SAFETY: the address is not read.
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        unsafe hg_prefetch(start, 16 + MemoryLayout<Finding>.stride)
    }
}

extension DeliveryTable {
    @inline(__always)
    func lookAhead(_ ahead: (DeliveryPart) -> DeliveryID?) {
        if let id = ahead(.delivery) { prefetchDelivery(id) }
        if let id = ahead(.arrival) { prefetchArrival(id) }
        if let id = ahead(.bytes) { prefetchBytes(id) }
    }
}

extension Arrival {
    /// About what the object takes, behind its header of two words.
    private static let byteCountInMemory =
        16 + MemoryLayout<ArrivalFacts>.stride + MemoryLayout<Record>.stride
        + MemoryLayout<Event>.stride + MemoryLayout<APNsTopic>.stride

    /// Longer values are read from one end to the other, which the CPU foresees by itself.
    private static let maxBytes = 512

    func prefetch() {
        // SAFETY: the address is not read.
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        unsafe hg_prefetch(start, Self.byteCountInMemory)
    }

    func prefetchBytes() {
        // SAFETY: an array is one reference, to an object whose elements begin after 32 bytes; the
        // address is not read. To lend the elements would ask for their count at the array's head,
        // which is what must not be waited for.
        let start = unsafe unsafeBitCast(record.valueAndKey, to: UnsafeRawPointer.self)
        unsafe hg_prefetch(start, min(32 + facts.byteCount, Self.maxBytes))
    }
}
