import APNsRules
import Vocabulary

/// The possible values of each kind of outcome, from the reason tables.
enum OutcomeRules {
    /// The token actions that an outcome of the kind can have.
    static func tokenActions(of kind: OutcomeKind) -> Set<TokenAction> {
        let rows = ReasonTable.rows.filter { $0.verdict.disposition.outcome == kind }
        let actions = Set(rows.map(\.verdict.tokenAction)).union(rows.isEmpty ? [.keep] : [])
        // A blown token fuse turns every action against the token into `hold`.
        return actions == [.keep] ? actions : actions.union([.hold])
    }

    static func reasons(of kind: OutcomeKind) -> [Reason] {
        let ofAPNs = APNsReason.allCases.map(Reason.apns) + [.unknownAPNs("New \"one\"")]
        let own = LocalReason.allCases.filter { $0.outcomes.contains(kind) }.map(Reason.local)
        return switch kind {
        case .accepted: []
        case .unregistered, .rejected, .undeliverable: ofAPNs + own
        case .invalid, .expired, .suppressed, .duplicate, .cancelled: own
        }
    }
}
