package import Vocabulary

/// A GOAWAY (RFC 9113, section 6.8): the last stream that it covers, and its reason.
package struct GoAway: Hashable, Sendable {
    package enum Reach: Hashable, Sendable {
        /// Excludes the request that caused it and later ones, but never one that was already
        /// judged.
        case leavingOut
        /// The request that caused it still gets its answer; later ones are excluded.
        case graceful
        /// Last-stream-ID 0, regardless of what was processed; APNs should never send this.
        case nothing
    }

    package var reach: Reach
    /// Sent as JSON in the debug data.
    package var reason: APNsReason?

    package init(_ reach: Reach = .leavingOut, _ reason: APNsReason? = nil) {
        self.reach = reach
        self.reason = reason
    }

    var debugData: [UInt8] { reason.map { Refusal(0, $0).body } ?? [] }
}

/// A fault of a whole connection.
package enum ConnectionFault: Hashable, Sendable {
    case goAway(GoAway)
    /// The connection closes without any message.
    case close
    /// The connection stays open, but the server sends nothing more, not even answers to PING.
    case stall
    /// The server ends its sending direction (TCP FIN); the client's stays open.
    case halfClose
    /// Bytes inside TLS that are not an HTTP/2 frame.
    case garbage
    /// An answer whose header block does not end (CVE-2024-27316).
    case endlessHeaders

    /// The name in the log and in scenario files.
    package var word: String {
        switch self {
        case .goAway: "goaway"
        case .close: "close"
        case .stall: "stall"
        case .halfClose: "half-close"
        case .garbage: "garbage"
        case .endlessHeaders: "endless-headers"
        }
    }

    /// Reads `goaway`, `goaway graceful Shutdown`, `goaway nothing`, `close`, `stall`,
    /// `half-close`, `garbage` and `endless-headers`.
    package init?(_ text: some StringProtocol) {
        switch text {
        case "close": self = .close
        case "stall": self = .stall
        case "half-close": self = .halfClose
        case "garbage": self = .garbage
        case "endless-headers": self = .endlessHeaders
        default:
            var words = String(text).split(separator: " ").map(String.init)
            guard words.first == "goaway" else { return nil }
            words.removeFirst()
            var goAway = GoAway()
            if words.first == "graceful" || words.first == "nothing" {
                goAway.reach = words.removeFirst() == "graceful" ? .graceful : .nothing
            }
            if let word = words.first {
                guard words.count == 1, let reason = APNsReason(rawValue: word) else { return nil }
                goAway.reason = reason
            }
            self = .goAway(goAway)
        }
    }
}
