package import HTTP2IO
package import Vocabulary

/// How APNs treats one device token: some steps first, then always the same.
package struct Behavior: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        case accept
        /// With the status that Apple documents for the reason.
        case reason(APNsReason, since: Timestamp? = nil)
        case html(status: Int)
        case bare(status: Int)
        case reset(HTTP2ErrorCode)
        case silence
        case connection(ConnectionFault)
    }

    /// Taken one per request, in order.
    package var steps: [Step]
    /// Taken when the steps are used up; nil begins them again.
    package var then: Step?
    /// Added to the answer's time.
    package var delay: Duration
    /// The `Retry-After` of errors.
    package var retryAfterSeconds: Int?
    /// The token's home; in the other environment it is a `BadDeviceToken`.
    package var environment: APNsEnvironment?
    /// The device cannot be reached: the newest notification is stored for it.
    package var isOffline = false

    package init(
        steps: [Step] = [],
        then: Step? = .accept,
        delay: Duration = .zero,
        environment: APNsEnvironment? = nil
    ) {
        precondition(then != nil || !steps.isEmpty, "a behaviour does something")
        self.steps = steps
        self.then = then
        self.delay = delay
        self.environment = environment
    }

    package static let alive = Behavior()

    /// The step for a request that `count` others of the same token preceded.
    func step(after count: Int) -> Step {
        if count < steps.count { return steps[count] }
        return then ?? steps[count % steps.count]
    }
}
