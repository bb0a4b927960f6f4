import APNsRules
package import HTTP2IO
package import Vocabulary

/// How strict the simulator is where APNs' behaviour is not documented.
package struct Strictness: Hashable, Sendable {
    /// A request without `apns-push-type` is `InvalidPushType`; APNs mostly lets it pass.
    package var requiresPushType = false
    /// The first provider token fixes the connection's team and key.
    package var bindsConnections = true
    /// On one connection a provider token may only follow one issued 20 minutes before it.
    package var limitsTokenUpdates = true

    package init() {}
}

/// Decides the answer to a request: the pure core of the simulator.
///
/// The order of the checks is path, method, repeated headers, credential, topic, push type,
/// priority, expiration, collapse ID, ID, device token, payload. APNs' own order is not known.
package struct RequestJudge {
    private var providerTokens: ProviderTokenJudge
    private let scenario: Scenario
    private let strictness: Strictness
    /// Bundle IDs that exist, for those that end like a suffix.
    private let bundleIDs: Set<String>
    /// Requests so far for tokens whose behaviour goes by steps.
    private var requestCounts: [[UInt8]: Int] = [:]
    private static let maxRequestCounts = 1 << 20

    /// - Throws: if a key is no P-256 public key.
    package init(
        keys: [RegisteredKey],
        scenario: Scenario = Scenario(),
        strictness: Strictness = Strictness(),
        bundleIDs: Set<String> = []
    ) throws(SigningKeyError) {
        providerTokens = try ProviderTokenJudge(keys)
        self.scenario = scenario
        self.strictness = strictness
        self.bundleIDs = bundleIDs
    }

    /// Judges one request that came on `connection`.
    package mutating func judge(
        _ head: RequestHead,
        of block: HeaderBlock,
        bodyByteCount: Int,
        connection: inout ConnectionFacts,
        now: Timestamp
    ) -> Judgement {
        let wasProven = connection.isProven
        let bytes = block.bytes
        let refusal =
            Self.routeRefusal(head, bytes)
            ?? credentialRefusal(head, bytes, &connection, now)
            ?? topicRefusal(head, bytes, &connection)
            ?? Self.fieldRefusal(head, bytes)
        let proves = connection.isProven && !wasProven
        if let refusal { return Judgement(.refused(refusal), provesConnection: proves) }
        guard let path = head[.path], let token = Self.deviceToken(bytes, path) else {
            return Judgement(.refused(Refusal(400, .badDeviceToken)), provesConnection: proves)
        }
        var judgement = behave(bytes, token, connection.environment)
        judgement.provesConnection = proves
        if case .refused(let refusal) = judgement.answer, refusal.reason == .badDeviceToken {
            return judgement
        }
        if let refusal = Self.payloadRefusal(bodyByteCount, connection.approvedPushType) {
            judgement.answer = .refused(refusal)
        }
        return judgement
    }

    // MARK: The token's behaviour

    private mutating func behave(
        _ bytes: [UInt8],
        _ token: Range<Int>,
        _ environment: APNsEnvironment
    ) -> Judgement {
        if scenario.isUniform {
            return judgement(scenario.fallback, count: 0, environment)
        }
        let key = bytes[token].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let behavior = scenario.behavior(of: key)
        guard !behavior.steps.isEmpty else { return judgement(behavior, count: 0, environment) }
        let count = requestCounts[key] ?? 0
        if count > 0 || requestCounts.count < Self.maxRequestCounts {
            requestCounts[key] = count + 1
        }
        return judgement(behavior, count: count, environment)
    }

    private func judgement(
        _ behavior: Behavior,
        count: Int,
        _ environment: APNsEnvironment
    ) -> Judgement {
        let delay = scenario.latency + behavior.delay
        if let home = behavior.environment, home != environment {
            return Judgement(.refused(Refusal(400, .badDeviceToken)), delay: delay)
        }
        return Judgement(Self.answer(to: behavior.step(after: count)), delay: delay)
    }

    private static func answer(to step: Behavior.Step) -> Answer {
        switch step {
        case .accept: .accepted
        case .reason(let reason, let since, let retryAfterSeconds):
            .refused(
                Refusal(
                    ReasonTable.status(of: reason),
                    reason,
                    timestamp: since,
                    retryAfterSeconds: retryAfterSeconds
                )
            )
        case .html(let status): .html(status: status)
        case .bare(let status): .bare(status: status)
        case .reset: .reset
        case .refusedStream: .refusedStream
        case .goAway(let reason): .goAway(reason)
        case .silence: .silence
        case .close: .close
        }
    }

    // MARK: The credential

    private mutating func credentialRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> Refusal? {
        // A certificate has authenticated the connection; APNs then ignores `authorization`.
        if connection.certificate != nil { return nil }
        guard let range = head[.authorization] else { return Refusal(403, .missingProviderToken) }
        if let known = connection.providerToken, bytes.equals(range, known.authorization) {
            return Self.ageRefusal(known, now)
        }
        guard bytes.begins(range, with: "bearer ") else {
            return Refusal(403, .missingProviderToken)
        }
        guard let token = providerTokens.verify(bytes[range]) else {
            return Refusal(403, .invalidProviderToken)
        }
        if let refusal = Self.ageRefusal(token, now) { return refusal }
        guard providerTokens.key(token.key).environments.contains(connection.environment) else {
            return Refusal(403, .badEnvironmentKeyIdInToken)
        }
        if let refusal = bindingRefusal(token, connection) { return refusal }
        connection.providerToken = token
        connection.isProven = true
        return nil
    }

    private func bindingRefusal(
        _ token: VerifiedProviderToken,
        _ connection: ConnectionFacts
    ) -> Refusal? {
        guard let bound = connection.providerToken else { return nil }
        if strictness.bindsConnections {
            if token.teamID != bound.teamID { return Refusal(403, .invalidProviderToken) }
            if token.keyID != bound.keyID { return Refusal(403, .unrelatedKeyIdInToken) }
        }
        // By the time of issue: a connection may well be opened shortly before a due refresh.
        let interval = ProviderTokenSchedule.minInterval.components.seconds
        let isTooSoon = token.issuedAt < bound.issuedAt + interval
        return strictness.limitsTokenUpdates && isTooSoon
            ? Refusal(429, .tooManyProviderTokenUpdates) : nil
    }

    /// At most an hour old; from the future, at most an hour ahead.
    private static func ageRefusal(_ token: VerifiedProviderToken, _ now: Timestamp) -> Refusal? {
        let (age, overflow) = now.seconds.subtractingReportingOverflow(token.issuedAt)
        if overflow || age < -3600 { return Refusal(403, .invalidProviderToken) }
        return age > 3600 ? Refusal(403, .expiredProviderToken) : nil
    }

    // MARK: Topic and push type

    private func topicRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: inout ConnectionFacts
    ) -> Refusal? {
        guard let pushType = PushType(head, bytes) else { return Refusal(400, .invalidPushType) }
        if head[.pushType] == nil, strictness.requiresPushType {
            return Refusal(400, .invalidPushType)
        }
        guard let range = head[.topic] else {
            // Only where there is no choice does the certificate's topic stand in.
            guard let topics = connection.certificate?.topics, topics.count == 1 else {
                return Refusal(400, .missingTopic)
            }
            connection.approvedTopic = Array(topics[0].utf8)
            connection.approvedPushType = pushType
            return Self.priorityRefusal(head, bytes, pushType)
        }
        let key = connection.providerToken?.key
        let isApproved =
            connection.approvedPushType == pushType && connection.approvedKey == key
            && bytes.equals(range, connection.approvedTopic)
        if !isApproved {
            let topic = APNsTopic(String(decoding: bytes[range], as: UTF8.self))
            if let refusal = refusal(topic, pushType, key, connection) { return refusal }
            connection.approvedTopic = Array(bytes[range])
            connection.approvedPushType = pushType
            connection.approvedKey = key
        }
        return Self.priorityRefusal(head, bytes, pushType)
    }

    private func refusal(
        _ topic: APNsTopic,
        _ pushType: PushType,
        _ key: Int?,
        _ connection: ConnectionFacts
    ) -> Refusal? {
        guard Self.isWellFormed(topic.name) else { return Refusal(400, .badTopic) }
        guard let bundleID = APNsTopicRule.bundleID(in: topic, for: pushType) else {
            return Refusal(400, .invalidPushType)
        }
        let hasForeignSuffix =
            pushType != .mdm && APNsTopicRule.suffix(for: pushType).isEmpty
            && APNsTopicRule.bundleID(in: topic) != topic.name
            && !bundleIDs.contains(topic.name)
        if let allowed = key.flatMap({ providerTokens.key($0).bundleIDs }),
            !allowed.contains(bundleID), !allowed.contains(APNsTopicRule.bundleID(in: topic))
        {
            return Refusal(400, .topicDisallowed)
        }
        if let certificate = connection.certificate, !certificate.topics.contains(topic.name) {
            return Refusal(400, .topicDisallowed)
        }
        return hasForeignSuffix ? Refusal(400, .invalidPushType) : nil
    }

    /// Letters, digits, hyphens, underscores and full stops, as bundle IDs are made of.
    private static func isWellFormed(_ topic: String) -> Bool {
        !topic.isEmpty
            && topic.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
