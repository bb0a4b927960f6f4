import Vocabulary

/// How APNs slows down senders that make errors: the stream limit falls, then the connection ends.
///
/// Apple documents that it happens ("Handling notification responses from APNs"), not when. Here
/// each error adds to a score, each success takes one off; 410 counts as neither, and nor does what
/// has no status or is the server's own fault.
package struct ErrorThrottle: Hashable, Sendable {
    /// Whether there is a throttle at all.
    package var isOn = true
    /// Each time the score has grown by this much the stream limit is halved.
    package var step = 20
    /// What a `BadDeviceToken` adds; another error adds one.
    package var badDeviceTokenWeight = 2
    /// The score at which the connection ends with GOAWAY; nil never ends one.
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

    /// The stream limit at a score.
    package func streamLimit(_ full: UInt32, at score: Int) -> UInt32 {
        max(min(1, full), full >> UInt32(min(31, score / max(1, step))))
    }

    package func endsConnection(at score: Int) -> Bool {
        closesAt.map { score >= $0 } ?? false
    }
}
