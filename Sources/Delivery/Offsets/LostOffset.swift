public import Vocabulary

/// The next offset to read, if Kafka does not have it.
///
/// The one table of what follows from it.
public struct LostOffset: Hashable, Sendable {
    public enum Cause: String, Hashable, Sendable, CaseIterable {
        /// Kafka has it: the leader has changed since, or the log has grown.
        case none
        /// Retention was faster than the group.
        case deleted
        /// The log ends before it, after an unclean leader election or on a restored disk.
        case cut
        /// The topic was deleted and created again.
        case replaced
    }

    /// What to do if the log was cut (`kafka.offset_lost`).
    public enum Policy: Hashable, Sendable {
        /// Continue with what comes: what the log holds was read before.
        case end
        /// Read again what the log holds.
        case beginning
        /// End the process.
        case stop
    }

    public let offset: Offset
    /// The oldest offset of the log and the next one to be written, as the leader says now.
    public let log: Range<Int64>
    public let cause: Cause
    /// Where reading continues; nil: nowhere.
    public let start: StartPosition?

    /// - Parameters:
    ///   - offset: The offset.
    ///   - log: What the leader says now.
    ///   - oldestBefore: The log's oldest offset as last known before; nil: unknown.
    ///   - policy: What the operator wants.
    public init(_ offset: Offset, in log: Range<Int64>, oldestBefore: Int64?, _ policy: Policy) {
        self.offset = offset
        self.log = log
        if offset.rawValue < log.lowerBound {
            (cause, start) = (.deleted, .at(Offset(log.lowerBound)))
        } else if offset.rawValue <= log.upperBound {
            (cause, start) = (.none, .at(offset))
        } else {
            // A log begins with 0, and again only if it is another one.
            let isAnother = log.lowerBound == 0 && (oldestBefore ?? 0) > 0
            cause = isAnother ? .replaced : .cut
            start =
                switch policy {
                case .stop: nil
                case .end where !isAnother: .at(Offset(log.upperBound))
                case .end, .beginning: .at(Offset(log.lowerBound))
                }
        }
    }
}
