public import Vocabulary

/// The device tokens that APNs called dead (410), with the time since when.
///
/// Also holds tokens with a token-status record that must be withdrawn once they work again.
///
/// A hash table with open addressing and linear probing: 16 bytes per slot, at least a quarter of
/// the slots free. It doubles as it fills, so a token costs 22 to 43 bytes, and a million tokens 32
/// MiB. Tokens cannot be recovered from it.
///
/// A full list evicts one of the `evictionWidth` entries next to the new one: a token that is not
/// dead, or else the one that has been dead longest. Forgetting a dead token costs one request,
/// because APNs answers 410 again. Forgetting another one leaves its token-status record in place.
public struct SuppressionList: Hashable, Sendable {
    private struct Slot: Hashable {
        /// 0 is a free slot.
        var hash: UInt64 = 0
        var milliseconds: Int64 = 0

        var isDead: Bool { milliseconds != SuppressionList.noted.milliseconds }
    }

    /// Instead of a time: the token is not dead, but has a token-status record.
    public static let noted = Timestamp(milliseconds: .min)

    public let maxCount: Int
    public private(set) var count = 0
    /// How many of the listed tokens are dead.
    public private(set) var deadCount = 0
    /// Entries evicted to make room for others.
    public private(set) var evictions = 0
    private var slots: [Slot]

    private static let smallest = 16
    private static let evictionWidth = 16

    /// Makes an empty list for at most this many tokens; 0 remembers none.
    public init(maxCount: Int) {
        self.maxCount = maxCount
        slots = Array(repeating: Slot(), count: Self.smallest)
    }

    /// The table's size in bytes.
    public var byteCount: Int { slots.count * MemoryLayout<Slot>.stride }

    /// The table's maximum size in bytes; half as much more while it doubles.
    public static func byteCount(ofTokens count: Int) -> Int {
        var slots = smallest
        while needsMore(slots, for: count) { slots *= 2 }
        return slots * MemoryLayout<Slot>.stride
    }

    /// When the token died, as reported by APNs, or `noted`; nil: it is not listed.
    public subscript(token: KeyedHash) -> Timestamp? {
        let slot = slots[position(of: token.rawValue)]
        return slot.hash == 0 ? nil : Timestamp(milliseconds: slot.milliseconds)
    }

    /// Lists a token as dead or `noted`; a later time from APNs replaces an earlier one.
    public mutating func insert(_ token: KeyedHash, since timestamp: Timestamp) {
        guard maxCount > 0 else { return }
        var index = position(of: token.rawValue)
        if slots[index].hash == 0 {
            if count == maxCount {
                evict(near: index)
            } else if Self.needsMore(slots.count, for: count + 1) {
                grow()
            }
            // Either of them may have moved entries.
            index = position(of: token.rawValue)
            count += 1
        } else if timestamp == Self.noted {
            return
        } else if slots[index].isDead {
            deadCount -= 1
        }
        if timestamp != Self.noted { deadCount += 1 }
        slots[index] = Slot(
            hash: token.rawValue,
            milliseconds: timestamp.milliseconds
        )
    }

    /// - Returns: false if the token was not listed.
    @discardableResult
    public mutating func remove(_ token: KeyedHash) -> Bool {
        let index = position(of: token.rawValue)
        guard slots[index].hash != 0 else { return false }
        free(index)
        return true
    }

    // MARK: The table

    private static func needsMore(_ slotCount: Int, for count: Int) -> Bool {
        count > slotCount / 4 * 3
    }

    /// The hashes are as good as random, so any of their bits will do.
    private func home(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (slots.count - 1)
    }

    private func next(_ index: Int) -> Int { (index + 1) & (slots.count - 1) }

    /// The slot with this hash, or the free slot where it belongs.
    private func position(of hash: UInt64) -> Int {
        var index = home(of: hash)
        while slots[index].hash != hash, slots[index].hash != 0 {
            index = next(index)
        }
        return index
    }

    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(), count: old.count * 2)
        for slot in old where slot.hash != 0 {
            slots[position(of: slot.hash)] = slot
        }
    }

    /// Frees the slot and closes the gap, so that no search ends too early.
    private mutating func free(_ freed: Int) {
        if slots[freed].isDead { deadCount -= 1 }
        var gap = freed
        var index = next(freed)
        while slots[index].hash != 0 {
            let home = home(of: slots[index].hash)
            // An entry may not move in front of its home slot.
            let distance = (index - home) & (slots.count - 1)
            if distance >= (index - gap) & (slots.count - 1) {
                slots[gap] = slots[index]
                gap = index
            }
            index = next(index)
        }
        slots[gap] = Slot()
        count -= 1
    }

    /// Evicts the oldest of the entries next to `start`.
    private mutating func evict(near start: Int) {
        var oldest: Int?
        var seen = 0
        var index = start
        while seen < min(Self.evictionWidth, count) {
            if slots[index].hash != 0 {
                seen += 1
                if oldest.map({ slots[index].milliseconds < slots[$0].milliseconds }) ?? true {
                    oldest = index
                }
            }
            index = next(index)
        }
        guard let oldest else { return }
        free(oldest)
        evictions += 1
    }
}
