import ConnectionPool
import Delivery
import Telemetry
import Vocabulary

// Conversions from the engine's terms to metric labels.

extension ShardMetrics {
    /// Counts a record that Kafka has acknowledged.
    ///
    /// - Parameters:
    ///   - publication: which of the delivery's records.
    ///   - conclusion: the delivery's conclusion; nil: it has left, because its partition was lost
    ///     before Kafka acknowledged the record.
    func countRecord(_ publication: Publication, of conclusion: Conclusion?) {
        switch publication {
        case .outcome: resultsProduced.add()
        case .tokenStatus: tokenStatusRecords.add()
        case .deadLetter:
            // Every dead letter has a reason, because only outcomes other than `accepted` become
            // dead letters.
            guard case .ended(let ending)? = conclusion, let reason = ending.reason else { return }
            deadLetters[ReasonLabel(reason)].add()
        case .retry:
            guard let deferral = conclusion?.deferral else { return deferred.add() }
            guard !deferral.recipients.isEmpty else {
                return countDeferral(tier: deferral.tier, because: deferral.reason)
            }
            for recipient in deferral.recipients {
                countDeferral(tier: deferral.tier, because: recipient.reason)
            }
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
