package import Vocabulary

/// What a delivery begins with, and what never changes: a record, and what it turned out to be.
///
/// An object, because it is large and is looked at all the time: who copies a delivery, or takes
/// the record out of it, counts one reference in place of twenty.
package final class Arrival: Sendable {
    package let record: Record
    /// Nil for a record that is no valid event.
    package let event: Event?
    package let receivedAt: Moment
    /// What was tried in earlier rounds; nil for an event that comes from its source.
    package let history: RetryHistory?
    let ledgerEntry: OffsetLedger.Entry
    let byteCount: Int
    let isBroadcast: Bool
    /// By its place in the configuration.
    let source: Int

    init(
        record: Record,
        event: Event?,
        receivedAt: Moment,
        history: RetryHistory?,
        ledgerEntry: OffsetLedger.Entry,
        source: Int
    ) {
        self.record = record
        self.event = event
        self.receivedAt = receivedAt
        self.history = history
        self.ledgerEntry = ledgerEntry
        byteCount = record.byteCount
        isBroadcast = event?.isBroadcast == true
        self.source = source
    }

    /// The same record, whose event could be read only now.
    func decoded(as event: Event) -> Arrival {
        Arrival(
            record: record,
            event: event,
            receivedAt: receivedAt,
            history: history,
            ledgerEntry: ledgerEntry,
            source: source
        )
    }
}

extension Delivery {
    package var record: Record { arrival.record }
    package var event: Event? { arrival.event }
    package var receivedAt: Moment { arrival.receivedAt }
    package var history: RetryHistory? { arrival.history }
    var ledgerEntry: OffsetLedger.Entry { arrival.ledgerEntry }
    var byteCount: Int { arrival.byteCount }
    var source: Int { arrival.source }
}
