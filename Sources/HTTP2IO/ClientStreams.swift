/// A client's request, from `submit` until its stream is closed.
struct ClientStream {
    /// 0 if the slot is free.
    fileprivate(set) var streamID: Int32 = 0
    fileprivate(set) var tag: UInt64 = 0
    var response = IncomingResponse()
    var body = OutgoingBody()
    /// How many bytes of the body the peer accepts; below 0 after it shrank the window of all
    /// streams (RFC 9113, 6.9.2).
    var sendWindow = 0
    var window = ReceiveWindow(size: ReceiveWindow.initialSize)
    /// Whether the request's HEADERS were framed.
    fileprivate(set) var hasBegun = false
    /// The ciphertext byte count before the request's last frame; nil while that waits.
    var endMark: UInt64?
}

/// The open streams of a client, in reused slots.
struct ClientStreams {
    private var slots: [ClientStream] = []
    private var freeSlots: [Int] = []
    private var index = StreamIndex()
    /// The open streams that the peer knows of, or is about to.
    private(set) var begunCount = 0

    var count: Int { slots.count - freeSlots.count }
    var isEmpty: Bool { count == 0 }

    subscript(slot: Int) -> ClientStream {
        _read { yield slots[slot] }
        _modify { yield &slots[slot] }
    }

    /// The slot of an open stream.
    func slot(of streamID: Int32) -> Int? { index.slot(of: streamID) }

    /// Opens a stream; its ID must be higher than all before.
    mutating func open(
        _ streamID: Int32,
        tag: UInt64,
        _ body: consuming OutgoingBody,
        sendWindow: Int
    ) {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(ClientStream()) }
        slots[slot].streamID = streamID
        slots[slot].tag = tag
        slots[slot].body = body
        slots[slot].sendWindow = sendWindow
        index.insert(streamID, slot)
    }

    /// The request's HEADERS were framed.
    mutating func begin(_ slot: Int) {
        slots[slot].hasBegun = true
        begunCount += 1
    }

    mutating func close(_ slot: Int) {
        if slots[slot].hasBegun { begunCount -= 1 }
        index.remove(slots[slot].streamID)
        slots[slot] = ClientStream()
        freeSlots.append(slot)
    }

    /// The slots of open streams, ordered by stream ID to be reproducible.
    var slotsInOrder: [Int] {
        slots.indices.filter { slots[$0].streamID != 0 }
            .sorted { slots[$0].streamID < slots[$1].streamID }
    }

    func firstSlot(tag: UInt64) -> Int? {
        slots.firstIndex { $0.streamID != 0 && $0.tag == tag }
    }
}

/// Finds the slot of a stream by its ID: a hash table with open addressing.
private struct StreamIndex {
    private struct Entry {
        /// 0: free.
        var streamID: Int32 = 0
        var slot: Int32 = 0
    }

    /// A power of two.
    private var entries = [Entry](repeating: Entry(), count: 64)
    private var count = 0

    private var mask: Int { entries.count - 1 }

    /// Spreads IDs that follow each other evenly, so that they hardly ever meet, and no search is
    /// long: multiplies by the golden ratio and takes the upper bits.
    private func home(of streamID: Int32) -> Int {
        Int(
            truncatingIfNeeded: (UInt64(bitPattern: Int64(streamID)) &* 0x9E37_79B9_7F4A_7C15) >> 40
        )
            & mask
    }

    /// The entry with this ID, or the free one that ends the search.
    private func place(of streamID: Int32) -> Int {
        var place = home(of: streamID)
        while entries[place].streamID != streamID, entries[place].streamID != 0 {
            place = (place + 1) & mask
        }
        return place
    }

    func slot(of streamID: Int32) -> Int? {
        let entry = entries[place(of: streamID)]
        return entry.streamID == 0 ? nil : Int(entry.slot)
    }

    mutating func insert(_ streamID: Int32, _ slot: Int) {
        if 2 * (count + 1) > entries.count { grow() }
        entries[place(of: streamID)] = Entry(streamID: streamID, slot: Int32(slot))
        count += 1
    }

    /// Frees the entry and closes the gap, so that no search ends too early.
    mutating func remove(_ streamID: Int32) {
        var gap = place(of: streamID)
        precondition(entries[gap].streamID != 0, "a stream that is not open")
        var next = (gap + 1) & mask
        while entries[next].streamID != 0 {
            // An entry may not move in front of its home.
            let distance = (next - home(of: entries[next].streamID)) & mask
            if distance >= (next - gap) & mask {
                entries[gap] = entries[next]
                gap = next
            }
            next = (next + 1) & mask
        }
        entries[gap] = Entry()
        count -= 1
    }

    private mutating func grow() {
        let old = entries
        entries = [Entry](repeating: Entry(), count: 2 * old.count)
        for entry in old where entry.streamID != 0 { entries[place(of: entry.streamID)] = entry }
    }
}

/// The body of an outgoing request or response; retained, not copied.
public struct OutgoingBody {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    public init() {
        self.init([], 0..<0)
    }

    /// The number of bytes that were not read yet.
    var count: Int { end - position }
    var isEmpty: Bool { position == end }

    public init(_ bytes: consuming [UInt8], _ range: Range<Int>) {
        precondition(bytes.indices.contains(range) || range.isEmpty, "a body outside its bytes")
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Copies as many of the next bytes as fit.
    public mutating func read(into room: UnsafeMutableRawBufferPointer) -> (
        count: Int, isLast: Bool
    ) {
        let count = min(room.count, end - position)
        unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the range was checked in the initializer; `count` fits into the buffer.
            unsafe room.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
            )
        }
        position += count
        return (count, position == end)
    }
}
