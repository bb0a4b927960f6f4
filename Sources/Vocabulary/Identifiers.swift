/// One event in the engine's hands: a slot, and how often the slot was used before.
///
/// A late answer for an event that has left carries an old generation and is dropped.
package struct DeliveryID: Hashable, Comparable, Sendable {
    // Stored apart: the parts are read all the time, and a getter of another module is a call.
    package let slot: UInt32
    package let generation: UInt32

    package init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    package init(rawValue: UInt64) {
        slot = UInt32(truncatingIfNeeded: rawValue)
        generation = UInt32(truncatingIfNeeded: rawValue >> 32)
    }

    package var rawValue: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    package static func < (left: DeliveryID, right: DeliveryID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// One connection to APNs, numbered per shard in order of birth; never used twice.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static func < (left: ConnectionID, right: ConnectionID) -> Bool {
        left.rawValue < right.rawValue
    }

    package var description: String { "\(rawValue)" }
}
