import APNsSimulator
import Foundation
import JSON

/// The report at the end of the demo.
struct DemoReport {
    let ledger: DemoLedger
    let elapsed: Duration
    let simulator: SimulatorStatistics

    func print() {
        Terminal.print()
        printTable()
        Terminal.print()
        printExamples()
        Terminal.print()
        printFigures()
    }

    // MARK: Outcomes by reason

    private func printTable() {
        var rows: [[String]: Int] = [:]
        for line in ledger.lines {
            for outcome in line.outcomes {
                let row = ["outcome", "reason", "decided_by", "token_action"].map { name in
                    outcome[name]?.string ?? "-"
                }
                rows[row, default: 0] += 1
            }
        }
        let heading = ["outcome", "reason", "decided by", "token action", "count"]
        let body = rows.sorted {
            ($1.value, $0.key[0], $0.key[1]) < ($0.value, $1.key[0], $1.key[1])
        }
        .map { $0.key + ["\($0.value)"] }
        let table = [heading] + body
        let widths = heading.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        for (index, row) in table.enumerated() {
            let cells = row.enumerated().map { column, cell in
                column == heading.count - 1
                    ? Self.padding(cell, widths[column]) + cell
                    : cell + Self.padding(cell, widths[column])
            }
            Terminal.print("  " + cells.joined(separator: "  "))
            if index == 0 {
                let rule = widths.map { String(repeating: "-", count: $0) }
                Terminal.print("  " + rule.joined(separator: "  "))
            }
        }
    }

    private static func padding(_ cell: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - cell.count))
    }

    // MARK: A few outcome records

    private func printExamples() {
        Terminal.print("Some of the outcome records:")
        for kind in ["accepted", "unregistered", "invalid"] {
            let outcome = ledger.lines.lazy.compactMap(\.outcomes.first)
                .first { $0["outcome"]?.string == kind }
            guard let outcome else { continue }
            var writer = JSONWriter()
            writer.value(outcome)
            Terminal.print("  " + String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    // MARK: Figures

    private func printFigures() {
        let seconds = Self.seconds(ledger.span)
        let rate = Double(ledger.arrived) / max(seconds, 0.001)
        Terminal.print(
            "\(ledger.arrived) outcomes in \(Self.text(seconds)) s, \(Int(rate)) a second, retries "
                + "with backoff included; before that the consumer group took "
                + "\(Self.text(Self.seconds(elapsed) - seconds)) s to form"
        )
        let sorted = ledger.latenciesMilliseconds.sorted()
        if let last = sorted.last {
            let p50 = sorted[(sorted.count - 1) / 2]
            let p99 = sorted[(sorted.count - 1) * 99 / 100]
            Terminal.print(
                "time in the service, arrival to outcome: p50 \(p50) ms, p99 \(p99) ms, max \(last) ms"
            )
        }
        Terminal.print(
            "the simulated APNs saw \(simulator.requests) requests on \(simulator.connections) "
                + "connections, at most \(simulator.maxOpenStreams) streams at once on one, "
                + "and accepted \(simulator.duplicates) notifications twice"
        )
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    private static func text(_ seconds: Double) -> String {
        String(format: "%.1f", seconds)
    }
}
