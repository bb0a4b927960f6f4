public import Vocabulary

/// Which offsets of a partition are settled, from its committed offset on.
///
/// Canonical: each set of offsets has one representation. `incomplete` runs are in order, do not
/// touch, and end before `horizon`; the first begins at `base`, which is by definition not
/// settled. Everything else below `horizon` is settled, everything from it on is unknown.
public struct SettledOffsets: Hashable, Sendable {
    /// The committed offset: everything below it is settled.
    public let base: Offset
    public private(set) var incomplete: [Range<Int64>]
    /// One past the last settled offset; `base` when nothing past it is settled.
    public private(set) var horizon: Offset

    /// Nothing past `base` is settled.
    public init(base: Offset) {
        self.base = base
        incomplete = []
        horizon = base
    }

    /// - Returns: nil when the runs are not canonical.
    public init?(base: Offset, incomplete: [Range<Int64>], horizon: Offset) {
        var end = base.rawValue
        for (index, run) in incomplete.enumerated() {
            let isInPlace = index == 0 ? run.lowerBound == end : run.lowerBound > end
            guard isInPlace, !run.isEmpty else { return nil }
            end = run.upperBound
        }
        guard incomplete.isEmpty ? horizon == base : horizon.rawValue > end else { return nil }
        self.base = base
        self.incomplete = incomplete
        self.horizon = horizon
    }

    /// Offsets between base and horizon.
    public var span: Int64 { horizon.rawValue - base.rawValue }

    public func isSettled(_ offset: Offset) -> Bool {
        guard offset >= base else { return true }
        guard offset < horizon else { return false }
        return !incomplete.contains { $0.contains(offset.rawValue) }
    }

    /// Forgets what is settled behind the first `count` runs.
    mutating func keepRuns(_ count: Int) {
        guard count < incomplete.count else { return }
        horizon = count == 0 ? base : Offset(incomplete[count].lowerBound)
        incomplete.removeSubrange(count...)
    }

    /// Forgets what is settled from `end` on.
    mutating func keepOffsets(below end: Int64) {
        guard end < horizon.rawValue else { return }
        while let last = incomplete.last, last.upperBound >= end {
            // A run that would end the span goes: the last offset before the horizon is settled.
            horizon = Offset(last.lowerBound)
            incomplete.removeLast()
        }
        guard !incomplete.isEmpty else {
            horizon = base
            return
        }
        if horizon.rawValue > end { horizon = Offset(end) }
    }
}
