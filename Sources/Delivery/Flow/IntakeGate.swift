public import Vocabulary

/// Limits how much may be read from Kafka: the number of in-flight events and their bytes.
///
/// Events never exceed their limit. Bytes may exceed it by one record, whose size is known only
/// after it is read; a record larger than the whole limit still gets through, alone.
///
/// There are two stages, because a pause discards the records that librdkafka prefetched. When
/// full, the shard first only stops polling, except for one record from time to time, which also
/// lets librdkafka handle a rebalance. If it stays full, the partitions are paused until half of
/// the room is free again.
///
/// Records and recipients of records that arrived earlier share the limit on events: while both
/// wait, neither takes more than three quarters of it.
public struct IntakeGate: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        public var events: Int
        public var bytes: Int
        /// The time between two single records while full.
        public var trickleInterval: Duration
        /// Pause the partitions once full for this long, or once the hard limit is reached.
        public var pauseAfter: Duration

        public init(
            events: Int,
            bytes: Int,
            trickleInterval: Duration = .milliseconds(250),
            pauseAfter: Duration = .seconds(5)
        ) {
            self.events = events
            self.bytes = bytes
            self.trickleInterval = trickleInterval
            self.pauseAfter = pauseAfter
        }
    }

    private enum Phase: Hashable, Sendable {
        /// Next: `full`.
        case open
        /// Next: `open`, `paused`.
        case full(since: Instant, nextTrickle: Instant)
        /// Next: `open`.
        case paused
    }

    /// The most records requested at once, so that the rest of the loop gets its turn.
    static let batch = 256
    /// Events reserved for single records while full, if the limit is large enough.
    private static let trickleReserve = 32

    private let limits: Limits
    private var phase = Phase.open
    public private(set) var events = 0
    public private(set) var bytes = 0
    /// How many of the events are recipients, or groups of them.
    private var recipients = 0
    /// Whether recipients would enter if there were room.
    private var doRecipientsWait = false

    public init(limits: Limits) {
        self.limits = limits
    }

    // MARK: Inputs

    public mutating func entered(byteCount: Int) {
        events += 1
        bytes += byteCount
    }

    public mutating func left(byteCount: Int) {
        precondition(events > 0 && bytes >= byteCount, "more left than entered")
        events -= 1
        bytes -= byteCount
    }

    public mutating func recipientEntered() {
        entered(byteCount: 0)
        recipients += 1
    }

    public mutating func recipientLeft() {
        precondition(recipients > 0, "more left than entered")
        recipients -= 1
        left(byteCount: 0)
    }

    /// A record's recipients become events of their own; its bytes stay until they have all left.
    public mutating func opened() {
        precondition(events > 0, "more left than entered")
        events -= 1
    }

    /// All recipients of a record have left.
    public mutating func closed(byteCount: Int) {
        precondition(bytes >= byteCount, "more left than entered")
        bytes -= byteCount
    }

    /// `doRecipientsWait`: they would enter if there were room.
    ///
    /// - Returns: whether `isPaused` has changed.
    public mutating func timeAdvanced(now: Instant, doRecipientsWait: Bool = false) -> Bool {
        self.doRecipientsWait = doRecipientsWait
        let wasPaused = isPaused
        switch phase {
        case .open:
            guard room == 0 else { break }
            phase = .full(since: now, nextTrickle: now + limits.trickleInterval)
        case .full(let since, _):
            if room > 0 {
                phase = .open
            } else if since + limits.pauseAfter <= now || isAtLimit {
                phase = .paused
            }
        case .paused:
            guard records * 2 <= limits.events, bytes * 2 <= limits.bytes, room > 0
            else { break }
            phase = .open
        }
        return isPaused != wasPaused
    }

    /// The number of records the shard may request now.
    ///
    /// While paused it may poll freely: that returns rebalances, not records.
    public mutating func budget(now: Instant) -> Int {
        switch phase {
        case .open: return room
        case .paused: return Self.batch
        case .full(let since, let nextTrickle):
            guard nextTrickle <= now, !isAtLimit else { return 0 }
            phase = .full(since: since, nextTrickle: now + limits.trickleInterval)
            return 1
        }
    }

    // MARK: Queries

    /// How many bytes of records the shard may take now; it stops after the record that uses them
    /// up.
    public var byteBudget: Int { max(0, limits.bytes - limits.bytes / 16 - bytes) }

    public var isPaused: Bool { phase == .paused }
    public var isOpen: Bool { phase == .open }

    /// Whether an item of a known size may enter; an empty gate admits any size.
    func hasRoom(forByteCount byteCount: Int) -> Bool {
        events == 0 || (events < limits.events && bytes + byteCount <= limits.bytes)
    }

    /// Whether a recipient of a record that has arrived may become an event.
    public var hasRoomForRecipient: Bool {
        events == 0 || (recipients < threeQuarters && events < limits.events - reserve)
    }

    /// Whether nine tenths of a limit are used, so that waiting deliveries block new ones.
    var isNearlyFull: Bool {
        events * 10 >= limits.events * 9 || bytes * 10 >= limits.bytes * 9
            || doRecipientsWait && records * 10 >= threeQuarters * 9
    }

    public var nextDeadline: Instant? {
        guard case .full(let since, let nextTrickle) = phase else { return nil }
        return min(nextTrickle, since + limits.pauseAfter)
    }

    /// Whether not even a single record fits.
    private var isAtLimit: Bool { events >= limits.events || bytes >= limits.bytes }

    /// How many records fit, after reserving places for a few single ones.
    private var room: Int {
        guard byteBudget > 0 else { return 0 }
        let free = limits.events - reserve - events
        let share = doRecipientsWait ? threeQuarters - records : free
        return max(0, min(free, share, Self.batch))
    }

    private var records: Int { events - recipients }
    private var reserve: Int { min(Self.trickleReserve, limits.events / 8) }
    private var threeQuarters: Int { limits.events - limits.events / 4 }
}
