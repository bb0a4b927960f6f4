public import Vocabulary

/// Where a log ended when it was found to have lost records.
///
/// Records that were written since then lie after that end, and must be read.
public enum EarlyEnd: Hashable, Sendable {
    /// A fetch found no more. A new leader may say so for a moment, and know better later.
    case seen(Offset)
    /// The leader named the end of an epoch that had been read further (KIP-320).
    case certain(Offset)

    /// The log that was left, given what the leader reports now.
    public func cut(_ log: Range<Int64>, missing: Offset) -> Range<Int64> {
        let end: Offset
        switch self {
        case .seen where log.upperBound >= missing.rawValue: return log
        case .seen(let offset), .certain(let offset): end = offset
        }
        return log.lowerBound..<min(log.upperBound, max(log.lowerBound, end.rawValue))
    }
}
