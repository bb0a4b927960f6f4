import EventCodec
package import Vocabulary

/// Selects dead letters; a criterion that is not set matches all.
package struct DeadLetterFilter: Hashable, Sendable {
    /// Compared case-insensitively.
    package var reasons: Set<String> = []
    package var bundleIDs: Set<String> = []
    /// The earliest time of writing, inclusive.
    package var since: Timestamp?
    /// The latest time of writing, exclusive.
    package var until: Timestamp?
    /// The source topics, as given by the headers.
    package var sources: Set<KafkaTopic> = []
    /// The source partition, as given by the headers.
    package var partition: Int32?
    /// The source offset, as given by the headers.
    package var offset: Int64?
    /// Where to start, as printed by an interrupted replay.
    package var from = DeadLetterPositions()
    /// The maximum number of dead letters.
    package var limit: Int?

    package init() {}

    /// What to tell about values that probably select nothing.
    package var notes: [String] { ReasonName.notes(about: reasons) }

    func admits(_ letter: DeadLetter) -> Bool {
        admits(letter.record.timestamp)
            && ReasonName.admits(letter.facts.reason, reasons)
            && (bundleIDs.isEmpty || letter.bundleID.map(bundleIDs.contains) == true)
            && (sources.isEmpty || letter.facts.topic.map(sources.contains) == true)
            && (partition == nil || partition == letter.facts.partition)
            && (offset == nil || offset == letter.facts.offset?.rawValue)
    }

    /// A record without a time is outside every period.
    private func admits(_ time: Timestamp?) -> Bool {
        guard since != nil || until != nil else { return true }
        guard let time else { return false }
        return since.map { $0 <= time } != false && until.map { time < $0 } != false
    }
}
