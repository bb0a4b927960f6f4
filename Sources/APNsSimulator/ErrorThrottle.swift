import Vocabulary

/// How APNs throttles senders that cause errors: it lowers the stream limit, then closes.
///
/// Apple documents the effect ("Handling notification responses from APNs"), but not the
/// thresholds. Here each error raises a score, and each success lowers it by one. A 410 does not
/// change it, nor do answers without a status and the server's own errors.
package struct ErrorThrottle: Hashable, Sendable {
    /// Whether the throttle is active.
    package var isOn = true
    /// The stream limit is halved each time the score has grown by this much.
    package var step = 20
    /// How much a `BadDeviceToken` adds; other errors add one.
    package var badDeviceTokenWeight = 2
    /// The score at which the connection ends with GOAWAY; nil: never.
    package var closesAt: Int? = 200

    package init() {}

    /// The score after an answer.
    package func score(_ score: Int, after answer: Answer) -> Int {
        guard isOn else { return 0 }
        guard let status = answer.status else { return score }
        switch status {
        case 200..<300: return max(0, score - 1)
        case 410: return score
        case 400..<500:
            if case .refused(let refusal) = answer, refusal.reason == .badDeviceToken {
                return score + badDeviceTokenWeight
            }
            return score + 1
        default: return score
        }
    }

    /// The stream limit for a score.
    package func streamLimit(_ full: UInt32, at score: Int) -> UInt32 {
        max(min(1, full), full >> UInt32(min(31, score / max(1, step))))
    }

    package func endsConnection(at score: Int) -> Bool {
        closesAt.map { score >= $0 } ?? false
    }
}
