public import Vocabulary

/// Which provider token to send with, by its `iat`.
///
/// APNs wants a key's token replaced after 20 minutes at the earliest, and takes none that is older
/// than an hour ("Establishing a token-based connection to APNs"). It counts over all who have the
/// key. So `iat` is not the time at which a token is made, but the start of a slot that follows
/// from key and wall clock alone, and everybody has the same one (decision 0037).
///
/// A slot's token is in use from 15 to 45 minutes after its `iat`. So it is right as long as the clock
/// is less than 15 minutes wrong, either way.
public struct ProviderTokenSchedule: Hashable, Sendable {
    public static let minInterval: Duration = .seconds(20 * 60)
    public static let maxAge: Duration = .seconds(60 * 60)
    /// From one `iat` to the next.
    public static let slotSeconds: Int64 = 30 * 60
    /// The age at which a slot's token comes into use.
    public static let restSeconds: Int64 = 15 * 60

    /// Where the slots of this key begin, so that not all keys change at once.
    private let shift: Int64
    /// The slot whose token is in use; its start is the token's `iat`.
    private var slot: Int64?
    /// Nil: the token is the first.
    private var changedAt: Instant?

    public init(_ identity: ProviderTokenIdentity) {
        // FNV-1a: any machine and any later version must come to the same.
        let hash = (identity.teamID + identity.keyID).utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        shift = Int64(hash % UInt64(Self.slotSeconds))
    }

    /// The `iat` of the token to send with.
    public mutating func issueTime(now: Moment) -> Timestamp {
        let due = slot(at: now.timestamp, age: Self.restSeconds)
        guard let slot else {
            self.slot = due
            return start(of: due)
        }
        // A token that was taken early stays, unless the clock was set back before it.
        if due > slot || start(of: slot) > now.timestamp { change(to: due, now.instant) }
        return start(of: self.slot ?? due)
    }

    /// APNs called the token expired with which something was sent at that moment.
    ///
    /// Then this clock is behind, and the next slot has begun for all others. Its token is taken 20
    /// minutes after this one's turn came: by then `iat` is in the past for this clock, too.
    public mutating func expired(sentAt: Instant, now: Moment) {
        guard let slot, changedAt.map({ $0 <= sentAt }) ?? true else { return }
        let interval = Self.minInterval.components.seconds
        guard self.slot(at: now.timestamp, age: Self.restSeconds + interval) >= slot else { return }
        change(to: slot + 1, now.instant)
    }

    /// The age of the token in use; nil: none was needed yet.
    public func age(now: Timestamp) -> Duration? {
        slot.map { .milliseconds(now.milliseconds - start(of: $0).milliseconds) }
    }

    /// However the wall clock jumps, one change follows another after 20 minutes.
    private mutating func change(to next: Int64, _ now: Instant) {
        if let changedAt, now - changedAt < Self.minInterval { return }
        slot = next
        changedAt = now
    }

    /// The newest slot that began so many seconds ago.
    private func slot(at now: Timestamp, age: Int64) -> Int64 {
        let seconds = now.seconds - shift - age
        let (quotient, remainder) = seconds.quotientAndRemainder(dividingBy: Self.slotSeconds)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private func start(of slot: Int64) -> Timestamp {
        Timestamp(milliseconds: (slot * Self.slotSeconds + shift) * 1000)
    }
}
