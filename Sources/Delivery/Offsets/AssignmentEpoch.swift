/// Counts the assignments of a shard.
///
/// What belongs to an earlier one may no longer move an offset: the partition is somebody else's.
public struct AssignmentEpoch: Hashable, Comparable, Sendable {
    public private(set) var number: UInt32 = 0

    public init() {}

    public var next: AssignmentEpoch {
        var epoch = self
        epoch.number += 1
        return epoch
    }

    public static func < (left: AssignmentEpoch, right: AssignmentEpoch) -> Bool {
        left.number < right.number
    }
}
