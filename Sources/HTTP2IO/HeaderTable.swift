import Glibc

/// The static table (RFC 7541, appendix A), as far as requests to APNs need it.
enum StaticHeaderTable {
    /// The index of a field, or else of its name.
    struct Match {
        var field: Int?
        var name: Int?
    }

    /// The dynamic table's first index.
    static let nextIndex = 62

    static func find(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) -> Match {
        switch name.count {
        case 5 where unsafe equal(name, ":path"): return Match(name: 4)
        case 7 where unsafe equal(name, ":method"):
            if unsafe equal(value, "POST") { return Match(field: 3) }
            return unsafe Match(field: equal(value, "GET") ? 2 : nil, name: 2)
        case 7 where unsafe equal(name, ":scheme"):
            return unsafe Match(field: equal(value, "https") ? 7 : nil, name: 6)
        case 10 where unsafe equal(name, ":authority"): return Match(name: 1)
        case 13 where unsafe equal(name, "authorization"): return Match(name: 23)
        default: return Match()
        }
    }

    private static func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return unsafe memcmp(start, text.utf8Start, bytes.count) == 0
    }
}

/// The peer's dynamic table as this side has filled it (RFC 7541, 2.3.2).
struct HeaderTable {
    private struct Entry {
        /// Counts from the first byte that was ever kept.
        var start: Int
        var nameByteCount: Int
        var valueByteCount: Int

        /// RFC 7541, 4.1.
        var size: Int { nameByteCount + valueByteCount + 32 }
    }

    /// The largest table that is made use of, whatever the peer allows.
    static let maxSize = 4096

    /// Oldest first; names and values of the entries in their order.
    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    private var droppedByteCount = 0
    private var size = 0
    /// What the peer allows; entries that do not fit any more are dropped.
    var limit = HeaderTable.maxSize {
        didSet { makeRoom(for: 0) }
    }

    /// The index of the newest entry of that name, and of that value if it is not nil.
    func find(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>?
    ) -> Int? {
        let entries = entries.span
        for position in entries.indices.reversed() {
            let entry = entries[position]
            guard entry.nameByteCount == name.count,
                unsafe value.map({ $0.count == entry.valueByteCount }) ?? true
            else { continue }
            let start = entry.start - droppedByteCount
            guard unsafe areBytes(name, at: start) else { continue }
            if let value = unsafe value, unsafe !areBytes(value, at: start + name.count) {
                continue
            }
            return StaticHeaderTable.nextIndex + entries.count - 1 - position
        }
        return nil
    }

    /// Whether an entry of these sizes leaves room for others.
    func isWorthwhile(nameByteCount: Int, valueByteCount: Int) -> Bool {
        4 * (nameByteCount + valueByteCount + 32) <= 3 * limit
    }

    /// Adds an entry that is worthwhile, and drops the oldest as the peer will.
    mutating func insert(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) {
        let entry = Entry(
            start: droppedByteCount + bytes.count,
            nameByteCount: name.count,
            valueByteCount: value.count
        )
        makeRoom(for: entry.size)
        entries.append(entry)
        unsafe bytes.append(contentsOf: name)
        unsafe bytes.append(contentsOf: value)
        size += entry.size
    }

    /// RFC 7541, 4.3 and 4.4.
    private mutating func makeRoom(for wanted: Int) {
        var dropped = 0
        while size + wanted > limit, dropped < entries.count {
            size -= entries[dropped].size
            dropped += 1
        }
        guard dropped > 0 else { return }
        let last = entries[dropped - 1]
        let end = last.start + last.nameByteCount + last.valueByteCount
        bytes.removeFirst(end - droppedByteCount)
        droppedByteCount = end
        entries.removeFirst(dropped)
    }

    private func areBytes(_ wanted: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        guard let wantedStart = wanted.baseAddress else { return true }
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            // SAFETY: the entry has that many bytes from `start` on.
            return unsafe memcmp(wantedStart, base + start, wanted.count) == 0
        }
    }
}
