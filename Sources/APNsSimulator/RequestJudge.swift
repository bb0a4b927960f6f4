import APNsRules
package import HTTP2IO
package import Vocabulary

/// Decides the answer to a request; the pure core of the simulator.
///
/// The checks run in the order of `Strictness.checkOrder`; the order that APNs uses is not known.
package struct RequestJudge {
    var providerTokens: ProviderTokenJudge
    private(set) var scenario: Scenario
    private(set) var strictness: Strictness
    /// Bundle IDs that exist although they end like a topic suffix.
    let bundleIDs: Set<String>
    /// Channels are kept when the scenario is replaced, as they would be at APNs.
    package internal(set) var channels = ChannelStore()
    /// The notifications that devices received; nil: not recorded.
    package var devices: DeviceStore?
    /// The provider tokens of each key or team, across all connections.
    var takenTokens: [String: [VerifiedProviderToken]] = [:]
    private var buckets = DeviceBuckets()
    private var random: SeededGenerator
    /// The scenario's start: the first request, or the opening of a connection before it.
    private var startedAt: Timestamp?
    /// The number of requests for each token whose behavior has steps.
    private var requestCounts: [[UInt8]: Int] = [:]
    private static let maxRequestCounts = 1 << 20

    /// - Throws: If a key is not a P-256 public key.
    package init(
        keys: [RegisteredKey],
        scenario: Scenario = Scenario(),
        strictness: Strictness = Strictness(),
        bundleIDs: Set<String> = []
    ) throws(VerifyingKeyError) {
        self.strictness = scenario.strictness ?? strictness
        providerTokens = try ProviderTokenJudge(keys, self.strictness)
        self.scenario = scenario
        self.bundleIDs = bundleIDs
        random = SeededGenerator(seed: scenario.seed)
    }

    /// Takes a device offline or brings it back; the random generator decides what it loses.
    package mutating func setOffline(_ token: [UInt8], _ isOffline: Bool, now: Timestamp) {
        let loss = scenario.storageLoss
        var dice = random
        devices?.setOffline(token, isOffline, now: now) {
            loss > 0 && Double.random(in: 0..<1, using: &dice) < loss
        }
        random = dice
    }

    /// Returns the same APNs with its channels, devices and tokens, but another scenario.
    package func beginning(_ scenario: Scenario, _ strictness: Strictness) -> RequestJudge {
        var judge = self
        judge.scenario = scenario
        judge.strictness = scenario.strictness ?? strictness
        judge.providerTokens.strictness = judge.strictness
        judge.random = SeededGenerator(seed: scenario.seed)
        judge.startedAt = nil
        judge.requestCounts.removeAll()
        judge.buckets = DeviceBuckets()
        return judge
    }

    /// The time since the start of the scenario.
    package mutating func elapsed(_ now: Timestamp) -> Duration {
        let start = startedAt ?? now
        startedAt = start
        return .milliseconds(now.milliseconds - start.milliseconds)
    }

    /// Judges one request on `connection`.
    package mutating func judge(
        _ head: RequestHead,
        of block: HeaderBlock,
        body: [UInt8],
        connection: inout ConnectionFacts,
        now: Timestamp
    ) -> Judgment {
        let wasProven = connection.isProven
        let bytes = block.bytes
        var judgment: Judgment
        if let route = ChannelRoute(head, bytes, isForChannels: connection.isForChannels) {
            let answer = judgeChannel(route, head, bytes, body, &connection, now)
            judgment = Judgment(.channel(answer), delay: scenario.latency)
        } else {
            judgment = judgeNotification(head, bytes, body, &connection, now)
        }
        judgment.provesConnection = connection.isProven && !wasProven
        return judgment
    }

    private mutating func judgeNotification(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> Judgment {
        var judgment = Judgment(.accepted)
        var behavior = Behavior.alive
        for check in strictness.checkOrder {
            if check == .deviceToken {
                guard let path = head[.path], let token = deviceToken(bytes, path) else {
                    return Judgment(.refused(Refusal(400, .badDeviceToken)))
                }
                judgment = behave(bytes, token, connection.environment, &behavior)
                if case .refused(let refusal) = judgment.answer,
                    refusal.reason == .badDeviceToken
                {
                    return judgment
                }
            } else if let refusal = refusal(check, head, bytes, body, &connection, now) {
                judgment.answer = .refused(refusal)
                return judgment
            }
        }
        guard judgment.answer == .accepted else { return judgment }
        disturb(&judgment, head, bytes, connection, now)
        guard devices != nil, judgment.answer == .accepted, let path = head[.path],
            let token = deviceToken(bytes, path)
        else { return judgment }
        let notification = DeviceNotification(head, bytes, body, connection, now)
        devices?.arrive(
            notification,
            for: Self.lowercased(bytes[token]),
            isOffline: behavior.isOffline,
            now: now
        )
        return judgment
    }

    private mutating func refusal(
        _ check: Strictness.Check,
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ connection: inout ConnectionFacts,
        _ now: Timestamp
    ) -> Refusal? {
        switch check {
        case .path: Self.pathRefusal(head, bytes, isForChannels: connection.isForChannels)
        case .method: Self.methodRefusal(head, bytes)
        case .duplicateHeaders: head.hasDuplicates ? Refusal(400, .duplicateHeaders) : nil
        case .credential: credentialRefusal(head, bytes, &connection, now)
        case .topic: topicRefusal(head, bytes, &connection)
        case .priority: Self.priorityRefusal(head, bytes)
        case .expiration: Self.expirationRefusal(head, bytes)
        case .collapseID: Self.collapseIDRefusal(head, bytes)
        case .messageID: Self.messageIDRefusal(head, bytes)
        case .payload: payloadRefusal(head, bytes, body)
        case .deviceToken: nil
        }
    }

    // MARK: The token's behavior

    private mutating func behave(
        _ bytes: [UInt8],
        _ token: Range<Int>,
        _ environment: APNsEnvironment,
        _ behavior: inout Behavior
    ) -> Judgment {
        if scenario.isUniform {
            behavior = scenario.fallback
            return judgment(behavior, count: 0, environment)
        }
        let key = Self.lowercased(bytes[token])
        behavior = scenario.behavior(of: key)
        guard !behavior.steps.isEmpty else { return judgment(behavior, count: 0, environment) }
        let count = requestCounts[key] ?? 0
        if count > 0 || requestCounts.count < Self.maxRequestCounts {
            requestCounts[key] = count + 1
        }
        return judgment(behavior, count: count, environment)
    }

    private func judgment(
        _ behavior: Behavior,
        count: Int,
        _ environment: APNsEnvironment
    ) -> Judgment {
        let delay = scenario.latency + behavior.delay
        if let home = behavior.environment, home != environment {
            return Judgment(.refused(Refusal(400, .badDeviceToken)), delay: delay)
        }
        let step = behavior.step(after: count)
        return Judgment(answer(to: step, behavior.retryAfterSeconds), delay: delay)
    }

    private func answer(to step: Behavior.Step, _ retryAfterSeconds: Int?) -> Answer {
        switch step {
        case .accept: .accepted
        case .reason(let reason, let since):
            .refused(
                Refusal(
                    ReasonTable.status(of: reason),
                    reason,
                    timestamp: strictness.omitsTimestamps ? nil : since,
                    retryAfterSeconds: retryAfterSeconds
                )
            )
        case .html(let status): .html(status: status, retryAfterSeconds: retryAfterSeconds)
        case .bare(let status): .bare(status: status, retryAfterSeconds: retryAfterSeconds)
        case .reset(let code): .reset(code)
        case .silence: .silence
        case .connection(let fault): .connection(fault)
        }
    }

    // MARK: What befalls a request that is right

    private mutating func disturb(
        _ judgment: inout Judgment,
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ connection: ConnectionFacts,
        _ now: Timestamp
    ) {
        if let rate = scenario.deviceRate, let path = head[.path],
            let token = deviceToken(bytes, path),
            !buckets.take(Self.lowercased(bytes[token]), rate, now: now)
        {
            judgment.answer = .refused(Refusal(429, .tooManyRequests))
            return
        }
        guard !scenario.faults.isEmpty else { return }
        let elapsed = elapsed(now)
        for fault in scenario.faults where fault.window.contains(elapsed) {
            if let environment = fault.environment, environment != connection.environment {
                continue
            }
            guard Double.random(in: 0..<1, using: &random) < fault.share else { continue }
            judgment.answer = answer(to: fault.step, fault.retryAfterSeconds)
            judgment.delay += fault.delay
            return
        }
    }

    static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }
}
