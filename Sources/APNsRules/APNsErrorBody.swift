public import Vocabulary

/// What an error's body says: `{"reason":"…","timestamp":…}`.
///
/// The same object comes as GOAWAY's debug data. A body that is no such object (HTML of a proxy,
/// nothing, garbage) says nothing: the status then decides alone.
public struct APNsErrorBody: Hashable, Sendable {
    public var reason: Reason?
    /// With 410 only: when APNs last found the device token inactive.
    public var timestamp: Timestamp?

    /// Bytes that are looked at; APNs' own bodies have about 60.
    public static let maxByteCount = 4096

    public init(reason: Reason? = nil, timestamp: Timestamp? = nil) {
        self.reason = reason
        self.timestamp = timestamp
    }

    /// Reads a body; a longer one than `maxByteCount` is ignored.
    public init(parsing bytes: some Collection<UInt8>) {
        self.init()
        guard bytes.count <= Self.maxByteCount else { return }
        var scanner = FlatObjectScanner(bytes: Array(bytes))
        guard let members = scanner.members() else { return }
        for member in members {
            switch (member.name, member.value) {
            case ("reason", .string(let text)): reason = Reason(apnsText: text)
            case ("timestamp", .integer(let value)): timestamp = Timestamp(milliseconds: value)
            default: break
            }
        }
    }
}
