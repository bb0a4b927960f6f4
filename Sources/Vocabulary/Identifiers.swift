/// One event in the engine's hands: a slot, and how often the slot was used before.
///
/// A late answer for an event that has left carries an old generation and is dropped.
package struct DeliveryID: Hashable, Comparable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package init(slot: UInt32, generation: UInt32) {
        rawValue = UInt64(generation) << 32 | UInt64(slot)
    }

    package var slot: Int { Int(rawValue & 0xFFFF_FFFF) }
    package var generation: UInt32 { UInt32(rawValue >> 32) }

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
