/// The open streams of a connection, in reused slots.
///
/// nghttp2 stores a stream's slot as its user data; if another stream has since reused the slot,
/// the stream ID reveals it.
struct StreamTable {
    private var slots: [ServerStream] = []
    private var freeSlots: [Int] = []
    /// The slot that was looked up last: consecutive frames often belong to one stream.
    private var recentSlot = 0

    /// - Returns: The slot.
    mutating func open(_ streamID: Int32) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(ServerStream()) }
        slots[slot].open(streamID)
        return slot
    }

    mutating func close(_ slot: Int) {
        slots[slot] = ServerStream()
        freeSlots.append(slot)
    }

    subscript(slot: Int) -> ServerStream {
        _read { yield slots[slot] }
        _modify { yield &slots[slot] }
    }

    /// The stream's slot, if it was looked up last.
    func recentSlot(of streamID: Int32) -> Int? {
        guard recentSlot < slots.count, slots[recentSlot].streamID == streamID, streamID != 0 else {
            return nil
        }
        return recentSlot
    }

    /// The slot in nghttp2's stream user data, if it still belongs to the stream.
    mutating func slot(of userData: UnsafeMutableRawPointer?, streamID: Int32) -> Int? {
        // Slot n is stored as n + 1, so that slot 0 differs from "no user data".
        let slot = Int(bitPattern: userData) - 1
        guard slots.indices.contains(slot), slots[slot].streamID == streamID else { return nil }
        recentSlot = slot
        return slot
    }

    static func userData(of slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
    }
}

/// A value at a fixed address, in which C callbacks can record facts.
@safe struct Pinned<Value: ~Copyable>: ~Copyable {
    let pointer: UnsafeMutablePointer<Value>

    init(_ value: consuming Value) {
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(to: value)
    }

    deinit {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    // Mutating, although the pointer does not change: for a nonmutating accessor, Swift 6.3.1
    // generates invalid code under the thread sanitizer.
    var value: Value {
        _read { yield unsafe pointer.pointee }
        _modify { yield unsafe &pointer.pointee }
    }
}
