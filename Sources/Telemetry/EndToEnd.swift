/// Histograms of the time from an event's own time to its outcome.
///
/// There is one for each source, class of credential and round, all made at the start.
public final class EndToEnd: Sendable {
    struct Row: Hashable, Sendable {
        var source: Int
        var credential: CredentialClassLabel
        var round: RoundLabel
    }

    private let histograms: [Histogram]
    private let classes: [CredentialClassLabel]
    // Stored, because `allCases` makes an array on each access, which is too slow for every event.
    private let classCount = CredentialClassLabel.allCases.count
    private let roundCount = RoundLabel.allCases.count

    /// - Parameter lists: The same lists for all shards of a process.
    init(_ lists: MetricLists) {
        classes = lists.credentialClasses
        histograms = Self.rows(max(1, lists.sources.count)).map { _ in
            Histogram(bounds: Histogram.endToEndBounds)
        }
    }

    /// Counts an ended event.
    ///
    /// - Parameters:
    ///   - milliseconds: The time since the event's own time.
    ///   - source: The source's position in the lists.
    ///   - credential: The credential's position; nil: none covers the event, or it is unknown.
    ///   - round: Where the event came from.
    public func record(milliseconds: Int64, source: Int, credential: Int?, _ round: RoundLabel) {
        let row = Row(
            source: source,
            credential: credential.map { classes[$0] } ?? .none,
            round: round
        )
        self[row].record(milliseconds: milliseconds)
    }

    subscript(row: Row) -> Histogram { histograms[place(of: row)] }

    /// The total count of all histograms.
    public var count: UInt64 { histograms.reduce(0) { $0 + $1.reading.counts.reduce(0, +) } }

    private func place(of row: Row) -> Int {
        (row.source * classCount + row.credential.position) * roundCount + row.round.position
    }

    private static func rows(_ sourceCount: Int) -> [Row] {
        (0..<sourceCount).flatMap { source in
            CredentialClassLabel.allCases.flatMap { credential in
                RoundLabel.allCases.map { Row(source: source, credential: credential, round: $0) }
            }
        }
    }

    /// The rows that a configuration can use, with their labels.
    static func labelled(_ lists: MetricLists) -> [(row: Row, labels: [MetricFamily.Label])] {
        let classes = Set(lists.credentialClasses + [.none])
        return rows(lists.sources.count)
            .filter { classes.contains($0.credential) }
            .filter { $0.round == .first || !lists.retryDelays.isEmpty }
            .map { row in
                (
                    row,
                    [
                        .init("source", lists.sources[row.source]),
                        .init("credential_class", row.credential.rawValue),
                        .init("round", row.round.rawValue),
                    ]
                )
            }
    }
}
