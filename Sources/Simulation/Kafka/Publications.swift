import Delivery
import Vocabulary

extension Publications {
    /// The records that the contract requires for an outcome, independent of the service's code.
    init(neededFor outcome: Outcome) {
        var needed = Publications.outcome
        switch (outcome.kind, outcome.reason) {
        case (.invalid, _), (.undeliverable, _): needed.insert(.deadLetter)
        case (.unregistered, _), (.rejected, .apns(.badDeviceToken)?),
            (.rejected, .apns(.deviceTokenNotForTopic)?):
            needed.insert(.tokenStatus)
        case (.rejected, _), (.accepted, _), (.expired, _), (.suppressed, _), (.duplicate, _),
            (.cancelled, _):
            break
        }
        if outcome.isTokenReadmitted { needed.insert(.tokenStatus) }
        self = needed
    }
}
