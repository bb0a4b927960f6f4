public import Vocabulary

/// When to mint a provider token.
///
/// APNs wants one at most every 20 minutes and at least every 60 ("Establishing a token-based
/// connection to APNs"). Tokens are numbered, so that many answers about the same stale token
/// lead to one refresh.
///
/// The monotonic clock decides how often. The wall clock decides as well how old: APNs looks at
/// `iat`, which a clock that was set since has made too old, or put into the future.
public struct ProviderTokenSchedule: Hashable, Sendable {
    public enum Action: Hashable, Sendable {
        /// Send with the token there is.
        case useCurrent
        /// Make one, then call `minted`.
        case mint
        /// Neither helps: the credential waits until then.
        case wait(until: Instant)
    }

    public static let minInterval: Duration = .seconds(20 * 60)
    public static let maxAge: Duration = .seconds(60 * 60)
    /// By the wall clock; the rest of the hour is for the difference to APNs' own clock.
    public static let maxWallClockAge: Duration = .seconds(50 * 60)
    /// So far in the future an `iat` may be: clocks are corrected by seconds all the time.
    public static let clockTolerance: Duration = .seconds(60)

    private struct Token: Hashable, Sendable {
        var serial: Int
        var mintedAt: Instant
        /// Its `iat`.
        var issuedAt: Timestamp
        /// It replaced a token that APNs called expired.
        var isEarly: Bool
    }

    private let refreshAfter: Duration
    private var current: Token?
    /// The next token replaces one that APNs called expired.
    private var refreshIsEarly = false

    /// - Parameter refreshAfter: age at which a token is replaced, 20 to 60 minutes exclusive
    ///   of the latter.
    public init(refreshAfter: Duration = .seconds(45 * 60)) {
        precondition(
            refreshAfter >= Self.minInterval && refreshAfter < Self.maxAge,
            "a provider token lives between 20 and 60 minutes"
        )
        self.refreshAfter = refreshAfter
    }

    /// Asked before sending; never says `wait`.
    public func tokenWanted(now: Moment) -> Action {
        guard let current else { return .mint }
        let age = now.instant - current.mintedAt
        let isDue = age >= refreshAfter || Self.isStrange(current.issuedAt, now.timestamp)
        return isDue && age >= Self.minInterval ? .mint : .useCurrent
    }

    /// A token was made.
    ///
    /// - Returns: the token's number, to be named when APNs calls it expired.
    public mutating func minted(now: Moment) -> Int {
        let serial = (current?.serial ?? 0) + 1
        current = Token(
            serial: serial,
            mintedAt: now.instant,
            issuedAt: now.timestamp,
            isEarly: refreshIsEarly
        )
        refreshIsEarly = false
        return serial
    }

    /// APNs answered `ExpiredProviderToken` to a request with that token.
    ///
    /// One early refresh heals a clock that had jumped. If its token is called expired as well,
    /// the clock is wrong and minting more tokens would only add `TooManyProviderTokenUpdates`.
    public mutating func expired(serial: Int, now: Instant) -> Action {
        guard let current else { return .mint }
        guard serial == current.serial else { return .useCurrent }
        let regular = current.mintedAt + refreshAfter
        let next = current.isEarly ? regular : min(regular, current.mintedAt + Self.minInterval)
        guard now >= next else { return .wait(until: next) }
        refreshIsEarly = true
        return .mint
    }

    /// Whether the wall clock makes the token older than APNs takes it, or not made yet.
    private static func isStrange(_ issuedAt: Timestamp, _ now: Timestamp) -> Bool {
        let age = Duration.milliseconds(now.milliseconds - issuedAt.milliseconds)
        return age > maxWallClockAge || age < .zero - clockTolerance
    }
}
