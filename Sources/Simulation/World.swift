package import APNsRules
import Delivery
import Vocabulary

/// The whole service in memory: virtual time, Kafka, APNs, and members that start and crash.
///
/// The members run the real `DeliveryEngine`. The world turns their decisions into happenings, and
/// happenings into the engine's inputs. Everything follows from the seed of the plan.
package struct World {
    package let plan: FaultPlan
    let settings: EngineSettings
    let reader: ArrivalReader
    var dice: DiceSet
    private(set) var now = Instant(nanoseconds: 0)
    /// The present error of the members' wall clocks.
    var clockError = Duration.zero
    /// When they last jumped.
    var clockJumpedAt = Instant(nanoseconds: .min / 2)
    private var schedule = Schedule()

    var kafka: SimulatedKafka
    let partitionsOfSource: [[Int]]
    var group: ConsumerGroup
    var apns: SimulatedAPNs
    /// In the order in which they started.
    var members: [Member] = []
    var membersMade: Int32 = 0
    /// All events that upstream wrote.
    var events: [SimulatedEvent] = []
    var campaigns: SimulatedCampaigns
    var tallies: SimulatedTallies
    var statusLines = StatusLines()
    var writtenStatuses = WrittenStatuses()
    /// Recipients that upstream has written beyond its rate.
    var recipientsAhead = 0
    /// The most bytes that one of its records counts for.
    var largestRecord = values.reduce(0) { max($0, $1.count) }
    /// All records that were given to the members' producers.
    var produced: [ProducedRecord] = []
    /// The contents of all retry records.
    var retryRecords: [RetryRecord] = []
    /// All commits that were requested.
    var commits: [CommitRequest] = []
    var transactions: [SimulatedTransaction] = []
    /// The indices of the unfinished transactions, in the order of their start.
    var openTransactions: [Int] = []
    var areFaultsOn = true
    var isKafkaDown = 0
    var isProduceSlow = 0
    /// For each active episode, the records whose topics reject all writes.
    var refusingTopics: [Publications] = []
    var isRegistryDown = 0
    /// The inputs of the member that is replayed at the end.
    var inputLog: [UInt8] = []
    /// Reused, so that a turn allocates no memory.
    var decision = TurnDecision()

    package internal(set) var steps = 0
    package internal(set) var coverage = Coverage()
    package internal(set) var digest = Digest()
    /// The broken promises that the checkers found.
    package internal(set) var findings: [Finding] = []
    /// The last happenings; nil: not recorded.
    package var chronicle: Chronicle?

    /// The wall-clock time at virtual time zero.
    static let epoch = Timestamp(milliseconds: 1_700_000_000_000)

    package init(plan: FaultPlan) throws(CredentialProblems) {
        self.plan = plan
        let settings = try World.settings(for: plan)
        self.settings = settings
        reader = ArrivalReader(settings)
        dice = DiceSet(seed: plan.seed)
        campaigns = SimulatedCampaigns(seed: plan.seed)
        tallies = SimulatedTallies(seed: plan.seed)
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

    /// Runs one hour, or until a promise is broken.
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
        planNextOrder()
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

    /// Schedules the next occurrence after a random time, if it ever occurs and faults are on.
    mutating func again(_ mean: Duration?, _ happening: Happening) {
        guard areFaultsOn, let mean else { return }
        after(dice[.faults].wait(mean: mean), happening)
    }

    /// Whether a fault occurs now.
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
