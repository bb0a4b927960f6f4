/// What a table of streams needs to know of its entries.
public protocol StreamEntry {
    init()
    /// 0: the slot is free.
    var streamID: Int32 { get }

    /// Begins a stream in a slot that is new or cleared.
    mutating func open(_ streamID: Int32)

    /// Forgets the stream, and with it all that takes memory.
    mutating func clear()
}

/// The open streams of a connection, in slots that are reused.
///
/// nghttp2 keeps a stream's slot as its user data; a slot that has passed to another stream since
/// is recognised by the stream ID.
/// `@inlinable`, so that it is specialised for the streams of another module as well.
public struct StreamTable<Entry: StreamEntry> {
    @usableFromInline var slots: [Entry] = []
    @usableFromInline var freeSlots: [Int] = []
    /// The slot that was asked for last: a stream's frames come one after the other.
    @usableFromInline var recentSlot = 0

    @inlinable public init() {}

    @inlinable public var count: Int { slots.count - freeSlots.count }
    @inlinable public var isEmpty: Bool { count == 0 }

    /// The slot that `open` will use next.
    @inlinable public var nextSlot: Int { freeSlots.last ?? slots.count }

    /// - Returns: The slot.
    @inlinable
    public mutating func open(_ streamID: Int32) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Entry()) }
        slots[slot].open(streamID)
        return slot
    }

    @inlinable
    public mutating func close(_ slot: Int) {
        slots[slot].clear()
        freeSlots.append(slot)
    }

    @inlinable
    public subscript(slot: Int) -> Entry {
        _read { yield slots[slot] }
        _modify { yield &slots[slot] }
    }

    /// The slot of the stream that was asked for last.
    @inlinable
    public func recentSlot(of streamID: Int32) -> Int? {
        guard recentSlot < slots.count, slots[recentSlot].streamID == streamID, streamID != 0 else {
            return nil
        }
        return recentSlot
    }

    /// The slot behind nghttp2's stream user data, if it still belongs to the stream.
    @inlinable
    public mutating func slot(of userData: UnsafeMutableRawPointer?, streamID: Int32) -> Int? {
        // Slot n is stored as n + 1, so that no slot looks like "no user data".
        let slot = Int(bitPattern: userData) - 1
        guard slots.indices.contains(slot), slots[slot].streamID == streamID else { return nil }
        recentSlot = slot
        return slot
    }

    @inlinable
    public static func userData(of slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
    }

    /// The open streams' slots by stream ID, for a reproducible order.
    var slotsInOrder: [Int] {
        slots.indices.filter { slots[$0].streamID != 0 }
            .sorted { slots[$0].streamID < slots[$1].streamID }
    }

    func firstSlot(where isWanted: (Entry) -> Bool) -> Int? {
        slots.firstIndex { $0.streamID != 0 && isWanted($0) }
    }
}

/// A request's or response's body on its way out; retained, not copied.
public struct OutgoingBody {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    public init() {
        self.init([], 0..<0)
    }

    var isEmpty: Bool { position == end }

    public init(_ bytes: consuming [UInt8], _ range: Range<Int>) {
        precondition(bytes.indices.contains(range) || range.isEmpty, "a body outside its bytes")
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Copies the next bytes out, as many as fit.
    public mutating func read(into room: UnsafeMutableRawBufferPointer) -> (
        count: Int, isLast: Bool
    ) {
        let count = min(room.count, end - position)
        unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the range was checked at init; `count` fits the room.
            unsafe room.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
            )
        }
        position += count
        return (count, position == end)
    }
}

/// A value at a fixed address, for C callbacks to note facts in.
@safe public struct Pinned<Value: ~Copyable>: ~Copyable {
    public let pointer: UnsafeMutablePointer<Value>

    public init(_ value: consuming Value) {
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(to: value)
    }

    deinit {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    // Changing it counts as changing what holds it, though that stays as it is: of a change that
    // does not, Swift 6.3.1 makes invalid code for the thread sanitizer.
    @inlinable public var value: Value {
        _read { yield unsafe pointer.pointee }
        _modify { yield unsafe &pointer.pointee }
    }
}
