package import APNsRules
import Delivery
import Vocabulary

/// The whole service in memory: virtual time, a Kafka, an APNs, members that live and die.
///
/// The members run the real `DeliveryEngine`; the world turns their decisions into happenings and the
/// happenings into its inputs. Everything follows from the plan's seed.
package struct World {
    package let plan: FaultPlan
    let settings: EngineSettings
    let reader: ArrivalReader
    var dice: DiceSet
    private(set) var now = Instant(nanoseconds: 0)
    /// How wrong the members' wall clocks are at present.
    var clockError = Duration.zero
    private var schedule = Schedule()

    var kafka: SimulatedKafka
    let partitionsOfSource: [[Int]]
    var group: ConsumerGroup
    var apns: SimulatedAPNs
    /// In the order of their start.
    var members: [Member] = []
    var membersMade: Int32 = 0
    /// Everything upstream wrote.
    var events: [SimulatedEvent] = []
    /// Everything the members' producers were given.
    var produced: [ProducedRecord] = []
    /// What the retry records say.
    var retryRecords: [RetryRecord] = []
    /// Every commit that was requested.
    var commits: [CommitRequest] = []
    var transactions: [SimulatedTransaction] = []
    /// Places of those that are not over, in the order of their beginning.
    var openTransactions: [Int] = []
    var areFaultsOn = true
    var isKafkaDown = 0
    var isProduceSlow = 0
    /// Of each episode: the records whose topics accept nothing.
    var refusingTopics: [Publications] = []
    var isRegistryDown = 0
    /// The inputs of the member whose run is replayed.
    var inputLog: [UInt8] = []
    /// Used over and over, so that a turn allocates nothing.
    var decision = TurnDecision()

    package internal(set) var steps = 0
    package internal(set) var coverage = Coverage()
    package internal(set) var digest = Digest()
    /// What the checkers found; empty is good.
    package internal(set) var findings: [Finding] = []
    /// The last happenings; nil: not kept.
    package var chronicle: Chronicle?

    /// Wall-clock time at virtual time zero.
    static let epoch = Timestamp(milliseconds: 1_700_000_000_000)

    package init(plan: FaultPlan) throws(CredentialProblems) {
        self.plan = plan
        let settings = try World.settings(for: plan)
        self.settings = settings
        reader = ArrivalReader(settings)
        dice = DiceSet(seed: plan.seed)
        apns = SimulatedAPNs(plan: plan, settings.hygiene.hashKey, &dice[.devices])
        let kafka = SimulatedKafka(plan: plan)
        self.kafka = kafka
        partitionsOfSource = plan.sources.indices.map { kafka.partitions(ofSource: $0) }
        group = ConsumerGroup(
            partitionCount: kafka.partitions.count,
            shuffles: plan.seed.isMultiple(of: 2)
        )
    }

    // MARK: The clocks

    /// The members' wall clock.
    var timestamp: Timestamp {
        let milliseconds = (now.nanoseconds + clockError.nanoseconds) / 1_000_000
        return Timestamp(milliseconds: Self.epoch.milliseconds + milliseconds)
    }

    var moment: Moment { Moment(instant: now, timestamp: timestamp) }

    // MARK: The run

    /// Lives an hour, or until a promise is broken.
    package mutating func run() {
        begin()
        let end = Instant(nanoseconds: 0) + FaultPlan.length
        while findings.isEmpty, let due = schedule.nextDue, due <= end,
            let happening = schedule.popFirst()
        {
            now = due
            steps += 1
            digest.mix(due.word)
            digest.mix(happening.rank)
            chronicle?.note(happening, at: due)
            happened(happening)
        }
        if findings.isEmpty {
            now = end
            checkEnd()
        }
    }

    private mutating func begin() {
        for _ in 0..<plan.members { startMember() }
        planNextEvent()
        after(plan.faultsEnd, .faultsEnded)
        for (index, episode) in plan.episodes.enumerated() {
            after(episode.start, .episodeBegan(index))
            after(episode.start + episode.length, .episodeEnded(index))
        }
        let intervals = plan.intervals
        again(intervals.crash, .memberDied)
        again(intervals.restart, .memberRestarted)
        again(intervals.fence, .memberFenced)
        again(intervals.stall, .memberStalled)
        again(intervals.resize, .groupGrew)
        again(intervals.producerFailure, .producerFailed)
        again(intervals.clockJump, .clockJumped)
        again(intervals.logCut, .logCut)
    }

    // MARK: Tools

    mutating func after(_ delay: Duration, _ happening: Happening) {
        schedule.insert(happening, due: now + delay)
    }

    /// Lets something happen once more after a random wait, if it ever does and faults are on.
    mutating func again(_ mean: Duration?, _ happening: Happening) {
        guard areFaultsOn, let mean else { return }
        after(dice[.faults].wait(mean: mean), happening)
    }

    /// Whether a fault strikes now.
    mutating func strikes(_ probability: Double, _ draw: Draw) -> Bool {
        areFaultsOn && dice[draw].comesUp(probability)
    }

    mutating func strikes(_ probability: Double, _ draw: Draw, of member: Member) -> Bool {
        strikes(probability, draw, of: member.id)
    }

    mutating func strikes(_ probability: Double, _ draw: Draw, of member: MemberID) -> Bool {
        areFaultsOn && dice[draw, member].comesUp(probability)
    }

    func member(_ id: MemberID) -> Member? {
        members.first { $0.id == id }
    }
}
