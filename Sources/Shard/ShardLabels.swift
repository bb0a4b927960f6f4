import ConnectionPool
import Delivery
import Telemetry
import Vocabulary

// The engine's words in the words of the metrics.

extension ShardMetrics {
    /// Counts a record that Kafka has acknowledged.
    ///
    /// - Parameters:
    ///   - publication: which of the delivery's records.
    ///   - conclusion: what the delivery came to; nil: it has left, because its partition was lost
    ///     meanwhile, though Kafka has the record nevertheless.
    func countRecord(_ publication: Publication, of conclusion: Conclusion?) {
        switch publication {
        case .outcome: resultsProduced.add()
        case .tokenStatus: tokenStatusRecords.add()
        case .deadLetter:
            // Only what has an outcome other than `accepted` becomes a dead letter: it has a reason.
            guard case .ended(let ending)? = conclusion, let reason = ending.reason else { return }
            deadLetters[ReasonLabel(reason)].add()
        case .retry:
            guard let deferral = conclusion?.deferral else { return deferred.add() }
            countDeferral(tier: deferral.tier, because: deferral.reason)
        }
    }
}

extension Publication {
    var label: RecordLabel {
        switch self {
        case .outcome: .outcome
        case .tokenStatus: .tokenStatus
        case .deadLetter: .deadLetter
        case .retry: .retry
        }
    }
}

extension BrokenStreamLabel {
    init(_ kind: StreamBreak) {
        switch kind {
        case .refused: self = .refused
        case .reset: self = .reset
        case .malformed: self = .malformed
        case .unprocessed: self = .unprocessed
        case .lost: self = .lost
        }
    }
}

extension CircuitBreaker.Phase {
    var state: RouteMetrics.BreakerState {
        switch self {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }
}

extension ConnectionMachine.Phase {
    var state: RouteMetrics.ConnectionState {
        switch self {
        case .connecting: .connecting
        case .proving: .proving
        case .ready: .ready
        case .draining: .draining
        }
    }
}
