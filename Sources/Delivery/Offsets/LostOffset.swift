public import Vocabulary

/// What to do if Kafka does not have the next offset to read.
///
/// Contains the only table of causes and consequences.
public struct LostOffset: Hashable, Sendable {
    public enum Cause: String, Hashable, Sendable, CaseIterable {
        /// Kafka does have it: the leader changed, or the log has grown.
        case none
        /// Retention deleted it before the group read it.
        case deleted
        /// The log ends before it, after an unclean leader election or on a restored disk.
        case cut
        /// The topic was deleted and created again.
        case replaced
    }

    /// What to do if the log was cut (`kafka.offset_lost`).
    public enum Policy: Hashable, Sendable {
        /// Continue with new records: the group has already read those in the log.
        case end
        /// Read the whole log again.
        case beginning
        /// Stop the process.
        case stop
    }

    public let offset: Offset
    /// What was left of the log: its start offset and end offset.
    public let log: Range<Int64>
    public let cause: Cause
    /// Where reading continues; nil: the process stops.
    public let start: StartPosition?

    /// - Parameters:
    ///   - offset: The next offset to read.
    ///   - log: What was left of the log: its start offset and end offset.
    ///   - oldestBefore: The last known start offset before that; nil: unknown.
    ///   - policy: What the configuration says.
    public init(_ offset: Offset, in log: Range<Int64>, oldestBefore: Int64?, _ policy: Policy) {
        self.offset = offset
        self.log = log
        if offset.rawValue < log.lowerBound {
            (cause, start) = (.deleted, .at(Offset(log.lowerBound)))
        } else if offset.rawValue <= log.upperBound {
            (cause, start) = (.none, .at(offset))
        } else {
            // A log starts at 0; if its start was higher before, this is another log.
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
