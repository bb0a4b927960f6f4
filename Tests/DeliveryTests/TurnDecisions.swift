import Delivery
import Vocabulary

extension DeliveryEngine {
    /// Ends a turn, and tells what is to be done.
    mutating func turnEnded(now: Moment) -> TurnDecision {
        var decision = TurnDecision()
        turnEnded(now: now, into: &decision)
        return decision
    }
}

extension TurnDecision {
    /// What two turns decided, one after the other.
    static func + (first: TurnDecision, second: TurnDecision) -> TurnDecision {
        var both = first
        both.tokenRefreshes += second.tokenRefreshes
        both.cancels += second.cancels
        both.sends += second.sends
        both.connections += second.connections
        both.tokenWords += second.tokenWords
        both.schemaFetches += second.schemaFetches
        both.transactions += second.transactions
        both.publications += second.publications
        both.dropped += second.dropped
        both.group += second.group
        both.stop = second.stop ?? first.stop
        return both
    }

    static func += (first: inout TurnDecision, second: TurnDecision) { first = first + second }

    /// Whether nothing is to be done.
    var isNothing: Bool {
        tokenRefreshes.isEmpty && cancels.isEmpty && sends.isEmpty && connections.isEmpty
            && tokenWords.isEmpty && schemaFetches.isEmpty && transactions.isEmpty
            && publications.isEmpty && dropped.isEmpty && group.isEmpty && stop == nil
    }

    /// Deliveries whose records are produced, and which.
    var published: [(id: DeliveryID, records: Publications)] {
        var published: [(id: DeliveryID, records: Publications)] = []
        for tag in publications.map(\.tag) {
            if published.last?.id != tag.delivery { published.append((tag.delivery, [])) }
            published[published.count - 1].records.formUnion(Publications(tag.publication))
        }
        return published
    }

    /// The outcomes that the records tell, in order.
    var outcomes: [Outcome] {
        publications.filter { $0.tag.publication == .outcome }.compactMap {
            $0.conclusion.outcome(of: $0.arrival)
        }
    }

    /// The offsets that are committed, in a transaction or without.
    var commits: [PartitionCommit]? {
        for case .commit(let commits) in transactions { return commits }
        for case .commit(let commits) in group { return commits }
        return nil
    }
}
