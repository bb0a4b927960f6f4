import Vocabulary

/// Whether a partition still holds the records that are known of it.
///
/// A topic that is deleted and made again has the same name, and a log that lost its end has new records
/// at the same offsets; once they are filled again, nothing but their records tells. So the last record
/// of which something is known is read first. If it stands there, so does all before it. If not, the log
/// was cut somewhere, and the record before the position tells whether before that.
struct ResumeCheck {
    enum Verdict: Equatable {
        /// The record stands before the position.
        case skip
        /// The check is complete, or it was impossible; deliver the record.
        case deliver
        /// All is as it was: the partition is to be read from its start.
        case intact
        /// The last known record does not stand there: the partition is to be read from its start, which
        /// may be an earlier one now.
        case changed
        /// Another record stands before the position: this is not the log that it was committed for.
        case replaced
    }

    private enum Stage: Hashable {
        case lastKnown(RecordMark)
        case before(RecordMark)
        /// Nothing of the partition is delivered until it is read from another place.
        case silent
        /// The same; then the record before the start is compared.
        case silentBefore(RecordMark)
    }

    /// Where delivery is to begin.
    private(set) var start: Offset
    private let before: RecordMark?
    private var stage: Stage

    /// - Returns: nil if nothing is known that could be compared.
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

    /// The log ends before the position: what comes now stands before its new end.
    mutating func endedEarly() { stage = before.map { .silentBefore($0) } ?? .silent }

    /// The log has no record in the place of the last known one.
    ///
    /// What is certain ends with the record before the position: between them nobody has read one.
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

    /// The partition is read from its start: what is still to be compared.
    func restarted() -> ResumeCheck? {
        var check = self
        switch stage {
        case .lastKnown: break
        case .silentBefore(let mark): check.stage = .before(mark)
        // What could not be read, or was compared, is not looked at again.
        case .before, .silent: return nil
        }
        return check
    }

    // MARK: Queries

    /// Where reading begins.
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
