import Delivery
import Vocabulary

extension Publications {
    /// What the contract demands for an outcome, whatever the service thinks of it.
    init(neededFor outcome: Outcome) {
        var needed = Publications.outcome
        switch (outcome.kind, outcome.reason) {
        case (.invalid, _), (.undeliverable, _): needed.insert(.deadLetter)
        case (.unregistered, _), (.rejected, .apns(.badDeviceToken)?),
            (.rejected, .apns(.deviceTokenNotForTopic)?):
            needed.insert(.tokenStatus)
        case (.rejected, _), (.accepted, _), (.expired, _), (.suppressed, _), (.duplicate, _):
            break
        }
        if outcome.isTokenReadmitted { needed.insert(.tokenStatus) }
        self = needed
    }
}
