package import HTTP2IO
package import Vocabulary

/// How APNs answers for one device token: a list of steps, then always the same step.
package struct Behavior: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case accept
        /// An error with the status that Apple documents for the reason.
        case reason(APNsReason, since: Timestamp? = nil)
        case html(status: Int)
        case bare(status: Int)
        case reset(HTTP2ErrorCode)
        case silence
        case connection(ConnectionFault)
    }

    /// Used in order, one per request.
    package var steps: [Step]
    /// Used after the last step; nil starts the steps again.
    package var then: Step?
    /// Added to the response time.
    package var delay: Duration
    /// The `Retry-After` of errors, in seconds.
    package var retryAfterSeconds: Int?
    /// The token's environment; in the other one, the answer is `BadDeviceToken`.
    package var environment: APNsEnvironment?
    /// Whether the device is unreachable, so that only the newest notification is stored for it.
    package var isOffline = false

    package init(
        steps: [Step] = [],
        then: Step? = .accept,
        delay: Duration = .zero,
        environment: APNsEnvironment? = nil
    ) {
        precondition(then != nil || !steps.isEmpty, "a behavior does something")
        self.steps = steps
        self.then = then
        self.delay = delay
        self.environment = environment
    }

    package static let alive = Behavior()

    /// The step for a request after `count` earlier ones for the same token.
    func step(after count: Int) -> Step {
        if count < steps.count { return steps[count] }
        return then ?? steps[count % steps.count]
    }
}
