package import Vocabulary

/// A GOAWAY (RFC 9113, 6.8): which streams it names as handled, and why it comes.
package struct GoAway: Hashable, Sendable {
    package enum Reach: Hashable, Sendable {
        /// Leaves the request that caused it out, and later ones; never one that was judged.
        case leavingOut
        /// The request that caused it is still answered; later ones are left out.
        case graceful
        /// Last-stream-ID 0, whatever was handled before: what APNs should never say.
        case nothing
    }

    package var reach: Reach
    /// Goes into the debug data as JSON.
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
    /// It ends without a word.
    case close
    /// It stays open and says nothing any more, no answer to PING either.
    case stall
    /// The server's direction ends (TCP FIN); the client's stays open.
    case halfClose
    /// Bytes that are no HTTP/2 frame, inside TLS.
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
