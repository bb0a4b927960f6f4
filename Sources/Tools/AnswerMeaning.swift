package import APNsRules
import Log
package import Vocabulary

/// The meaning of an APNs answer in words: the row of the reason table that `Verdict` uses.
package struct AnswerMeaning: Sendable {
    package let verdict: Verdict
    private let status: Int
    private let reason: Reason?
    private let kind: RequestKind
    private let row: ReasonTable.Row

    /// - Parameters:
    ///   - status: Takes precedence over the reason.
    ///   - reason: The reason in the body; ignored if it belongs to another status.
    ///   - kind: The kind of request.
    package init(status: Int, reason: Reason?, kind: RequestKind) {
        self.status = status
        self.reason = reason
        self.kind = kind
        row = ReasonTable.row(status: status, reason: reason, kind: kind)
        verdict = Verdict.classify(status: status, reason: reason, kind: kind)
    }

    /// Whether APNs accepted the request.
    package var isAccepted: Bool { verdict.disposition == .delivered }

    /// The status and the reason that determine the meaning, in one line.
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

    /// The meaning and what to do about it.
    package var advice: [String] { row.advice }

    /// The heading and the explanation, in several lines.
    package var text: String { ReasonExplanation.text(of: row, heading: heading, kind) }
}
