import Delivery
import Vocabulary

extension DeliveryEngine {
    /// Ends a turn, and returns its decisions.
    mutating func turnEnded(now: Moment) -> TurnDecision {
        var decision = TurnDecision()
        turnEnded(now: now, into: &decision)
        return decision
    }
}

extension TurnDecision {
    /// The decisions of two consecutive turns.
    static func + (first: TurnDecision, second: TurnDecision) -> TurnDecision {
        var both = first
        both.tokenRefreshes += second.tokenRefreshes
        both.cancels += second.cancels
        both.sends += second.sends
        both.connections += second.connections
        both.tokenWords += second.tokenWords
        both.schemaFetches += second.schemaFetches
        both.tallies += second.tallies
        both.transactions += second.transactions
        both.publications += second.publications
        both.dropped += second.dropped
        both.group += second.group
        both.stop = second.stop ?? first.stop
        return both
    }

    static func += (first: inout TurnDecision, second: TurnDecision) { first = first + second }

    /// Whether there is nothing to do.
    var isNothing: Bool {
        tokenRefreshes.isEmpty && cancels.isEmpty && sends.isEmpty && connections.isEmpty
            && tokenWords.isEmpty && schemaFetches.isEmpty && tallies.isEmpty
            && transactions.isEmpty && publications.isEmpty && dropped.isEmpty && group.isEmpty
            && stop == nil
    }

    /// The deliveries whose records are produced, and the records.
    var published: [(id: DeliveryID, records: Publications)] {
        var published: [(id: DeliveryID, records: Publications)] = []
        for tag in publications.map(\.tag) {
            if published.last?.id != tag.delivery { published.append((tag.delivery, [])) }
            published[published.count - 1].records.formUnion(Publications(tag.publication))
        }
        return published
    }

    /// The outcomes in the records, in order.
    var outcomes: [Outcome] {
        publications.filter { $0.tag.publication == .outcome }.compactMap {
            $0.conclusion.outcome(of: $0.arrival)
        }
    }

    /// The committed offsets, with or without a transaction.
    var commits: [PartitionCommit]? {
        for case .commit(let commits) in transactions { return commits }
        for case .commit(let commits) in group { return commits }
        return nil
    }
}
