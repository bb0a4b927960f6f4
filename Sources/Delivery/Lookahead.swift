import CPrefetch
import Vocabulary

/// The parts of a delivery in memory; each is found through the one before.
///
/// With thousands of events in flight, a delivery has left the CPU's caches before its next input,
/// and fetching each part takes as long as hundreds of instructions. Loops over a batch therefore
/// prefetch the parts of later elements; see decision 0025.
public enum DeliveryPart: CaseIterable, Sendable {
    case delivery
    /// What arrived, and the conclusion if there is one.
    case arrival
    /// The start of the record's value and key.
    case bytes

    /// How many elements ahead in the batch a part is prefetched.
    ///
    /// Early enough to be cached when fetching the next part needs it.
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
    /// Most outcomes need none of the event's bytes.
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
    /// Roughly the size of the object after its header of two words.
    private static let byteCountInMemory =
        16 + MemoryLayout<ArrivalFacts>.stride + MemoryLayout<Record>.stride
        + MemoryLayout<Event>.stride + MemoryLayout<APNsTopic>.stride

    /// Longer values are read sequentially, which the CPU prefetches by itself.
    private static let maxBytes = 512

    func prefetch() {
        // SAFETY: the address is not read.
        let start = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        unsafe hg_prefetch(start, Self.byteCountInMemory)
    }

    func prefetchBytes() {
        // SAFETY: an array is one reference, to an object whose elements start at byte 32; the
        // address is not read. Borrowing the elements would read the count in the array's header,
        // which is the memory access that prefetching avoids.
        let start = unsafe unsafeBitCast(record.valueAndKey, to: UnsafeRawPointer.self)
        unsafe hg_prefetch(start, min(32 + facts.byteCount, Self.maxBytes))
    }
}
