public import APNsRules
public import ConnectionPool
public import Vocabulary

/// What the configuration decides about delivery.
public struct EngineSettings: Sendable {
    public enum Start: Hashable, Sendable {
        case earliest
        case latest
    }

    /// In configuration order.
    public var credentials: [CredentialScope]
    public var routing: CredentialRouting
    public var pool: PoolMachine.Limits
    public var retry: RetryPolicy
    /// No attempt starts later than this after the first one failed.
    public var retryHereFor: Duration
    /// The retry topics for events whose attempts here fail.
    public var later: RetryTiers
    /// No round of an event starts later than this after its first attempt failed.
    public var giveUpAfter: Duration
    /// An attempt without an answer ends after this.
    public var requestTimeout: Duration
    public var intake: IntakeGate.Limits
    /// Where to start if the group has no committed offset.
    public var start: Start
    /// What to do if a log ends before the group's position.
    public var offsetLost: LostOffset.Policy
    public var commitInterval: Duration
    /// How long to wait after SIGTERM for deliveries in flight.
    public var drainTimeout: Duration
    /// How long a rebalance waits for deliveries in flight; the whole group waits with it.
    public var revokeDrainTimeout: Duration
    /// How long the last commit of an assignment may take.
    public var finalCommitTimeout: Duration
    public var publishesTokenStatus: Bool
    public var publishesDeadLetters: Bool
    /// The weight of each source topic, in the order of the configuration.
    public var sourceWeights: [Int]
    public var rateLimits: [RateLimit]
    public var breaker: CircuitBreaker.Limits
    public var parking: CredentialParking.Limits
    public var retryBudget: RetryBudget.Limits
    /// An event's maximum age, from its first record's timestamp; nil: no limit.
    public var eventAge: Duration?
    /// Push types not retried if APNs may have received the request: for them, late is wrong.
    public var sentOnce: Set<PushType>
    /// Whether retry topics exist, so that deliveries need not wait in memory.
    public var canPostpone: Bool { !later.delays.isEmpty }
    /// How many deliveries may wait in memory for a blocked lane while others make progress.
    var shareOfBlocked: Int { max(1, intake.events / 8) }
    /// How many deliveries may wait for a slow lane when the limit in flight is nearly reached.
    var shareOfSlow: Int { max(1, intake.events / 4) }
    /// The share of the events in memory that may wait for their campaigns.
    public var campaignShare: Double
    /// How many deliveries and recipients may wait for their campaigns; further ones go to a retry
    /// topic.
    var shareOfCampaigns: Int { max(1, Int(Double(intake.events) * campaignShare)) }
    /// Whether there is a topic for the counts of campaigns.
    public var writesCampaignTally: Bool
    /// How far ahead an event's `not_before` may be.
    public var maxNotBefore: Duration
    public var hygiene: HygieneSettings
    /// The timeout (`transaction.timeout.ms`) of transactions that write outcomes and the offsets
    /// they settle together; nil: no transactions.
    public var transactionTimeout: Duration?
    public var isTransactional: Bool { transactionTimeout != nil }

    public init(
        credentials: [CredentialScope],
        pool: PoolMachine.Limits = .init(),
        retry: RetryPolicy,
        retryHereFor: Duration = .seconds(30),
        later: RetryTiers = RetryTiers(),
        giveUpAfter: Duration = .seconds(24 * 3600),
        requestTimeout: Duration = .seconds(30),
        intake: IntakeGate.Limits = .init(events: 10_000, bytes: 64 << 20),
        start: Start = .earliest,
        offsetLost: LostOffset.Policy = .end,
        commitInterval: Duration = .milliseconds(250),
        drainTimeout: Duration = .seconds(10),
        revokeDrainTimeout: Duration = .seconds(2),
        finalCommitTimeout: Duration = .seconds(3),
        publishesTokenStatus: Bool = true,
        publishesDeadLetters: Bool = true,
        sourceWeights: [Int] = [1],
        rateLimits: [RateLimit] = [],
        breaker: CircuitBreaker.Limits = .init(),
        parking: CredentialParking.Limits = .init(),
        retryBudget: RetryBudget.Limits = .init(),
        eventAge: Duration? = nil,
        sentOnce: Set<PushType> = [.voip, .pushtotalk],
        campaignShare: Double = 0.25,
        writesCampaignTally: Bool = false,
        maxNotBefore: Duration = .seconds(24 * 3600),
        hygiene: HygieneSettings = .init(),
        transactionTimeout: Duration? = nil
    ) throws(CredentialProblems) {
        self.credentials = credentials
        routing = try CredentialRouting(credentials)
        self.pool = pool
        self.retry = retry
        self.retryHereFor = retryHereFor
        self.later = later
        self.giveUpAfter = giveUpAfter
        self.requestTimeout = requestTimeout
        self.intake = intake
        self.start = start
        self.offsetLost = offsetLost
        self.commitInterval = commitInterval
        self.drainTimeout = drainTimeout
        self.revokeDrainTimeout = revokeDrainTimeout
        self.finalCommitTimeout = finalCommitTimeout
        self.publishesTokenStatus = publishesTokenStatus
        self.publishesDeadLetters = publishesDeadLetters
        self.sourceWeights = sourceWeights
        self.rateLimits = rateLimits
        self.breaker = breaker
        self.parking = parking
        self.retryBudget = retryBudget
        self.eventAge = eventAge
        self.sentOnce = sentOnce
        self.campaignShare = campaignShare
        self.writesCampaignTally = writesCampaignTally
        self.maxNotBefore = maxNotBefore
        self.hygiene = hygiene
        self.transactionTimeout = transactionTimeout
    }
}

/// What the configuration decides about token hygiene.
public struct HygieneSettings: Hashable, Sendable {
    /// Suppress events for tokens that APNs reported as dead, until the app registers them again.
    public var suppressesUnregistered: Bool
    /// Minimum number of notifications that a shard remembers; 0: no duplicates are detected.
    public var dedupWindow: Int
    /// Nil: every APNs answer about a token is accepted.
    public var fuse: TokenFuse.Settings?
    /// Shared by all shards of the process, and by their list of dead tokens.
    public var hashKey: HashKey

    public init(
        suppressesUnregistered: Bool = true,
        dedupWindow: Int = 100_000,
        fuse: TokenFuse.Settings? = .init(),
        hashKey: HashKey = HashKey(low: 0, high: 0)
    ) {
        self.suppressesUnregistered = suppressesUnregistered
        self.dedupWindow = dedupWindow
        self.fuse = fuse
        self.hashKey = hashKey
    }
}
