import Delivery
import Vocabulary

/// The faults of one simulated hour, chosen at random from its seed.
package struct FaultPlan: Hashable, Sendable {
    package let seed: UInt64
    /// The partitions and the weight of each source.
    var sources: [SourcePlan]
    var members: Int
    var inFlightLimit: Int
    var inFlightBytes: Int
    var devices: Int
    /// The number of channels in a broadcast source.
    var channels: Int
    /// How long the retry topics delay an event, by tier; empty: there are no retry topics.
    var tiers: [Duration]
    var giveUpAfter: Duration
    /// The limit in requests per second for one of the apps; nil: none.
    var rateLimit: Double?
    /// The maximum length of commit metadata that the broker accepts, in characters.
    var metadataLimit: Int
    /// The maximum age of an event; nil: no limit.
    var eventAge: Duration?
    /// The mean rate of events per second.
    var eventsPerSecond: Double
    /// How many notifications a member remembers to detect duplicates.
    var dedupWindow: Int
    var fuse: TokenFuse.Settings?
    /// The minimum time from one turn of a member's loop to the next.
    var turnInterval: Duration
    /// The timeout of a request.
    var requestTimeout: Duration
    var fanOuts: FanOutPlan

    var chances: Chances
    var intervals: Intervals
    var episodes: [Episode]

    /// The time at which the faults stop.
    ///
    /// Traffic continues for a while after that, and then everything must drain.
    package var faultsEnd: Duration
    var trafficEnd: Duration
    /// Whether members only join, leave and restart in order; nothing may then be sent twice.
    let isCalm: Bool
    /// When Kafka aborts a transaction; nil: outcomes and offsets are not written in transactions.
    let transactionTimeout: Duration?
    var isTransactional: Bool { transactionTimeout != nil }
    /// Whether sources without a stored offset are read from their end (`kafka.start: latest`).
    let startsAtEnd: Bool
    /// The length of every run.
    package static let length = Duration.seconds(3600)

    struct SourcePlan: Hashable, Sendable {
        var partitions: Int
        var weight: Int
        /// Its share of all events.
        var share: Double
        var isBroadcast = false
    }

    /// Events with recipients.
    struct FanOutPlan: Hashable, Sendable {
        /// The share of events that have recipients.
        var share: Double
        /// The share of those whose retry records no topic accepts.
        var tooLargeToRetry: Double
    }

    /// Probabilities from 0 to 1, each per occasion.
    struct Chances: Hashable, Sendable {
        var connectFails: Double
        /// A connection opens, but is dead or dies later.
        var connectionDies: Double
        var requestRefused: Double
        var requestReset: Double
        var silence: Double
        var goAway: Double
        var connectionBreaks: Double
        var streamLimitChanges: Double
        var serverError: Double
        var tooManyRequests: Double
        var shutdownAnswer: Double
        var badToken: Double
        var produceRefused: Double
        var acknowledgementLost: Double
        var doubledProduce: Double
        var oversizedEvent: Double
        var commitRefused: Double
        /// The refusal of a single partition in a commit.
        var partitionRefused: Double
        var commitAnswerLost: Double
        var offsetFetchFails: Double
        var metadataForged: Double
        var hotDevice: Double
        var deadDevice: Double
        /// APNs answers every request for the device with 500.
        var failingDevice: Double
        var revivedDevice: Double
        var invalidEvent: Double
        var expiringEvent: Double
        var tombstone: Double
        var gap: Double
        var uncoveredEvent: Double
        var repeatedEvent: Double
        var forgedRetryHeader: Double
        var namedSchema: Double
        var schemaFetchFails: Double
    }

    /// The mean times between faults of members; nil: never.
    struct Intervals: Hashable, Sendable {
        var crash: Duration?
        var restart: Duration?
        var fence: Duration?
        var stall: Duration?
        var resize: Duration?
        var producerFailure: Duration?
        var clockJump: Duration?
        var providerTokenExpiry: Duration?
        var logCut: Duration?
    }
}

/// A disruption with a start and an end.
struct Episode: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// Connections to the environment are refused, and the open ones break.
        case connectionsRefused(APNsEnvironment)
        /// A proxy answers for the environment, with HTML pages.
        case serverErrors(APNsEnvironment)
        /// The environment accepts requests but never answers, not even a PING.
        case silence(APNsEnvironment)
        /// The environment refuses every stream.
        case streamsRefused(APNsEnvironment)
        /// The environment resets every stream; whether it processed the request is unknown.
        case streamsReset(APNsEnvironment)
        /// The environment takes seconds to answer.
        case slowAnswers(APNsEnvironment)
        /// APNs rejects all requests with this credential.
        case credentialRevoked(Int)
        /// No records, acknowledgements or commits get through.
        case kafkaDown
        /// Acknowledgements take seconds.
        case slowProduce
        /// The topics of these records reject all writes, as without permission.
        case topicsRefuse(Publications)
        /// Many tokens are rejected at once, as with a wrong host or key.
        case tokensCondemned(APNsEnvironment)
        /// The Schema Registry does not answer.
        case registryDown
    }

    var kind: Kind
    var start: Duration
    var length: Duration
}

