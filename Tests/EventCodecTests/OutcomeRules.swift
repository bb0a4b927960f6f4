import APNsRules
import Vocabulary

/// What outcomes of a kind can say, as the tables of reasons have it.
enum OutcomeRules {
    /// What an outcome of the kind may tell a reader to do with the token.
    static func tokenActions(of kind: OutcomeKind) -> Set<TokenAction> {
        let rows = ReasonTable.rows.filter { $0.verdict.disposition.outcome == kind }
        let actions = Set(rows.map(\.verdict.tokenAction)).union(rows.isEmpty ? [.keep] : [])
        // A fuse that is blown holds whatever is against the token.
        return actions == [.keep] ? actions : actions.union([.hold])
    }

    static func reasons(of kind: OutcomeKind) -> [Reason] {
        let ofAPNs = APNsReason.allCases.map(Reason.apns) + [.unknownAPNs("New \"one\"")]
        let own = LocalReason.allCases.filter { $0.outcomes.contains(kind) }.map(Reason.local)
        return switch kind {
        case .accepted: []
        case .unregistered, .rejected, .undeliverable: ofAPNs + own
        case .invalid, .expired, .suppressed, .duplicate: own
        }
    }
}
