public import Vocabulary

/// Parks a credential that APNs refuses, in one environment or both, and finds out when it works
/// again.
///
/// After a wait (`Backoff`), one event is sent as a probe; a new key or certificate ends the wait
/// at once. If no probe is sent for an hour, the refusal is forgotten: there may never be an event
/// again.
public struct CredentialParking: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        public var firstWait: Duration
        public var maxWait: Duration

        public init(firstWait: Duration = .seconds(60), maxWait: Duration = .seconds(15 * 60)) {
            self.firstWait = firstWait
            self.maxWait = maxWait
        }
    }

    public enum Phase: Hashable, Sendable {
        /// Next: `parked`.
        case working
        /// Nothing is sent until that time. Next: `probing`, `working`.
        case parked(Reason, until: Instant)
        /// One event may be sent as a probe, until that time. Next: `working`, `parked`.
        case probing(Reason, isOut: Bool, until: Instant)
    }

    /// After this long without a probe, a refusal is forgotten.
    public static let memory = Duration.seconds(3600)

    private let limits: Limits
    public private(set) var phase = Phase.working
    /// How many times it was parked since it last worked.
    private var refusals = 0
    /// When the key was last replaced; earlier requests used an older one.
    private var replacedAt = Instant(nanoseconds: .min)

    public init(limits: Limits = .init()) {
        self.limits = limits
    }

    // MARK: Inputs

    /// APNs refused the credential in an answer to a request sent at `sentAt`.
    ///
    /// - Returns: false if it is parked already, or the key was replaced since.
    @discardableResult
    public mutating func refused(
        _ reason: Reason,
        sentAt: Instant,
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) -> Bool {
        guard !isReplaced(since: sentAt) else { return false }
        if case .parked = phase { return false }
        refusals += 1
        let backoff = Backoff(first: limits.firstWait, longest: limits.maxWait)
        let wait = backoff.wait(afterFailures: refusals, using: &random)
        phase = .parked(reason, until: now + wait)
        return true
    }

    /// APNs answered without refusing the credential.
    public mutating func worked() {
        guard case .probing = phase else { return }
        refusals = 0
        phase = .working
    }

    /// The key or certificate was reloaded.
    public mutating func replaced(now: Instant) {
        refusals = 0
        replacedAt = now
        phase = .working
    }

    public mutating func requestStarted() {
        guard case .probing(let reason, _, let until) = phase else { return }
        phase = .probing(reason, isOut: true, until: until)
    }

    /// The request ended in a way that says nothing about the credential.
    public mutating func requestAbandoned() {
        guard case .probing(let reason, _, let until) = phase else { return }
        phase = .probing(reason, isOut: false, until: until)
    }

    public mutating func timeAdvanced(now: Instant) {
        switch phase {
        case .parked(let reason, let until) where until <= now:
            phase = .probing(reason, isOut: false, until: now + Self.memory)
        case .probing(let reason, isOut: true, _):
            phase = .probing(reason, isOut: true, until: now + Self.memory)
        case .probing(_, isOut: false, let until) where until <= now:
            refusals = 0
            phase = .working
        case .working, .parked, .probing: break
        }
    }

    // MARK: Queries

    /// Whether a request may start now.
    public var admits: Bool {
        switch phase {
        case .working: true
        case .parked: false
        case .probing(_, let isOut, _): !isOut
        }
    }

    public var isWorking: Bool { phase == .working }

    /// Whether a request sent at `sentAt` used an older key or certificate.
    public func isReplaced(since sentAt: Instant) -> Bool { sentAt < replacedAt }

    /// Why it is parked; nil: it works.
    public var reason: Reason? {
        switch phase {
        case .working: nil
        case .parked(let reason, _), .probing(let reason, _, _): reason
        }
    }

    /// When the next probe may be sent; nil: now.
    public var parkedUntil: Instant? {
        if case .parked(_, let until) = phase { until } else { nil }
    }

    public var nextDeadline: Instant? {
        switch phase {
        case .working, .probing(_, isOut: true, _): nil
        case .parked(_, let until), .probing(_, isOut: false, let until): until
        }
    }
}
