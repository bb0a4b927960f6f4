/// Which entry of its event's `recipients` a notification is for.
public struct RecipientPlace: Hashable, Sendable {
    /// The most entries that one event may have.
    public static let maxCount = 1000

    // Small, because each event and each outcome has room for one.
    private let position: UInt16
    private let total: UInt16

    /// Traps unless there are 1 to 1,000 entries and the index is one of them.
    public init(index: Int, count: Int) {
        precondition(count <= Self.maxCount && 0..<count ~= index, "no such recipient")
        position = UInt16(index)
        total = UInt16(count)
    }

    /// The entry's index in the list, from 0.
    public var index: Int { Int(position) }

    /// The number of entries in the list.
    public var count: Int { Int(total) }
}
