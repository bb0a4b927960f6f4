import APNsRules
import Vocabulary

/// What `heliograph explain` prints: the rows of the reason table, in words.
package enum ReasonExplanation {
    /// A word can be both APNs' reason and Heliograph's own: then both are told.
    ///
    /// - Parameter reason: in any case.
    /// - Returns: nil for a word that is no reason.
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
        guard let first = rows.first, let known = first.reason else { return nil }
        let parts = rows.map { row in
            """
              \(row.explanation)
              To do:        \(row.remedy)
            \(actions(row))
              Token action: \(row.verdict.tokenAction.rawValue)
              At fault:     \(row.verdict.fault.rawValue)
            """
        }
        let heading = "\(known.rawValue) (APNs, status \(first.statusText)\(kind))"
        return ([heading] + parts).joined(separator: "\n")
    }

    /// What Heliograph does; a row of both kinds of request may say two things.
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
              Token action: keep
            """
    }
}
