public import Vocabulary

/// Selects the provider token to send, identified by its `iat`.
///
/// APNs requires that a key's token is replaced after at least 20 minutes, and rejects tokens older
/// than an hour ("Establishing a token-based connection to APNs"). It counts across all users of
/// the key. Therefore `iat` is not the time at which a token is made, but the start of a time slot
/// that depends only on the key and the wall clock, so that all processes use the same one
/// (decision 0037).
///
/// A slot's token is used from 15 to 45 minutes after its `iat`, so it works as long as the clock
/// is wrong by less than 15 minutes.
public struct ProviderTokenSchedule: Hashable, Sendable {
    public static let minInterval: Duration = .seconds(20 * 60)
    public static let maxAge: Duration = .seconds(60 * 60)
    /// The time from one `iat` to the next.
    public static let slotSeconds: Int64 = 30 * 60
    /// The age at which a slot's token is first used.
    public static let restSeconds: Int64 = 15 * 60

    /// The offset of this key's slots, so that not all keys change tokens at once.
    private let shift: Int64
    /// The slot whose token is used; the slot's start is the token's `iat`.
    private var slot: Int64?
    /// Nil: the token has not changed yet, or changed in a time without requests.
    private var changedAt: Instant?
    /// When a token was last asked for.
    private var usedAt = Instant(nanoseconds: .min)

    public init(_ identity: ProviderTokenIdentity) {
        // FNV-1a: every machine and every later version must compute the same value.
        let hash = (identity.teamID + identity.keyID).utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        shift = Int64(hash % UInt64(Self.slotSeconds))
    }

    /// The `iat` of the token to use now.
    public mutating func issueTime(now: Moment) -> Timestamp {
        defer { usedAt = now.instant }
        let due = slot(at: now.timestamp, age: Self.restSeconds)
        guard let slot else {
            self.slot = due
            return start(of: due)
        }
        // A token that was adopted early stays in use, unless the clock was set back to before its
        // `iat`.
        if due > slot || start(of: slot) > now.timestamp { change(to: due, now.instant) }
        return start(of: self.slot ?? due)
    }

    /// APNs called a token expired that was used in a request sent at `sentAt`.
    ///
    /// This means that this clock is slow, and others already use the next slot. That slot's token
    /// is adopted from 20 minutes after the current one was due: by then its `iat` is in the past
    /// for this clock, too.
    public mutating func expired(sentAt: Instant, now: Moment) {
        guard let slot, changedAt.map({ $0 <= sentAt }) ?? true else { return }
        let interval = Self.minInterval.components.seconds
        guard self.slot(at: now.timestamp, age: Self.restSeconds + interval) >= slot else { return }
        change(to: slot + 1, now.instant)
    }

    /// The age of the token in use; nil: none was used yet.
    public func age(now: Timestamp) -> Duration? {
        slot.map { .milliseconds(now.milliseconds - start(of: $0).milliseconds) }
    }

    /// Changes the slot; at least 20 minutes pass between changes, even if the wall clock jumps.
    private mutating func change(to next: Int64, _ now: Instant) {
        if let changedAt, now - changedAt < Self.minInterval { return }
        slot = next
        // After a time without requests, the token's turn may be nearly over. If this change counted,
        // the token would expire before the next one.
        changedAt = usedAt + Self.minInterval <= now ? nil : now
    }

    /// The latest slot that is at least `age` seconds old.
    private func slot(at now: Timestamp, age: Int64) -> Int64 {
        let seconds = now.seconds - shift - age
        let (quotient, remainder) = seconds.quotientAndRemainder(dividingBy: Self.slotSeconds)
        return remainder < 0 ? quotient - 1 : quotient
    }

    private func start(of slot: Int64) -> Timestamp {
        Timestamp(milliseconds: (slot * Self.slotSeconds + shift) * 1000)
    }
}
