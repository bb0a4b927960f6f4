import APNsRules
import Vocabulary

extension DeliveryEngine {
    /// Ends the delivery here because it cannot go on now.
    mutating func postpone(
        _ id: DeliveryID,
        because failure: AttemptFailure,
        notBefore: Instant?,
        now: Moment
    ) {
        conclude(id, with: .undeliverable(failure.reason, status: failure.httpStatus), now: now)
    }
}