extension FaultPlan {
    package init(seed: UInt64) {
        var dice = Dice(seed: seed)
        self.seed = seed
        sources = Self.sources(&dice)
        members = dice.number(1...4)
        inFlightLimit = dice.element([8, 40, 200, 1000])
        inFlightBytes = dice.element([1 << 14, 1 << 20, 64 << 20])
        devices = dice.number(50...3000)
        channels = dice.number(2...20)
        eventsPerSecond = Double(dice.number(20...150)) / 10
        tiers = dice.element([[], [60], [60, 900], [20, 120, 600]]).map(Duration.seconds)
        giveUpAfter = .seconds(dice.element([300, 1200, 24 * 3600]))
        rateLimit = dice.number(below: 4) == 0 ? 20 : nil
        dedupWindow = dice.element([0, 20, 1000])
        fuse = Self.fuse(&dice)
        turnInterval = .milliseconds(dice.element([0, 1, 5, 20]))
        requestTimeout = .seconds(dice.element([2, 5, 10, 30]))
        // A credential may then be parked for another 900 s, and a record that is due just before
        // the end of that time is deferred once more.
        let longest = tiers.contains(.seconds(900)) ? 1700 : 2000
        faultsEnd = dice.seconds(900...longest)
        trafficEnd = faultsEnd + dice.seconds(60...300)
        let end = faultsEnd
        let isCalm = seed % Self.calmEvery == 3
        self.isCalm = isCalm
        let transactionTimeout = Self.transactionTimeout(seed)
        self.transactionTimeout = transactionTimeout
        startsAtEnd = seed % Self.startingAtEndEvery == 2
        chances = isCalm ? .calm : Chances(&dice)
        // Forged metadata makes events be sent again, each with a second outcome.
        if transactionTimeout != nil { chances.metadataForged = 0 }
        intervals = isCalm ? .calm : Intervals(&dice)
        if !isCalm, seed % Self.cutEvery == 2 { intervals.logCut = .seconds(20) }
        eventAge = seed % Self.agingEvery == 1 ? .seconds(dice.element([60, 600])) : nil
        episodes = (0..<dice.number(0...6)).map { _ in Episode(before: end, &dice) }
            .filter { $0.start + $0.length <= end && !isCalm }
        // Metadata that does not fit leads to repeated sends, which these runs promise not to do.
        let isPlain = !isCalm && transactionTimeout == nil
        metadataLimit = isPlain ? dice.element([4096, 4096, 4096, 200, 60, 8]) : 4096
        fanOuts = Self.fanOuts(seed, isCalm: isCalm)
    }

    /// None in a sixth of the runs; drawn apart, so that these are those of a world without
    /// recipients.
    private static func fanOuts(_ seed: UInt64, isCalm: Bool) -> FanOutPlan {
        var dice = Dice(seed: ~seed)
        let share: Double = dice.element([0, 0.015, 0.04, 0.08, 0.08, 0.25])
        let tooLarge: Double = dice.element([0, 0.1, 0.3])
        return FanOutPlan(share: share, tooLargeToRetry: isCalm || share == 0 ? 0 : tooLarge)
    }

    /// One seed in this many is calm.
    private static let calmEvery: UInt64 = 16
    /// In one seed in this many, logs lose their last records.
    private static let cutEvery: UInt64 = 4
    /// In one seed in this many, events can become too old.
    private static let agingEvery: UInt64 = 6
    /// One seed in this many uses transactions.
    private static let transactionalEvery: UInt64 = 5

    /// The timeout of transactions, in one seed in five; nil: no transactions.
    private static func transactionTimeout(_ seed: UInt64) -> Duration? {
        guard seed % transactionalEvery == 4 else { return nil }
        let seconds = [15, 5, 60]
        return .seconds(seconds[Int(seed / transactionalEvery % 3)])
    }
    /// One seed in this many starts at the end of its sources.
    private static let startingAtEndEvery: UInt64 = 7

    /// A fuse that blows and recovers within minutes, or none in a quarter of the runs.
    private static func fuse(_ dice: inout Dice) -> TokenFuse.Settings? {
        guard dice.number(below: 4) > 0 else { return nil }
        return TokenFuse.Settings(
            minimumAnswers: dice.element([5, 10]),
            recovery: .seconds(30),
            halfLife: .seconds(30)
        )
    }

    private static func sources(_ dice: inout Dice) -> [SourcePlan] {
        let urgent = SourcePlan(partitions: dice.number(1...3), weight: 8, share: 0.2)
        let normal = SourcePlan(partitions: dice.number(1...6), weight: 1, share: 0.8)
        let bulk = SourcePlan(partitions: dice.number(1...6), weight: 1, share: 3)
        var sources: [SourcePlan] =
            switch dice.number(below: 3) {
            case 0: [normal]
            case 1: [urgent, normal]
            default: [urgent, normal, bulk]
            }
        guard dice.number(below: 2) == 0 else { return sources }
        sources.append(
            SourcePlan(partitions: dice.number(1...3), weight: 1, share: 0.3, isBroadcast: true)
        )
        return sources
    }
}

extension Episode {
    fileprivate init(before end: Duration, _ dice: inout Dice) {
        let environment: APNsEnvironment = dice.number(below: 3) == 0 ? .sandbox : .production
        kind =
            switch dice.number(below: 13) {
            case 0: .connectionsRefused(environment)
            case 1: .serverErrors(environment)
            case 2: .silence(environment)
            case 3: .slowAnswers(environment)
            case 4: .credentialRevoked(dice.number(below: Applications.credentialCount))
            case 5: .kafkaDown
            case 6: .slowProduce
            case 7: .tokensCondemned(environment)
            case 8: .streamsRefused(environment)
            case 9: .streamsReset(environment)
            case 10: .topicsRefuse(.tokenStatus)
            case 11:
                .topicsRefuse(dice.number(below: 2) == 0 ? .deadLetter : [.deadLetter, .retry])
            default: .registryDown
            }
        // One in four is long: twenty minutes.
        length =
            switch (kind, dice.number(below: 4)) {
            case (.kafkaDown, _), (.slowProduce, _): dice.seconds(5...90)
            case (_, 0): .seconds(1200)
            default: dice.seconds(10...300)
            }
        start = dice.seconds(0...Int(end.components.seconds))
    }
}
