/// One counter for each row and each of a closed list of labels.
///
/// Rows are places in a list of the configuration, see `MetricLists`: the caller has the place at
/// hand, so nothing is looked up.
package final class CounterGrid<Label: Hashable & Sendable>: Sendable {
    private let rows: [CounterTable<Label>]

    /// - Parameters:
    ///   - rowCount: How many rows.
    ///   - labels: Every label there can be, each once; the frequent ones first.
    package init(rowCount: Int, _ labels: [Label]) {
        rows = (0..<rowCount).map { _ in CounterTable(labels) }
    }

    package subscript(row row: Int, label label: Label) -> Counter { rows[row][label] }

    /// Every row with its place.
    var tables: [(row: Int, table: CounterTable<Label>)] {
        rows.enumerated().map { ($0.offset, $0.element) }
    }
}
