/// One counter for each row and each label of a closed list.
///
/// Rows are places in a list of the configuration, see `MetricLists`: the caller has the place at
/// hand, so nothing is looked up.
public final class CounterGrid<Label: MetricLabel>: Sendable {
    let rows: [CounterTable<Label>]

    /// - Parameter rowCount: How many rows.
    public init(rowCount: Int) {
        rows = (0..<rowCount).map { _ in CounterTable() }
    }

    public subscript(row row: Int, label label: Label) -> Counter { rows[row][label] }
}
