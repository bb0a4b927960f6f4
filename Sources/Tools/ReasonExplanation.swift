import APNsRules
import Vocabulary

/// The text of `heliograph explain`: the rows of the reason table in words.
package enum ReasonExplanation {
    /// Explains a reason or a status; a reason of both APNs and Heliograph is explained twice.
    ///
    /// - Parameter reason: A reason in any letter case, or a status, for which all rows are shown.
    /// - Returns: nil for an unknown reason.
    package static func text(for reason: String) -> String? {
        let local = LocalReason.allCases.first {
            $0.rawValue.lowercased() == reason.lowercased()
        }
        let device = ReasonTable.rows(matching: reason)
        // Most credential and server reasons are the same for both kinds of request.
        let broadcast = ReasonTable.rows(matching: reason, kind: .broadcast)
            .filter { !device.contains($0) }
        let parts = [
            apns(device, about: ""), apns(broadcast, about: " to a broadcast or a channel request"),
            local.map(text),
        ]
        let text = parts.compactMap(\.self).joined(separator: "\n\n")
        return text.isEmpty ? nil : text
    }

    private static func apns(_ rows: [ReasonTable.Row], about kind: String) -> String? {
        guard !rows.isEmpty else { return nil }
        return rows.map { row in
            let name = row.reasonText(
                other: "Any other reason",
                any: "Any other reason, or none"
            )
            return text(
                of: row,
                heading: "\(name) (APNs, status \(row.statusText)\(kind))",
                actions(row)
            )
        }.joined(separator: "\n\n")
    }

    private static func text(
        of row: ReasonTable.Row,
        heading: String,
        _ actions: String
    ) -> String {
        """
        \(heading)
          \(row.explanation)
          To do:        \(row.remedy)
        \(actions)
          Token action: \(row.verdict.tokenAction.rawValue)
          At fault:     \(row.verdict.fault.rawValue)
        """
    }

    /// The meaning of an answer to a request of this kind.
    static func text(
        of row: ReasonTable.Row,
        heading: String,
        _ kind: RequestKind
    ) -> String {
        let meaning =
            switch kind {
            case .device: row.verdict.disposition.meaning
            case .broadcast: row.verdict.disposition.broadcastMeaning
            }
        return text(of: row, heading: heading, "  Heliograph:   \(meaning)")
    }

    /// What Heliograph does; a row for both kinds of request may differ between them.
    private static func actions(_ row: ReasonTable.Row) -> String {
        let disposition = row.verdict.disposition
        guard ReasonTable.broadcastRows.contains(row), disposition.isOtherForBroadcasts else {
            return "  Heliograph:   \(disposition.meaning)"
        }
        guard ReasonTable.rows.contains(row) else {
            return "  Heliograph:   \(disposition.broadcastMeaning)"
        }
        return """
              Heliograph:   \(disposition.meaning)
              Broadcasts:   \(disposition.broadcastMeaning)
            """
    }

    private static func text(for reason: LocalReason) -> String {
        let outcomes = reason.outcomes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return """
            \(reason.rawValue) (Heliograph)
              \(reason.explanation)
              To do:        \(reason.remedy)
              Heliograph:   Outcome \(outcomes).
              Token action: \(TokenAction.keep.rawValue)
            """
    }
}
