/// One event in the engine: a slot, and how often the slot was used before.
///
/// A late answer for an event that has left carries an old generation and is dropped.
public struct DeliveryID: Hashable, Comparable, Sendable {
    // Stored apart: the parts are read all the time, and a getter of another module is a call.
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
