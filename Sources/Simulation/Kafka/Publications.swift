import Delivery
import Vocabulary

/// A set of the records that one outcome consists of.
struct Publications: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ publication: Publication) {
        rawValue = 1 << publication.rawValue
    }

    init(_ publications: Set<Publication>) {
        rawValue = publications.reduce(0) { $0 | 1 << $1.rawValue }
    }

    /// What the contract demands for an outcome, whatever the service thinks of it.
    init(neededFor outcome: Outcome) {
        var needed = Publications(.outcome)
        switch (outcome.kind, outcome.reason) {
        case (.invalid, _), (.undeliverable, _): needed.insert(Publications(.deadLetter))
        case (.unregistered, _), (.rejected, .apns(.badDeviceToken)?),
            (.rejected, .apns(.deviceTokenNotForTopic)?):
            needed.insert(Publications(.tokenStatus))
        case (.rejected, _), (.accepted, _), (.expired, _), (.suppressed, _), (.duplicate, _):
            break
        }
        if outcome.isTokenReadmitted { needed.insert(Publications(.tokenStatus)) }
        self = needed
    }
}
