import APNsRules
package import Configuration
import Spelling
package import Vocabulary

/// Selects outcomes; a criterion that is not set matches all.
package struct OutcomeFilter: Hashable, Sendable {
    package var kinds: Set<OutcomeKind> = []
    /// Compared case-insensitively.
    package var reasons: Set<String> = []
    package var tokenActions: Set<TokenAction> = []
    /// Bundle IDs, without topic suffixes.
    package var bundleIDs: Set<String> = []
    /// Complete values of `apns-topic`.
    package var apnsTopics: Set<String> = []
    package var credentials: Set<String> = []
    package var eventIDs: Set<String> = []
    package var campaigns: Set<String> = []
    /// Indices in an event's `recipients`.
    package var recipients: Set<Int64> = []
    /// Compared case-insensitively.
    package var tokens: Set<DeviceToken> = []
    /// Fingerprints of device tokens.
    package var fingerprints: Set<String> = []

    package init() {}

    package func admits(_ outcome: TailedOutcome) -> Bool {
        (kinds.isEmpty || kinds.contains(outcome.kind))
            && ReasonName.admits(outcome.reason, reasons)
            && Self.admit(outcome.tokenAction, tokenActions)
            && Self.admit(outcome.eventID, eventIDs)
            && Self.admit(outcome.campaign, campaigns)
            && Self.admit(outcome.recipient, recipients)
            && Self.admit(outcome.apnsTopic, apnsTopics)
            && Self.admit(outcome.credential, credentials)
            && Self.admit(outcome.fingerprint, fingerprints)
            && admitsDevice(of: outcome)
            && admitsApp(of: outcome)
    }

    /// What to tell about values that probably select nothing.
    ///
    /// They are not refused: outcomes may have them from another version or configuration.
    package func notes(_ configuration: Configuration) -> [String] {
        let names = configuration.apns.credentials.map(\.name)
        let others = "; it has \(names.joined(separator: ", "))"
        return ReasonName.notes(about: reasons)
            + credentials.subtracting(names).sorted().map { name in
                "--credential: the configuration has no credential '\(name)'"
                    + NearMiss.question(name, among: names, otherwise: others)
            }
    }

    private func admitsDevice(of outcome: TailedOutcome) -> Bool {
        guard !tokens.isEmpty else { return true }
        guard let digits = outcome.deviceToken?.canonicalDigits else { return false }
        return tokens.contains { $0.canonicalDigits == digits }
    }

    /// Whether the topic is that of one of the apps, with or without a topic suffix.
    private func admitsApp(of outcome: TailedOutcome) -> Bool {
        guard !bundleIDs.isEmpty else { return true }
        guard let topic = outcome.apnsTopic else { return false }
        return bundleIDs.contains(topic)
            || bundleIDs.contains(APNsTopicRule.bundleID(in: APNsTopic(topic)))
    }

    private static func admit<Value>(_ value: Value?, _ wanted: Set<Value>) -> Bool {
        wanted.isEmpty || value.map(wanted.contains) == true
    }
}
