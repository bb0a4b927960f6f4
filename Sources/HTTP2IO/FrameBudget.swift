public import Vocabulary

/// Limits how much a peer may send without answering requests.
///
/// HTTP/2 lets a server send SETTINGS, PING, 1xx responses, empty DATA and unknown frames without
/// end, and each costs the client work (RFC 9113, 10.5). The costs of frames add up; each request
/// that the peer ends, and the passage of time, reduces the sum. The rates are far above what a
/// normal peer needs, and far below what does harm.
public struct FrameBudget: Hashable, Sendable {
    /// Eight frames for each of 4096 open streams.
    ///
    /// A peer may accept many requests, and open their windows, before it answers the first.
    public static let capacity = 32_768
    /// How much an answer reduces the sum; covers even 200 KiB pages instead of APNs' few bytes.
    public static let refundForAnswer = 256
    /// How much a second reduces the sum.
    public static let refundForSecond = 100

    private var spent = 0
    /// The time up to which refunds were given.
    private var refundedUntil: Instant?

    public init() {}

    /// The cost of a frame: one unit, and one for each whole KiB of payload.
    static func cost(payloadByteCount: Int) -> Int { 1 + payloadByteCount / 1024 }

    /// Accounts for what the peer has sent since the last call.
    ///
    /// - Parameters:
    ///   - cost: The cost as `cost(payloadByteCount:)` counts it.
    ///   - answers: The number of requests that the peer ended.
    ///   - now: The current time; must not go backwards.
    /// - Returns: Whether the peer stays within the budget.
    public mutating func admits(cost: Int, answers: Int, now: Instant) -> Bool {
        spent = max(0, spent - takeRefund(now: now))
        spent = max(0, spent + cost - answers * Self.refundForAnswer)
        return spent <= Self.capacity
    }

    private mutating func takeRefund(now: Instant) -> Int {
        guard let start = refundedUntil else {
            refundedUntil = now
            return 0
        }
        let interval = 1_000_000_000 / Int64(Self.refundForSecond)
        let units = max(0, (now.nanoseconds &- start.nanoseconds) / interval)
        // The rest of the interval counts next time.
        refundedUntil = Instant(nanoseconds: start.nanoseconds &+ units &* interval)
        return Int(units)
    }
}
