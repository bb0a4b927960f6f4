public import Vocabulary

/// Which offsets of a partition are settled, from its committed offset on.
///
/// The form is canonical: each set of offsets has one representation. `incomplete` runs are in
/// order, do not touch, and end before `horizon`. The first starts at `base`, which is by
/// definition not settled. All other offsets below `horizon` are settled; those from `horizon` on
/// are unknown.
public struct SettledOffsets: Hashable, Sendable {
    /// The committed offset: everything below it is settled.
    public let base: Offset
    public private(set) var incomplete: [Range<Int64>]
    /// One past the last settled offset; equals `base` if nothing past it is settled.
    public private(set) var horizon: Offset

    /// Makes a value in which nothing past `base` is settled.
    public init(base: Offset) {
        self.base = base
        incomplete = []
        horizon = base
    }

    /// - Returns: nil if the runs are not canonical.
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

    /// The number of offsets between base and horizon.
    public var span: Int64 { horizon.rawValue - base.rawValue }

    public func isSettled(_ offset: Offset) -> Bool {
        guard offset >= base else { return true }
        guard offset < horizon else { return false }
        return !incomplete.contains { $0.contains(offset.rawValue) }
    }

    /// Drops the settled offsets after the first `count` runs.
    mutating func keepRuns(_ count: Int) {
        guard count < incomplete.count else { return }
        horizon = count == 0 ? base : Offset(incomplete[count].lowerBound)
        incomplete.removeSubrange(count...)
    }

    /// Drops the settled offsets from `end` on.
    mutating func keepOffsets(below end: Int64) {
        guard end < horizon.rawValue else { return }
        while let last = incomplete.last, last.upperBound >= end {
            // Drop a run that would end the span: the last offset before the horizon must be
            // settled.
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
