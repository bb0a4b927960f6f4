package import APNsRules
import Log
package import Vocabulary

/// What an answer of APNs means, in words: `Verdict`'s own row, for every caller.
package struct AnswerMeaning: Sendable {
    package let verdict: Verdict
    private let status: Int
    private let reason: Reason?
    private let kind: RequestKind
    private let row: ReasonTable.Row

    /// - Parameters:
    ///   - status: Decides first.
    ///   - reason: What the body says; with another status than its own it is ignored.
    ///   - kind: What was requested.
    package init(status: Int, reason: Reason?, kind: RequestKind) {
        self.status = status
        self.reason = reason
        self.kind = kind
        row = ReasonTable.row(status: status, reason: reason, kind: kind)
        verdict = Verdict.classify(status: status, reason: reason, kind: kind)
    }

    /// Whether APNs did what the request asked for.
    package var isAccepted: Bool { verdict.disposition == .delivered }

    /// What decides, in a line.
    package var heading: String {
        let answer = "status \(status)"
        guard let reason else { return "\(answer), without a reason" }
        if row.reason != nil { return "\(reason.text) (APNs, \(answer))" }
        let name = "'\(reason.text.printable)'"
        let statuses = ReasonTable.rows(of: kind).filter { row in
            row.reason.map(Reason.apns) == reason
        }.map(\.statusText)
        guard !statuses.isEmpty else {
            return "\(answer) with \(name), an unknown reason; the status decides"
        }
        return "\(answer) with \(name), which belongs to \(statuses.joined(separator: ", ")):"
            + " the status decides"
    }

    /// What it means and what to do.
    package var advice: [String] { row.advice }

    /// All of it, in several lines.
    package var text: String { ReasonExplanation.text(of: row, heading: heading, kind) }
}
