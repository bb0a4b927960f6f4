/// A delivery's place in a queue, in 8 bytes: void once the delivery has moved on.
struct Ticket: Hashable, Sendable {
    let slot: UInt32
    /// How often the slot had moved when the ticket was given.
    let moves: UInt32
}
