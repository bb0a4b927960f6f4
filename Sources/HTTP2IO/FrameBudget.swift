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

    /// Accounts for what the peer has sent since the last call.
    ///
    /// - Parameters:
    ///   - cost: The cost as measured by `FrameMeter`.
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

/// Measures the cost of frames in a byte stream, independently of nghttp2.
///
/// A frame costs one unit, plus one for each whole KiB of payload. It counts once the frame's
/// header is complete (RFC 9113, 4.1).
public struct FrameMeter: Hashable, Sendable {
    private static let headerByteCount = 9
    private static let lengthByteCount = 3
    private static let unitByteCount = 1024

    /// How much of the current header was read.
    private var readByteCount = 0
    /// The payload's length while the header is read; then the number of payload bytes to come.
    private var payloadByteCount = 0

    public init() {}

    /// Processes the next bytes of the stream.
    ///
    /// - Returns: The cost of the frames whose headers end in these bytes.
    public mutating func cost(of bytes: UnsafeRawBufferPointer) -> Int {
        var cost = 0
        var position = 0
        while position < bytes.count {
            if readByteCount == Self.headerByteCount {
                let skipped = min(payloadByteCount, bytes.count - position)
                position += skipped
                payloadByteCount -= skipped
                if payloadByteCount > 0 { return cost }
                readByteCount = 0
                continue
            }
            if readByteCount < Self.lengthByteCount {
                // SAFETY: the position is below the count.
                payloadByteCount = payloadByteCount << 8 | Int(unsafe bytes[position])
            }
            readByteCount += 1
            position += 1
            if readByteCount == Self.headerByteCount {
                cost += 1 + payloadByteCount / Self.unitByteCount
            }
        }
        return cost
    }
}
