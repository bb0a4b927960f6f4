import EventCodec
package import Vocabulary

/// Which dead letters a command is about; what is not set matches all.
package struct DeadLetterFilter: Hashable, Sendable {
    package var reasons: Set<String> = []
    package var bundleIDs: Set<String> = []
    /// When they were written: from this moment on.
    package var since: Timestamp?
    /// Before this moment.
    package var until: Timestamp?
    /// Of the source, as far as the headers say.
    package var partition: Int32?
    /// Of the source.
    package var offset: Int64?
    /// Where to begin, as an interrupted replay printed it.
    package var from = DeadLetterPositions()
    /// At most so many.
    package var limit: Int?

    package init() {}

    func admits(_ letter: DeadLetter) -> Bool {
        admits(letter.record.timestamp)
            && (reasons.isEmpty || letter.facts.reason.map(reasons.contains) == true)
            && (bundleIDs.isEmpty || letter.bundleID.map(bundleIDs.contains) == true)
            && (partition == nil || partition == letter.facts.partition)
            && (offset == nil || offset == letter.facts.offset?.rawValue)
    }

    /// A record without a time is in no span of time.
    private func admits(_ time: Timestamp?) -> Bool {
        guard since != nil || until != nil else { return true }
        guard let time else { return false }
        return since.map { $0 <= time } != false && until.map { time < $0 } != false
    }
}
