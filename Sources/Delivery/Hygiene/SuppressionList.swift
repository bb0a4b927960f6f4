public import Vocabulary

/// The device tokens that APNs called dead (410), each with the time since when; and those of which
/// the token-status topic says anything else, which is to be withdrawn when they work.
///
/// A table with open addressing and linear probing: 16 bytes a slot, at least a quarter of the
/// slots free. It doubles as it fills, so a token costs 22 to 43 bytes, and a million tokens
/// 32 MiB. Nothing else is kept: no token can be read out of it.
///
/// A full list makes room by forgetting the token that has been dead longest among the
/// `evictionWidth` entries next to the new one, or one that is not dead. What was forgotten costs one
/// request, as APNs says 410 again; or a word that stays.
public struct SuppressionList: Hashable, Sendable {
    private struct Slot: Hashable {
        /// 0 is a free slot.
        var hash: UInt64 = 0
        var milliseconds: Int64 = 0

        var isDead: Bool { milliseconds != SuppressionList.noted.milliseconds }
    }

    /// Instead of a time: the token is not dead, but something is said of it.
    public static let noted = Timestamp(milliseconds: .min)

    public let maxCount: Int
    public private(set) var count = 0
    /// Those of them that are dead.
    public private(set) var deadCount = 0
    /// Entries that made room for others.
    public private(set) var evictions = 0
    private var slots: [Slot]

    private static let smallest = 16
    private static let evictionWidth = 16

    /// An empty list for at most this many tokens; 0 remembers none.
    public init(maxCount: Int) {
        self.maxCount = maxCount
        slots = Array(repeating: Slot(), count: Self.smallest)
    }

    /// What the table takes, in bytes.
    public var byteCount: Int { slots.count * MemoryLayout<Slot>.stride }

    /// What the table takes at most, in bytes; while it doubles, half as much again.
    public static func byteCount(ofTokens count: Int) -> Int {
        var slots = smallest
        while needsMore(slots, for: count) { slots *= 2 }
        return slots * MemoryLayout<Slot>.stride
    }

    /// Since when APNs has called the token dead, or `noted`; nil: it is not listed.
    public subscript(token: KeyedHash) -> Timestamp? {
        let slot = slots[position(of: token.rawValue)]
        return slot.hash == 0 ? nil : Timestamp(milliseconds: slot.milliseconds)
    }

    /// Notes that the token is dead, or `noted`; APNs' last time replaces an earlier one.
    public mutating func insert(_ token: KeyedHash, since timestamp: Timestamp) {
        guard maxCount > 0 else { return }
        var index = position(of: token.rawValue)
        if slots[index].hash == 0 {
            if count == maxCount {
                evict(near: index)
            } else if Self.needsMore(slots.count, for: count + 1) {
                grow()
            }
            // Either may have moved what was free.
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

    /// The hashes are as good as random, so any of their bits do.
    private func home(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (slots.count - 1)
    }

    private func next(_ index: Int) -> Int { (index + 1) & (slots.count - 1) }

    /// The slot that holds the hash, or the free one where it would stand.
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

    /// Frees the slot and closes the gap, so that no search ends early at it.
    private mutating func free(_ freed: Int) {
        if slots[freed].isDead { deadCount -= 1 }
        var gap = freed
        var index = next(freed)
        while slots[index].hash != 0 {
            let home = home(of: slots[index].hash)
            // An entry may move back only as far as its home.
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

    /// Forgets the oldest of the entries next to `start`.
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
