import JSON
public import Vocabulary

/// The body of an error response: `{"reason":"…","timestamp":…}`.
///
/// A GOAWAY's debug data contains the same object. Any other body, such as a proxy's HTML, is
/// ignored, and the status decides alone.
public struct APNsErrorBody: Hashable, Sendable {
    /// When APNs last found the device token inactive.
    public enum InactiveSince: Hashable, Sendable {
        case untold
        case at(Timestamp)
        /// There is a value, but it is not a plausible time in milliseconds.
        case implausible
    }

    public private(set) var reason: Reason?
    private var hasTimestamp = false
    private var timestamp: Timestamp?

    /// The longest body to parse, in bytes; APNs' own have about 60.
    public static let maxByteCount = 4096

    /// Parses a body; ignores one that is longer than `maxByteCount`.
    public init(parsing bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.maxByteCount else { return }
        var document = JSONDocument()
        guard (try? document.parse(Array(bytes))) != nil, document.root.kind == .object
        else { return }
        var members = document.children(of: document.root)
        while let (name, value) = document.nextMember(&members) {
            switch document.string(name) {
            case "reason":
                if let text = document.string(value) { reason = Reason(apnsText: text) }
            case "timestamp":
                hasTimestamp = value.kind != .null
                let milliseconds = value.kind == .integer ? document.integer(value) : nil
                timestamp = milliseconds.map(Timestamp.init(milliseconds:))
            default: break
            }
        }
    }

    /// The time in a 410 response; other responses have none.
    public func inactiveSince(now: Timestamp) -> InactiveSince {
        guard hasTimestamp else { return .untold }
        guard let end = timestamp?.plausibleEnd(now: now) else { return .implausible }
        return .at(end)
    }
}

extension Timestamp {
    /// Checks a timestamp since when a token is said to be inactive; nil: it is not plausible.
    ///
    /// APNs exists since 2009, and clocks differ by less than a day. A time in seconds or
    /// microseconds lies far outside that range, and would count as before or after every
    /// registration. The result is at most `now`, because a token cannot become inactive in the
    /// future: later registrations are valid.
    public func plausibleEnd(now: Timestamp) -> Timestamp? {
        let first = Timestamp(milliseconds: 1_230_768_000_000)
        let day: Int64 = 24 * 60 * 60 * 1000
        guard first <= self, milliseconds - day <= now.milliseconds else { return nil }
        return min(self, now)
    }
}
