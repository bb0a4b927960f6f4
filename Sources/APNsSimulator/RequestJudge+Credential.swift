import APNsRules
import Vocabulary

/// Provider tokens, and what the first of them binds a connection to.
///
/// Apple page "Establishing a token-based connection to APNs".
extension RequestJudge {
    mutating func credentialRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> Refusal? {
        // A certificate has authenticated the connection; APNs then ignores `authorization`.
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
        if let refusal = bindingRefusal(token, connection) ?? updateRefusal(token, connection) {
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

    /// By the time of issue: a connection may well be opened shortly before a due refresh.
    private mutating func updateRefusal(
        _ token: VerifiedProviderToken,
        _ connection: ConnectionFacts
    ) -> Refusal? {
        let name: String
        switch strictness.tokenUpdates {
        case .off: return nil
        case .connection:
            // Related keys share a connection, each with its own token.
            guard let bound = connection.providerToken, bound.keyID == token.keyID else {
                return nil
            }
            return Self.isTooSoon(token, after: bound)
        case .key: name = token.keyID
        case .team: name = token.teamID
        }
        if let newest = newestTokens[name], newest.authorization != token.authorization,
            let refusal = Self.isTooSoon(token, after: newest)
        {
            return refusal
        }
        newestTokens[name] = token
        return nil
    }

    private static func isTooSoon(
        _ token: VerifiedProviderToken,
        after former: VerifiedProviderToken
    ) -> Refusal? {
        let interval = ProviderTokenSchedule.minInterval.components.seconds
        return token.issuedAt < former.issuedAt + interval
            ? Refusal(429, .tooManyProviderTokenUpdates) : nil
    }

    /// At most an hour old; from the future, as far ahead as is allowed.
    private func ageRefusal(_ token: VerifiedProviderToken, _ now: Timestamp) -> Refusal? {
        let (age, overflow) = now.seconds.subtractingReportingOverflow(token.issuedAt)
        if overflow || age < -strictness.maxFutureSeconds {
            return Refusal(403, .invalidProviderToken)
        }
        return age > 3600 ? Refusal(403, .expiredProviderToken) : nil
    }
}
