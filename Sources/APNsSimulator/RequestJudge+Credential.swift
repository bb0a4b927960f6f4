import APNsRules
import Vocabulary

/// Checks provider tokens, and binds a connection to its first one.
///
/// Apple page "Establishing a token-based connection to APNs".
extension RequestJudge {
    mutating func credentialRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> Refusal? {
        // A certificate has authenticated the connection, so APNs ignores `authorization`.
        if connection.certificate != nil {
            return connection.certificateRefusal.map { Refusal(403, $0) }
        }
        guard let range = head[.authorization] else { return Refusal(403, .missingProviderToken) }
        if let known = connection.providerToken, bytes.equals(range, known.authorization) {
            return ageRefusal(known, now)
        }
        guard bytes.begins(range, with: "bearer ") else {
            return Refusal(403, .missingProviderToken)
        }
        guard let token = providerTokens.verify(bytes[range]) else {
            return Refusal(403, .invalidProviderToken)
        }
        if let refusal = ageRefusal(token, now) { return refusal }
        guard providerTokens.key(token.key).environments.contains(connection.environment) else {
            return Refusal(403, .badEnvironmentKeyIdInToken)
        }
        if let refusal = bindingRefusal(token, connection) ?? updateRefusal(token, connection, now)
        {
            return refusal
        }
        if connection.providerToken == nil {
            connection.teamBundleIDs = scenario.teams[token.teamID]
        }
        connection.providerToken = token
        connection.isProven = true
        return nil
    }

    private func bindingRefusal(
        _ token: VerifiedProviderToken,
        _ connection: ConnectionFacts
    ) -> Refusal? {
        guard strictness.bindsConnections, let bound = connection.providerToken else { return nil }
        if token.teamID != bound.teamID { return Refusal(403, .invalidProviderToken) }
        if token.keyID == bound.keyID { return nil }
        let isRelated =
            providerTokens.key(bound.key).relatedKeyID == token.keyID
            || providerTokens.key(token.key).relatedKeyID == bound.keyID
        return isRelated ? nil : Refusal(403, .unrelatedKeyIdInToken)
    }

    /// Limits how often tokens are renewed, by their time of issue.
    ///
    /// The time of use does not matter: a sender may start shortly before a due renewal.
    private mutating func updateRefusal(
        _ token: VerifiedProviderToken,
        _ connection: ConnectionFacts,
        _ now: Timestamp
    ) -> Refusal? {
        // Related keys share a connection, but each has its own token.
        if strictness.tokenUpdates != .off, let bound = connection.providerToken,
            bound.keyID == token.keyID,
            token.issuedAt < bound.issuedAt + Self.updateInterval
        {
            return Refusal(429, .tooManyProviderTokenUpdates)
        }
        let scope: String
        switch strictness.tokenUpdates {
        case .off, .connection: return nil
        case .key: scope = "\(token.teamID) \(token.keyID)"
        case .team: scope = token.teamID
        }
        // Old and new tokens are used at the same time, because senders' clocks differ.
        var known = takenTokens[scope, default: []]
        guard known.allSatisfy({ $0.authorization != token.authorization }) else { return nil }
        known.removeAll { ageRefusal($0, now) != nil }
        guard
            known.allSatisfy({
                $0.issuedAt.distance(to: token.issuedAt).magnitude >= Self.updateInterval
            })
        else { return Refusal(429, .tooManyProviderTokenUpdates) }
        takenTokens[scope] = known + [token]
        return nil
    }

    private static let updateInterval = ProviderTokenSchedule.minInterval.components.seconds

    /// A token may be an hour old, or issued in the future as far as `maxFutureSeconds` allows.
    private func ageRefusal(_ token: VerifiedProviderToken, _ now: Timestamp) -> Refusal? {
        let (age, overflow) = now.seconds.subtractingReportingOverflow(token.issuedAt)
        if overflow || age < -strictness.maxFutureSeconds {
            return Refusal(403, .invalidProviderToken)
        }
        let maxAge = ProviderTokenSchedule.maxAge.components.seconds
        return age > maxAge ? Refusal(403, .expiredProviderToken) : nil
    }
}
