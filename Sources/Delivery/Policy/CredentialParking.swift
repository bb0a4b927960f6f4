public import Vocabulary

/// Parks a credential that APNs refuses, and finds out when it works again.
///
/// After a wait (`Backoff`), one event is sent as a probe; a new key or certificate ends the wait
/// at once.
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
        /// One event may be sent as a probe. Next: `working`, `parked`.
        case probing(Reason, isOut: Bool)
    }

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
        guard case .probing(let reason, _) = phase else { return }
        phase = .probing(reason, isOut: true)
    }

    /// The request ended in a way that says nothing about the credential.
    public mutating func requestAbandoned() {
        guard case .probing(let reason, _) = phase else { return }
        phase = .probing(reason, isOut: false)
    }

    public mutating func timeAdvanced(now: Instant) {
        guard case .parked(let reason, let until) = phase, until <= now else { return }
        phase = .probing(reason, isOut: false)
    }

    // MARK: Queries

    /// Whether a request may start now.
    public var admits: Bool {
        switch phase {
        case .working: true
        case .parked: false
        case .probing(_, let isOut): !isOut
        }
    }

    public var isWorking: Bool { phase == .working }

    /// Whether a request sent at `sentAt` used an older key or certificate.
    public func isReplaced(since sentAt: Instant) -> Bool { sentAt < replacedAt }

    /// Why it is parked; nil: it works.
    public var reason: Reason? {
        switch phase {
        case .working: nil
        case .parked(let reason, _), .probing(let reason, _): reason
        }
    }

    public var nextDeadline: Instant? {
        guard case .parked(_, let until) = phase else { return nil }
        return until
    }
}
