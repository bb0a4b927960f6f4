import Vocabulary

/// How device tokens behave, what else goes wrong, and how strict APNs is.
///
/// A rule for a whole token beats one for a prefix, a longer prefix beats a shorter one.
package struct Scenario: Hashable, Sendable {
    private struct Prefix: Hashable, Sendable {
        var text: [UInt8]
        var behavior: Behavior
    }

    /// For tokens that no rule names.
    package var fallback: Behavior
    /// Added to every answer's time.
    package var latency: Duration
    /// The first that is due and wins its dice decides.
    package var faults: [FaultRule] = []
    package var connectionRules: [ConnectionRule] = []
    package var seed: UInt64 = 1
    /// Nil leaves what the simulator was configured with.
    package var strictness: Strictness?
    package var settings: WireSettings?
    package var throttle = ErrorThrottle()
    /// Nil: no device is ever sent too much.
    package var deviceRate: DeviceRate?
    /// A connection without a request for this long gets GOAWAY; nil: never.
    package var idleTimeout: Duration?
    /// The share of stored notifications that a device does not get when it is back.
    package var storageLoss = 0.0
    /// How far the simulator's clock is ahead of the machine's: `date`, and the age of tokens.
    package var clockOffset: Duration = .zero
    /// The bundle IDs of teams that are named; other teams have every one.
    package var teams: [String: Set<String>] = [:]
    /// SHA-256 of client certificates in DER, lower-case hexadecimal.
    package var revokedCertificates: Set<String> = []
    /// Channels that one app may have in one environment.
    package var maxChannels = 10_000
    /// Bundle IDs that may not broadcast.
    package var appsWithoutBroadcast: Set<String> = []
    private var exact: [[UInt8]: Behavior] = [:]
    /// Longest first.
    private var prefixes: [Prefix] = []

    package init(fallback: Behavior = .alive, latency: Duration = .zero) {
        self.fallback = fallback
        self.latency = latency
    }

    /// No rule, and a default that remembers nothing: no token needs to be looked up.
    var isUniform: Bool { exact.isEmpty && prefixes.isEmpty && fallback.steps.isEmpty }

    /// - Returns: false, and nothing is changed, if there is a rule for the token already.
    package mutating func add(token: String, _ behavior: Behavior) -> Bool {
        let key = token.lowercased()
        return exact.updateValue(behavior, forKey: Array(key.utf8)) == nil
    }

    /// - Returns: false if there is a rule for the prefix already.
    package mutating func add(prefix: String, _ behavior: Behavior) -> Bool {
        let text = Array(prefix.lowercased().utf8)
        guard !prefixes.contains(where: { $0.text == text }) else { return false }
        let place = prefixes.firstIndex { $0.text.count < text.count } ?? prefixes.endIndex
        prefixes.insert(Prefix(text: text, behavior: behavior), at: place)
        return true
    }

    /// The behaviour of a token in lower case.
    func behavior(of token: [UInt8]) -> Behavior {
        if let behavior = exact[token] { return behavior }
        for prefix in prefixes where token.starts(with: prefix.text) { return prefix.behavior }
        return fallback
    }
}
