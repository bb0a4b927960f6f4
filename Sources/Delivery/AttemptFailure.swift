import Vocabulary

/// Why an attempt failed, or why an event cannot be attempted.
///
/// Becomes the outcome's reason if no attempt follows.
struct AttemptFailure: Hashable, Sendable {
    var reason: Reason
    var httpStatus: Int?

    static let streamBroken = AttemptFailure(reason: .local(.streamBroken))
    static let requestTimeout = AttemptFailure(reason: .local(.requestTimeout))
    static let schemaUnavailable = AttemptFailure(reason: .local(.schemaUnavailable))
    static let routeCongested = AttemptFailure(reason: .local(.routeCongested))
    static let deviceCongested = AttemptFailure(reason: .local(.deviceCongested))
}
