/// Finds bundle IDs of the configuration.
///
/// A hash table of its own, with a hash that takes little time: only the operator chooses what
/// stands in it, so nobody can make it slow, and every event looks here.
struct BundleIDTable: Hashable, Sendable {
    private let names: [String]
    /// Places in `names`, by hash; at least half are free, which is -1.
    private let slots: [Int]

    /// - Parameter names: Each once.
    init(_ names: [String]) {
        self.names = names
        var size = 4
        while size < 2 * names.count { size *= 2 }
        var slots = Array(repeating: -1, count: size)
        for (place, name) in names.enumerated() {
            var slot = Self.hash(of: name) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = place
        }
        self.slots = slots
    }

    /// The name's place in the array that the table was made of.
    func place(of name: String) -> Int? {
        var slot = Self.hash(of: name) & (slots.count - 1)
        while slots[slot] >= 0 {
            if names[slots[slot]] == name { return slots[slot] }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private static let hashedByteCount = 16

    /// Of the end, by which names of one company differ (FNV-1a).
    private static func hash(of name: String) -> Int {
        let bytes = name.utf8.span
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ UInt64(bytes.count)
        for index in max(0, bytes.count - hashedByteCount)..<bytes.count {
            hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        }
        return Int(truncatingIfNeeded: hash >> 32 ^ hash)
    }
}
