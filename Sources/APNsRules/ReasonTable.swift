public import Vocabulary

/// The kind of a request to APNs; answers to the two kinds have separate tables.
public enum RequestKind: Hashable, Sendable, CaseIterable {
    /// A notification for one device: `/3/device`.
    case device
    /// A broadcast, `/4/broadcasts`, or a channel request, `/1/apps`.
    case broadcast
}

/// The published tables of answers: one row per status and reason.
///
/// `Verdict.classify` uses it, `heliograph explain` prints it, and `docs/reasons.md` is generated
/// from it.
public enum ReasonTable {
    public struct Row: Hashable, Sendable {
        public let statuses: ClosedRange<Int>
        /// Nil: any reason without a row of its own for this status, or no reason.
        public let reason: APNsReason?
        /// Whether the row excludes answers without a reason.
        public let needsReason: Bool
        public let verdict: Verdict
        /// One sentence: what APNs reports.
        public let explanation: String
        /// What an operator or developer should do.
        public let remedy: String

        init(
            _ statuses: ClosedRange<Int>,
            _ reason: APNsReason?,
            needsReason: Bool = false,
            _ verdict: Verdict,
            _ explanation: String,
            remedy: String
        ) {
            self.statuses = statuses
            self.reason = reason
            self.needsReason = needsReason
            self.verdict = verdict
            self.explanation = explanation
            self.remedy = remedy
        }

        init(
            _ status: Int,
            _ reason: APNsReason?,
            needsReason: Bool = false,
            _ verdict: Verdict,
            _ explanation: String,
            remedy: String
        ) {
            self.init(
                status...status,
                reason,
                needsReason: needsReason,
                verdict,
                explanation,
                remedy: remedy
            )
        }

        /// The explanation and the remedy, in two lines.
        public var advice: [String] { [explanation, "To do: \(remedy)"] }

        /// The name of the reason, or `other` or `any` if the row has none.
        public func reasonText(other: String, any: String) -> String {
            reason?.rawValue ?? (needsReason ? other : any)
        }

        /// `403`, or `500-599`.
        public var statusText: String {
            statuses.count == 1
                ? "\(statuses.lowerBound)" : "\(statuses.lowerBound)-\(statuses.upperBound)"
        }
    }

    /// About devices: first the documented reasons, then statuses alone.
    public static let rows = rejections + credentialRows + transientRows + statusRows

    /// The table for requests of this kind.
    public static func rows(of kind: RequestKind) -> [Row] {
        switch kind {
        case .device: rows
        case .broadcast: broadcastRows
        }
    }

    /// The first row that matches the answer; the last row matches everything.
    public static func row(status: Int, reason: Reason?, kind: RequestKind = .device) -> Row {
        if case .apns(let known)? = reason {
            for row in rows(of: kind) where row.reason == known && row.statuses.contains(status) {
                return row
            }
        }
        let statusRows = kind == .device ? statusRows : broadcastStatusRows
        for row in statusRows where row.statuses.contains(status) {
            if !row.needsReason || reason != nil { return row }
        }
        return everythingElse
    }

    /// The rows for a user's input: a reason, in any case and either spelling, or a status.
    ///
    /// Empty if the input is neither.
    public static func rows(matching text: String, kind: RequestKind = .device) -> [Row] {
        let rows = rows(of: kind)
        if let status = Int(text), (200...599).contains(status) {
            let named = rows.filter { $0.reason != nil && $0.statuses.contains(status) }
            let other = row(status: status, reason: .unknownAPNs(""), kind: kind)
            let none = row(status: status, reason: nil, kind: kind)
            return named + (other == none ? [none] : [other, none])
        }
        let wanted = text.lowercased()
        for reason in APNsReason.allCases where reason.rawValue.lowercased() == wanted {
            return rows.filter { $0.reason == reason }
        }
        if case .apns(let reason) = Reason(apnsText: text) {
            return rows.filter { $0.reason == reason }
        }
        return []
    }
}
