/// Identifies one event in the engine: a slot, and how many times the slot was reused.
///
/// A late answer for an event that has left the engine carries an old generation and is dropped.
public struct DeliveryID: Hashable, Comparable, Sendable {
    // Stored separately: both are read often, and a getter in another module costs a call.
    public let slot: UInt32
    public let generation: UInt32

    public init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    public init(rawValue: UInt64) {
        slot = UInt32(truncatingIfNeeded: rawValue)
        generation = UInt32(truncatingIfNeeded: rawValue >> 32)
    }

    public var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    public static func < (left: DeliveryID, right: DeliveryID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// One connection to APNs, numbered per shard in order of creation; never reused.
public struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static func < (left: ConnectionID, right: ConnectionID) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { "\(rawValue)" }
}
