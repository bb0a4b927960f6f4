public import Vocabulary

/// How much a peer may send without answering.
///
/// HTTP/2 lets a server send SETTINGS, PING, 1xx responses, empty DATA and frames of unknown types
/// without end, and each costs the client work (RFC 9113, 10.5). What frames cost is added up; each
/// request that the peer ends takes some of it back, and so does time. The rates are far above what
/// a peer that answers ever needs, and far below what hurts.
public struct FrameBudget: Hashable, Sendable {
    /// Eight frames for each of 4096 open streams: a peer may take in many requests, and open its
    /// windows for each, before it answers the first.
    public static let capacity = 32_768
    /// What an answer gives back: pages of 200 KiB in the place of APNs' few octets cost no more.
    public static let refundForAnswer = 256
    /// What a second gives back.
    public static let refundForSecond = 100

    private var spent = 0
    /// Time up to here was given back.
    private var refundedUntil: Instant?

    public init() {}

    /// Takes in what the peer has said since the last call.
    ///
    /// - Parameters:
    ///   - cost: By `FrameMeter`.
    ///   - answers: Requests that the peer has ended.
    ///   - now: What the time is; it never goes back.
    /// - Returns: Whether the peer keeps within the budget.
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
        // What is left of the interval counts the next time.
        refundedUntil = Instant(nanoseconds: start.nanoseconds &+ units &* interval)
        return Int(units)
    }
}

/// The cost of the frames in a stream of bytes, however nghttp2 handles them.
///
/// A frame costs one unit, and one more for each whole KiB of its payload. It is due with the
/// frame's header (RFC 9113, 4.1).
public struct FrameMeter: Hashable, Sendable {
    private static let headerByteCount = 9
    private static let lengthByteCount = 3
    private static let unitByteCount = 1024

    /// Of the header that is being read.
    private var readByteCount = 0
    /// The payload's length, as far as the header is read; then what of it is still to come.
    private var payloadByteCount = 0

    public init() {}

    /// Takes the next bytes of the stream.
    ///
    /// - Returns: What the frames cost whose headers end in them.
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
