import Vocabulary

/// Checks whether a partition still has the records that are known.
///
/// A topic that is deleted and created again keeps its name, and a log that lost its end gets new
/// records at the same offsets. Once it is as long again, only the records show the difference. So
/// the last known record is read first. If it is unchanged, so are all records before it. If not,
/// the log was cut somewhere, and the record before the position shows whether that was before it.
struct ResumeCheck {
    enum Verdict: Equatable {
        /// The record is before the start; drop it.
        case skip
        /// The check is complete, or it was impossible; deliver the record.
        case deliver
        /// The last known record is unchanged: read the partition from its start.
        case intact
        /// The last known record is gone or another one: read from the start, which may be earlier
        /// now.
        case changed
        /// Another record is before the start: the position was committed for another log.
        case replaced
    }

    private enum Stage: Hashable {
        case lastKnown(RecordMark)
        case before(RecordMark)
        /// Nothing is delivered until the partition is read from another position.
        case silent
        /// As `silent`; afterwards, the record before the start is compared.
        case silentBefore(RecordMark)
    }

    /// The offset at which delivery starts.
    private(set) var start: Offset
    private let before: RecordMark?
    private var stage: Stage

    /// - Returns: nil if no known record can be compared.
    init?(_ start: PartitionStart) {
        guard case .at(let offset) = start.position else { return nil }
        self.start = offset
        before = start.after
        if let last = start.lastKnown {
            precondition(last.offset >= offset, "the last known record is to be read again")
            stage = .lastKnown(last)
        } else if let before {
            precondition(before.offset < offset, "the record stands before the position")
            stage = .before(before)
        } else {
            return nil
        }
    }

    // MARK: Inputs

    /// The log ends before the position: records that arrive now precede its new end.
    mutating func endedEarly() { stage = before.map { .silentBefore($0) } ?? .silent }

    /// The log has no record at the offset of the last known one.
    ///
    /// Only the records up to the one before the start are certain, because none in between was
    /// read.
    mutating func lastKnownMissing() {
        start = before?.offset.next ?? start
        stage = before.map { .silentBefore($0) } ?? .silent
    }

    mutating func recordArrived(_ record: borrowing Record) -> Verdict {
        let mark = RecordMark(offset: record.offset, fingerprint: record.fingerprint)
        switch stage {
        case .lastKnown(mark):
            stage = .silent
            return .intact
        case .lastKnown:
            lastKnownMissing()
            return .changed
        case .before(let before):
            guard mark.offset < start else { return .deliver }
            guard mark.offset == before.offset, mark != before else { return .skip }
            stage = .silent
            return .replaced
        case .silent, .silentBefore: return .skip
        }
    }

    /// The partition is read from its start: returns the check that is still to do, if any.
    func restarted() -> ResumeCheck? {
        var check = self
        switch stage {
        case .lastKnown: break
        case .silentBefore(let mark): check.stage = .before(mark)
        // A record that could not be read, or was compared, is not checked again.
        case .before, .silent: return nil
        }
        return check
    }

    // MARK: Queries

    /// The offset at which reading starts.
    var readsFrom: Offset {
        switch stage {
        case .lastKnown(let mark), .before(let mark): mark.offset
        case .silent, .silentBefore: start
        }
    }

    var looksForLastKnown: Bool { if case .lastKnown = stage { true } else { false } }

    var isSilent: Bool {
        switch stage {
        case .silent, .silentBefore: true
        case .lastKnown, .before: false
        }
    }
}
