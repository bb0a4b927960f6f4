/// A record's fingerprint at an offset: enough to notice another record in its place.
///
/// A topic that is deleted and made again has the same name and the same offsets.
public struct RecordMark: Hashable, Sendable {
    public let offset: Offset
    /// See `Record.fingerprint`.
    public let fingerprint: UInt32

    public init(offset: Offset, fingerprint: UInt32) {
        self.offset = offset
        self.fingerprint = fingerprint
    }
}
