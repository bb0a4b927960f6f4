import Vocabulary

/// Whether a partition still holds the record that stood before the group's position.
///
/// A topic that is deleted and made again has the same name, and once it is filled beyond the old
/// position only its records show it. So reading begins one record early.
struct ResumeCheck {
    enum Verdict {
        /// The record is before the position.
        case skip
        /// The check is over, as far as it was possible.
        case deliver
        /// Another record is there: this is not the log that the position was committed for.
        case replaced
    }

    let mark: RecordMark
    /// The group's position.
    let start: Offset
    /// Nothing of the partition is delivered until it is read from another place.
    private(set) var isSilent = false

    /// `mark` is before `start`.
    init(_ mark: RecordMark, start: Offset) {
        precondition(mark.offset < start, "the record stands before the position")
        self.mark = mark
        self.start = start
    }

    /// The log ends before the position: what comes now is before its new end.
    mutating func endedEarly() { isSilent = true }

    /// After `replaced`, everything that comes is of the old reading.
    mutating func recordArrived(_ record: borrowing Record) -> Verdict {
        guard !isSilent else { return .skip }
        guard record.offset < start else { return .deliver }
        isSilent = record.offset == mark.offset && record.fingerprint != mark.fingerprint
        return isSilent ? .replaced : .skip
    }
}
