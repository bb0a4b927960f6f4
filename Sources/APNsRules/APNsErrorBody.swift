import JSON
public import Vocabulary

/// The content of an error's body: `{"reason":"…","timestamp":…}`.
///
/// The same object comes as GOAWAY's debug data. Any other body (HTML of a proxy, nothing, garbage)
/// is ignored: the status then decides alone.
public struct APNsErrorBody: Hashable, Sendable {
    /// When APNs last found the device token inactive.
    public enum InactiveSince: Hashable, Sendable {
        case untold
        case at(Timestamp)
        /// It has a value that is not such a time in milliseconds.
        case implausible
    }

    public private(set) var reason: Reason?
    private var hasTimestamp = false
    private var timestamp: Timestamp?

    /// Bytes that are looked at; APNs' own bodies have about 60.
    public static let maxByteCount = 4096

    /// Reads a body; a longer one than `maxByteCount` is ignored.
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

    /// Of an answer with 410; others have no such time.
    public func inactiveSince(now: Timestamp) -> InactiveSince {
        guard hasTimestamp else { return .untold }
        guard let end = timestamp?.plausibleEnd(now: now) else { return .implausible }
        return .at(end)
    }
}

extension Timestamp {
    /// Since when a device token is inactive of which somebody says so, with this time, at `now`; nil:
    /// the time is none.
    ///
    /// APNs began in 2009, and clocks differ by less than a day. A time in seconds or microseconds
    /// lies far outside, and would count as before, or behind, every registration. A token is not
    /// inactive from tomorrow on: what is registered after `now` is good.
    public func plausibleEnd(now: Timestamp) -> Timestamp? {
        let first = Timestamp(milliseconds: 1_230_768_000_000)
        let day: Int64 = 24 * 60 * 60 * 1000
        guard first <= self, milliseconds - day <= now.milliseconds else { return nil }
        return min(self, now)
    }
}
