package import Vocabulary

/// How far each partition of the dead-letter topic is processed.
///
/// The text form is `0@120,1@98`: partition 0 is processed before offset 120, partition 1 before
/// 98, and partitions not listed not at all.
package struct DeadLetterPositions: Hashable, Sendable, CustomStringConvertible {
    package private(set) var offsets: [Int32: Offset] = [:]

    package init() {}

    /// - Returns: nil unless every part is a partition and an offset, and no partition occurs
    ///   twice.
    package init?(_ text: String) {
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let numbers = part.split(separator: "@", omittingEmptySubsequences: false)
            guard numbers.count == 2, let partition = Int32(numbers[0]), partition >= 0,
                let offset = Int64(numbers[1]), offset >= 0, offsets[partition] == nil
            else { return nil }
            offsets[partition] = Offset(offset)
        }
    }

    package var description: String {
        offsets.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value)" }.joined(separator: ",")
    }

    package subscript(partition: Int32) -> Offset { offsets[partition] ?? Offset(0) }

    /// Marks everything before the offset as processed.
    mutating func advance(_ partition: Int32, to offset: Offset) {
        offsets[partition] = max(self[partition], offset)
    }

    /// Marks the record at the offset, and all after it, as not processed.
    mutating func goBack(_ partition: Int32, to offset: Offset) {
        offsets[partition] = min(self[partition], offset)
    }
}
