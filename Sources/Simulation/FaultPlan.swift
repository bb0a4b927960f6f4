import Delivery
import Vocabulary

/// What goes wrong in a simulated hour, drawn from its seed.
package struct FaultPlan: Hashable, Sendable {
    package let seed: UInt64
    /// Partitions of each source, with the source's weight.
    var sources: [SourcePlan]
    var members: Int
    var inFlightLimit: Int
    var inFlightBytes: Int
    var devices: Int
    /// Channels of the source of broadcasts, if there is one.
    var channels: Int
    /// How long the retry topics keep an event, by tier; empty: there are none.
    var tiers: [Duration]
    var giveUpAfter: Duration
    /// Requests per second for one of the apps; nil: as many as can be.
    var rateLimit: Double?
    /// Characters that the broker takes with an offset.
    var metadataLimit: Int
    /// How old an event may be; nil: as old as it likes.
    var eventAge: Duration?
    /// Events per second in the mean.
    var eventsPerSecond: Double
    /// Notifications that a member remembers.
    var dedupWindow: Int
    var fuse: TokenFuse.Settings?
    /// From one turn of a member's loop to the next at least.
    var turnInterval: Duration
    /// How long a request waits for its answer.
    var requestTimeout: Duration

    var chances: Chances
    var intervals: Intervals
    var episodes: [Episode]

    /// Faults stop here; the traffic continues a little, then everything must drain.
    package var faultsEnd: Duration
    var trafficEnd: Duration
    /// Nothing goes wrong but that members come and go in good order: nothing may be sent twice.
    let isCalm: Bool
    /// Outcomes and offsets are written in transactions, which Kafka aborts after this long.
    let transactionTimeout: Duration?
    var isTransactional: Bool { transactionTimeout != nil }
    /// Without a stored offset the sources are read from their end (`kafka.start: latest`).
    let startsAtEnd: Bool
    /// The length of every run.
    package static let length = Duration.seconds(3600)

    struct SourcePlan: Hashable, Sendable {
        var partitions: Int
        var weight: Int
        /// Its part of all events.
        var share: Double
        var isBroadcast = false
    }

    /// Chances, 0 to 1, each time the thing happens.
    struct Chances: Hashable, Sendable {
        var connectFails: Double
        /// A connection opens, and is or becomes dead.
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
        /// Of a commit.
        var partitionRefused: Double
        var commitAnswerLost: Double
        var offsetFetchFails: Double
        var metadataForged: Double
        var hotDevice: Double
        var deadDevice: Double
        /// APNs answers 500 to whatever is sent to the device.
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

    /// Mean times between things that happen to members; nil: never.
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

/// A bad time with a beginning and an end.
struct Episode: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// Connections to the environment are refused, and the open ones break.
        case connectionsRefused(APNsEnvironment)
        /// A proxy answers for the environment, with pages.
        case serverErrors(APNsEnvironment)
        /// The environment takes requests and says nothing, not even to a PING.
        case silence(APNsEnvironment)
        /// The environment refuses every stream.
        case streamsRefused(APNsEnvironment)
        /// The environment resets every stream, and nobody knows what it did before.
        case streamsReset(APNsEnvironment)
        /// The environment takes seconds to answer.
        case slowAnswers(APNsEnvironment)
        /// APNs accepts nothing of this credential.
        case credentialRevoked(Int)
        /// No record, no acknowledgement, no commit goes through.
        case kafkaDown
        /// Acknowledgements take seconds.
        case slowProduce
        /// The topics of these records accept nothing: a right is missing.
        case topicsRefuse(Publications)
        /// Many tokens are refused at once: a wrong host or key.
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
        // A credential may be parked then for 900 s more; what comes due just before the end of
        // that is deferred once more.
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
        // What somebody forges has events sent again, and each of them has a second outcome.
        if transactionTimeout != nil { chances.metadataForged = 0 }
        intervals = isCalm ? .calm : Intervals(&dice)
        if !isCalm, seed % Self.cutEvery == 2 { intervals.logCut = .seconds(20) }
        eventAge = seed % Self.agingEvery == 1 ? .seconds(dice.element([60, 600])) : nil
        episodes = (0..<dice.number(0...6)).map { _ in Episode(before: end, &dice) }
            .filter { $0.start + $0.length <= end && !isCalm }
        // What does not fit is sent again, which a calm run and one with transactions promise not to.
        let isPlain = !isCalm && transactionTimeout == nil
        metadataLimit = isPlain ? dice.element([4096, 4096, 4096, 200, 60, 8]) : 4096
    }

    /// One seed of so many is calm.
    private static let calmEvery: UInt64 = 16
    /// In one seed of so many logs lose their last records.
    private static let cutEvery: UInt64 = 4
    /// In one seed of so many events get too old.
    private static let agingEvery: UInt64 = 6
    /// One seed of so many writes transactions.
    private static let transactionalEvery: UInt64 = 5

    /// In one seed of five; each time another one.
    private static func transactionTimeout(_ seed: UInt64) -> Duration? {
        guard seed % transactionalEvery == 4 else { return nil }
        let seconds = [15, 5, 60]
        return .seconds(seconds[Int(seed / transactionalEvery % 3)])
    }
    /// One seed of so many starts at the end.
    private static let startingAtEndEvery: UInt64 = 7

    /// A fuse that blows and recovers within minutes; in a quarter of the runs none.
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
