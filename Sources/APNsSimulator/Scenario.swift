import Vocabulary

/// The behavior of device tokens, further faults, and how strict APNs is.
///
/// A rule for a whole token takes precedence over one for a prefix, and a longer prefix over a
/// shorter one.
package struct Scenario: Hashable, Sendable {
    private struct Prefix: Hashable, Sendable {
        var text: [UInt8]
        var behavior: Behavior
    }

    /// For tokens without a rule.
    package var fallback: Behavior
    /// Added to every response time.
    package var latency: Duration
    /// The first one that is active and selected at random applies.
    package var faults: [FaultRule] = []
    package var connectionRules: [ConnectionRule] = []
    package var seed: UInt64 = 1
    /// nil: the simulator's configured strictness.
    package var strictness: Strictness?
    package var settings: WireSettings?
    package var throttle = ErrorThrottle()
    /// nil: no limit.
    package var deviceRate: DeviceRate?
    /// A connection without requests for this long gets GOAWAY; nil: never.
    package var idleTimeout: Duration?
    /// The share of stored notifications that a device loses when it comes back online.
    package var storageLoss = 0.0
    /// How far the simulator's clock is ahead of the machine's; affects `date` and token ages.
    package var clockOffset: Duration = .zero
    /// The bundle IDs of the teams listed; other teams have all.
    package var teams: [String: Set<String>] = [:]
    /// SHA-256 of client certificates in DER, as lower-case hexadecimal.
    package var revokedCertificates: Set<String> = []
    /// The maximum number of channels for one app in one environment.
    package var maxChannels = 10_000
    /// Bundle IDs that must not broadcast.
    package var appsWithoutBroadcast: Set<String> = []
    private var exact: [[UInt8]: Behavior] = [:]
    /// Longest first.
    private var prefixes: [Prefix] = []

    package init(fallback: Behavior = .alive, latency: Duration = .zero) {
        self.fallback = fallback
        self.latency = latency
    }

    /// Whether no rule exists and the default has no steps, so that tokens need no look-up.
    var isUniform: Bool { exact.isEmpty && prefixes.isEmpty && fallback.steps.isEmpty }

    /// - Returns: false, without a change, if the token already has a rule.
    package mutating func add(token: String, _ behavior: Behavior) -> Bool {
        let key = token.lowercased()
        return exact.updateValue(behavior, forKey: Array(key.utf8)) == nil
    }

    /// - Returns: false if the prefix already has a rule.
    package mutating func add(prefix: String, _ behavior: Behavior) -> Bool {
        let text = Array(prefix.lowercased().utf8)
        guard !prefixes.contains(where: { $0.text == text }) else { return false }
        let place = prefixes.firstIndex { $0.text.count < text.count } ?? prefixes.endIndex
        prefixes.insert(Prefix(text: text, behavior: behavior), at: place)
        return true
    }

    /// The behavior of a token in lower case.
    func behavior(of token: [UInt8]) -> Behavior {
        if let behavior = exact[token] { return behavior }
        for prefix in prefixes where token.starts(with: prefix.text) { return prefix.behavior }
        return fallback
    }
}
