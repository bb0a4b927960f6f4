import APNsRules
import Vocabulary

/// What `heliograph explain` prints: the rows of the reason table, in words.
package enum ReasonExplanation {
    /// - Parameter reason: in any case.
    /// - Returns: nil for a word that is no reason.
    package static func text(for reason: String) -> String? {
        let rows = ReasonTable.rows(matching: reason)
        if let first = rows.first, let known = first.reason {
            let parts = rows.map { row in
                """
                  \(row.explanation)
                  To do:        \(row.remedy)
                  Heliograph:   \(row.verdict.disposition.meaning)
                  Token action: \(row.verdict.tokenAction.rawValue)
                  At fault:     \(row.verdict.fault.rawValue)
                """
            }
            let heading = "\(known.rawValue) (APNs, status \(first.statusText))"
            return ([heading] + parts).joined(separator: "\n")
        }
        let local = LocalReason.allCases.first {
            $0.rawValue.lowercased() == reason.lowercased()
        }
        guard let local else { return nil }
        return """
            \(local.rawValue) (Heliograph)
              \(local.explanation)
              To do:        \(local.remedy)
            """
    }
}
