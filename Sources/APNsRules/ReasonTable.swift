public import Vocabulary

/// What a request to APNs is about; the answers to the two kinds have tables of their own.
public enum RequestKind: Hashable, Sendable, CaseIterable {
    /// A notification for one device: `/3/device`.
    case device
    /// A broadcast, `/4/broadcasts`, or the management of channels, `/1/apps`.
    case broadcast
}

/// The published tables of answers: one row per status and reason.
///
/// It is what `Verdict.classify` decides by, what `heliograph explain` prints, and what
/// `docs/reasons.md` is generated from.
public enum ReasonTable {
    public struct Row: Hashable, Sendable {
        public let statuses: ClosedRange<Int>
        /// Nil: any reason that has no row of its own with this status, or none.
        public let reason: APNsReason?
        /// Whether an answer without any reason is none of the row's.
        public let needsReason: Bool
        public let verdict: Verdict
        /// One sentence: what APNs says.
        public let explanation: String
        /// What people should do.
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

        /// What it means and what to do, in two lines.
        public var advice: [String] { [explanation, "To do: \(remedy)"] }

        /// The name of the reason, or what stands for it.
        public func reasonText(other: String, any: String) -> String {
            reason?.rawValue ?? (needsReason ? other : any)
        }

        /// `403`, or `500-599`.
        public var statusText: String {
            statuses.count == 1
                ? "\(statuses.lowerBound)" : "\(statuses.lowerBound)-\(statuses.upperBound)"
        }
    }

    /// About devices: the documented reasons, then what is left to decide by status alone.
    public static let rows = rejections + credentialRows + transientRows + statusRows

    /// The table for requests of that kind.
    public static func rows(of kind: RequestKind) -> [Row] {
        switch kind {
        case .device: rows
        case .broadcast: broadcastRows
        }
    }

    /// The first row that covers the answer; the last row covers everything.
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

    /// The rows for what a person typed: a reason, in any case and either spelling, or a status.
    ///
    /// Empty for a word that is neither.
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
