import Vocabulary

/// A channel's newest broadcast says all that its older ones do, and better: one is in flight, and
/// of those that wait only the newest is kept.
extension DeliveryEngine {
    /// Ends the channel's broadcasts that came before one that stands in its line.
    ///
    /// The one in flight stays: its answer decides.
    mutating func supersedeOlder(than newest: DeliveryID, _ channel: KeyedHash, now: Moment) {
        for older in pacing.line(of: channel) where older != newest { supersede(older, now: now) }
    }

    /// Ends a broadcast that would be sent once more, though a newer one waits behind it.
    mutating func endsSuperseded(_ id: DeliveryID, _ event: Event, now: Moment) -> Bool {
        guard event.isBroadcast, let channel = deliveries[id]?.device,
            !pacing.isNewest(id, of: channel)
        else { return false }
        supersede(id, now: now)
        return true
    }
}
