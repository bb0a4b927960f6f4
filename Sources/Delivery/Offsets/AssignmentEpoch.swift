/// Counts the assignments of a shard.
///
/// What belongs to an earlier one may no longer move an offset: the partition is somebody else's.
package struct AssignmentEpoch: Hashable, Comparable, Sendable {
    package private(set) var number: UInt32 = 0

    package init() {}

    package var next: AssignmentEpoch {
        var epoch = self
        epoch.number += 1
        return epoch
    }

    package static func < (left: AssignmentEpoch, right: AssignmentEpoch) -> Bool {
        left.number < right.number
    }
}
