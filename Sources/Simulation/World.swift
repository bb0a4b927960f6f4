package import APNsRules
import Delivery
import Vocabulary

/// The whole service in memory: virtual time, a Kafka, an APNs, members that live and die.
///
/// The members run the real `DeliveryEngine`; the world turns its actions into happenings and the
/// happenings into its inputs. Everything follows from the plan's seed.
package struct World {
    package let plan: FaultPlan
    let settings: EngineSettings
    var random: SeededGenerator
    /// Both clocks; stored, so that it can be read while a member is changed.
    private(set) var moment: Moment
    var schedule = TimedQueue<Happening>()
    var kafka: SimulatedKafka
    var members: [MemberID: Member] = [:]
    var membersMade = 0
    var eventsAppended = 0
    var areFaultsOn = true
    /// The dead tokens, as if every member read the token-status topic without delay.
    var suppressed = SuppressionList(maxCount: 10_000)
    var actions: [Action] = []
    package private(set) var steps = 0
    /// What the checkers found; empty is good.
    package internal(set) var findings: [Finding] = []

    /// Wall-clock time at virtual time zero.
    static let epoch = Timestamp(milliseconds: 1_700_000_000_000)

    package init(plan: FaultPlan) throws(CredentialProblems) {
        self.plan = plan
        settings = try World.settings(for: plan)
        random = SeededGenerator(seed: plan.seed &* 31 &+ 17)
        moment = Moment(instant: Instant(nanoseconds: 0), timestamp: World.epoch)
        kafka = SimulatedKafka(partitions: plan.partitions)
    }

    var now: Instant { moment.instant }

    // MARK: The run

    /// Lives until everything is settled, or too long.
    package mutating func run() {
        begin()
        let end = now + plan.faultsEnd + Self.drainBound
        while let due = schedule.nextDue, due <= end, findings.isEmpty {
            moment = Moment(
                instant: due,
                timestamp: Timestamp(
                    milliseconds: World.epoch.milliseconds + due.nanoseconds / 1_000_000
                )
            )
            guard let happening = schedule.popDue(now: now) else { break }
            steps += 1
            happened(happening)
            if isSettled { break }
        }
        checkEnd()
    }

    /// Everything drains within this virtual time once the faults have stopped.
    package static let drainBound = Duration.seconds(300)

    private mutating func begin() {
        for _ in 0..<plan.members { startMember() }
        let gap = plan.faultsEnd / (plan.events + 1)
        for index in 0..<plan.events { after(gap * index, .eventAppended) }
        after(plan.faultsEnd, .faultsEnded)
        if let mean = plan.crashEvery { after(mean * chance(), .memberDied) }
        if let mean = plan.restartEvery { after(mean * chance(), .memberRestarted) }
        if let mean = plan.fenceEvery { after(mean * chance(), .memberFenced) }
    }

    private var isSettled: Bool {
        guard !areFaultsOn, eventsAppended == plan.events else { return false }
        return kafka.log.indices.allSatisfy { index in
            (kafka.committed[index] ?? 0) == Int64(kafka.log[index].count)
        }
    }

    // MARK: Tools

    mutating func after(_ delay: Duration, _ happening: Happening) {
        schedule.insert(happening, due: now + delay)
    }

    /// A number from 0 to 1.
    mutating func chance() -> Double { Double.random(in: 0...1, using: &random) }

    /// Whether a fault strikes now.
    mutating func strikes(_ probability: Double) -> Bool {
        areFaultsOn && probability > 0 && chance() < probability
    }

    mutating func latency() -> Duration {
        .milliseconds(Int.random(in: 5...120, using: &random))
    }

    mutating func startMember() {
        membersMade += 1
        let id = MemberID(number: membersMade)
        let engine = DeliveryEngine(settings: settings, seed: random.next())
        members[id] = Member(id: id, engine: engine)
        kafka.joined(id)
        after(.milliseconds(100), .groupRebalanced)
        after(.zero, .turn(id))
    }

    /// Takes a member out of the world without a word to it.
    mutating func endMember(_ id: MemberID) {
        members[id] = nil
        kafka.left(id)
        after(.seconds(3), .groupRebalanced)
    }
}
