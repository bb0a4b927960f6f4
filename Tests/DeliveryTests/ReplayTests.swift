import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// A run can be replayed from its log; the simulation replays whole hours.
@Suite struct ReplayTests {
    /// Three turns, and their log.
    private func loggedRun(_ change: (inout EngineSettings) -> Void = { _ in }) throws -> [UInt8] {
        var bench = try Bench(loggingFor: "1.2.3", change)
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let answer = APNsAnswer(status: 410, reason: .apns(.unregistered))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        let records = bench.turn().tags
        for tag in records { bench.engine.published(tag) }
        _ = bench.turn(after: .seconds(1))
        return bench.engine.takeLog()
    }

    private func differences(_ log: [UInt8]) throws -> [Replay.Difference] {
        var replay = try Replay(log)
        var differences: [Replay.Difference] = []
        while !replay.isAtEnd {
            if let difference = try replay.next() { differences.append(difference) }
        }
        return differences
    }

    @Test func `the same inputs lead to the same decisions`() throws {
        let log = try loggedRun()
        #expect(try differences(log).isEmpty)
        var replay = try Replay(log)
        #expect(replay.version == "1.2.3")
        while !replay.isAtEnd { _ = try replay.next() }
        #expect(replay.turns == 4)
        #expect(replay.engine.counts.terminal == 1)
    }

    @Test func `neither a token nor a payload is in the log`() throws {
        let log = try loggedRun()
        // The bench's event: its token, its ID, and its payload.
        for secret in ["1000", "e0", "{}"] {
            #expect(!log.contains(secret.utf8), "\(secret)")
        }
    }

    @Test func `a wrong setting in the log shows where it first matters`() throws {
        let log = try loggedRun()
        let other = try loggedRun { $0.publishesTokenStatus = false }
        // The beginning of one run, and the turns of another.
        let mixed = try firstBlock(of: other) + log.dropFirst(firstBlock(of: log).count)
        let found = try #require(try differences(mixed).first)
        #expect(found.turn == 3)
        #expect(found.lists == [.publications])
    }

    @Test func `a truncated log is replayed up to its end`() throws {
        let log = try loggedRun()
        let head = try firstBlock(of: log).count
        for count in head..<log.count {
            #expect(try differences(Array(log.prefix(count))).isEmpty, "after \(count) bytes")
        }
    }

    @Test func `damage is reported anywhere in a log`() throws {
        let log = try loggedRun()
        for place in log.indices {
            var damaged = log
            damaged[place] ^= 0x10
            #expect(throws: ReplayError.self, "at byte \(place)") { try differences(damaged) }
        }
        #expect(throws: ReplayError.noLog) { try Replay([]) }
        #expect(throws: ReplayError.self) {
            try Replay(Array("{\"json\": true, \"log\": no}".utf8))
        }
    }

    @Test func `every setting is in the log`() throws {
        var settings = try EngineSettings(
            credentials: [
                CredentialScope(
                    name: "mail",
                    bundleIDs: ["com.example.Mail", "com.example.*"],
                    defaultEnvironment: .sandbox,
                    environments: [.sandbox],
                    isProvenByHandshake: true
                )
            ],
            pool: PoolMachine.Limits(
                minConnections: 2,
                maxConnections: 9,
                connectTimeout: .seconds(11),
                pingAfterIdle: .seconds(61),
                pingAfterSilence: .seconds(12),
                pingTimeout: .seconds(13),
                stallTimeout: .seconds(21),
                idleTimeout: .seconds(601),
                reconnect: .init(
                    baseDelay: .seconds(3),
                    maxDelay: .seconds(62),
                    burst: 17,
                    refillInterval: .milliseconds(5)
                )
            ),
            retry: RetryPolicy(
                attempts: 6,
                baseDelay: .milliseconds(201),
                maxDelay: .seconds(14),
                maxRetryAfter: .seconds(3601)
            ),
            retryHereFor: .seconds(31),
            later: RetryTiers([.seconds(60), .seconds(900)]),
            giveUpAfter: .seconds(7),
            requestTimeout: .seconds(32),
            intake: .init(
                events: 8,
                bytes: 9,
                trickleInterval: .milliseconds(10),
                pauseAfter: .seconds(6)
            ),
            start: .latest,
            offsetLost: .stop,
            commitInterval: .milliseconds(251),
            drainTimeout: .seconds(15),
            revokeDrainTimeout: .seconds(4),
            finalCommitTimeout: .seconds(5),
            publishesTokenStatus: false,
            publishesDeadLetters: false,
            sourceWeights: [3, 1],
            rateLimits: [
                RateLimit(bundleIDs: "com.example.*", requestsPerSecond: 2.5, burst: 4)
            ],
            eventAge: .seconds(63),
            sentOnce: [.alert, .liveactivity],
            campaignShare: 0.35,
            writesCampaignTally: true,
            maxNotBefore: .seconds(64),
            hygiene: HygieneSettings(
                suppressesUnregistered: false,
                dedupWindow: 5,
                fuse: TokenFuse.Settings(
                    minimumAnswers: 101,
                    jump: 0.4,
                    recovery: .seconds(301),
                    halfLife: .seconds(602)
                )
            ),
            transactionTimeout: .seconds(16)
        )
        settings.breaker = .init(
            connectFailures: 7,
            failedDevices: 19,
            failurePercent: 51,
            recentAnswers: 23,
            window: .seconds(29),
            openFor: .seconds(33),
            maxOpenFor: .seconds(77),
            probes: 37
        )
        settings.parking = .init(firstWait: .seconds(17), maxWait: .seconds(18))
        settings.retryBudget = .init(percent: 11, perSecond: 12, burst: 13)
        let usual = try EngineSettings(credentials: [], retry: RetryPolicy())
        // A setting that this test omits would be equal by chance.
        #expect(fields(settings).filter { fields(usual).contains($0) } == [])
        var engine = DeliveryEngine(settings: settings, seed: 1, loggingFor: "")
        let read = try Replay(engine.takeLog()).settings
        #expect(fields(read) == fields(settings))
    }

    /// Every stored property with its path, except those that only the arrival reader uses.
    private func fields(_ value: Any, _ path: String = "") -> [String] {
        if path == ".routing" || path == ".hygiene.hashKey" { return [] }
        if value is Duration { return ["\(path)=\(value)"] }
        let mirror = Mirror(reflecting: value)
        guard !mirror.children.isEmpty, mirror.displayStyle != .set else {
            if let set = value as? Set<PushType> {
                return ["\(path)=\(set.map(\.rawValue).sorted())"]
            }
            return ["\(path)=\(value)"]
        }
        return mirror.children.enumerated().flatMap { index, child in
            fields(child.value, path + "." + (child.label ?? "\(index)"))
        }
    }

    /// The block with version, seed and settings.
    private func firstBlock(of log: [UInt8]) throws -> [UInt8] {
        let length = log.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        return Array(log.prefix(12 + length))
    }
}

extension [UInt8] {
    fileprivate func contains(_ other: some Collection<UInt8>) -> Bool {
        indices.contains { self[$0...].starts(with: other) }
    }
}
