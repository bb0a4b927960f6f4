import Delivery
import Testing
import Vocabulary

/// An event of the machine.
private enum Happening: CustomTestStringConvertible {
    case succeeds
    case fails(TransactionFailure, isInDoubt: Bool = false)
    case recordFails
    /// Enough time that brokers have aborted the transaction.
    case timesOut
    case producerFails(TransactionFailure)
    case dropped
    case second

    var testDescription: String { "\(self)" }
}

private struct Row: CustomTestStringConvertible {
    let from: OutcomeTransactions.Phase
    let happening: [Happening]
    let to: OutcomeTransactions.Phase
    let steps: [TransactionStep]

    init(
        _ from: OutcomeTransactions.Phase,
        _ happening: Happening...,
        to: OutcomeTransactions.Phase,
        steps: [TransactionStep] = []
    ) {
        self.from = from
        self.happening = happening
        self.to = to
        self.steps = steps
    }

    var testDescription: String { "\(from): \(happening)" }
}

struct OutcomeTransactionsTests {
    private static let rows = [
        Row(.opening, .succeeds, to: .open, steps: [.begin]),
        Row(.opening, .fails(.retriable), to: .opening),
        Row(.opening, .fails(.retriable), .second, to: .opening, steps: [.repeatCall]),
        Row(.opening, .fails(.retriable), .fails(.retriable), .fails(.retriable), to: .opening),
        Row(.opening, .fails(.fenced), to: .ended(.fenced)),
        Row(.opening, .fails(.abortable), to: .ended(.refused)),
        Row(.opening, .fails(.unusable), to: .ended(.refused)),
        Row(.opening, .producerFails(.unusable), to: .opening),
        Row(.opening, .recordFails, to: .opening),
        Row(.opening, .dropped, to: .opening),
        Row(.open, .recordFails, to: .aborting, steps: [.abort]),
        Row(.open, .dropped, to: .aborting, steps: [.abort]),
        Row(.open, .producerFails(.unusable), to: .opening, steps: [.replaceProducer]),
        Row(.open, .producerFails(.fenced), to: .ended(.fenced)),
        Row(.open, .succeeds, to: .open),
        Row(.open, .fails(.unusable), to: .open),
        Row(.closing, .recordFails, to: .aborting, steps: [.abort]),
        Row(.closing, .dropped, to: .aborting, steps: [.abort]),
        Row(.closing, .producerFails(.unusable), to: .opening, steps: [.replaceProducer]),
        Row(.closing, .producerFails(.fenced), to: .ended(.fenced)),
        Row(.committing, .succeeds, to: .open, steps: [.begin]),
        Row(.committing, .fails(.retriable, isInDoubt: true), to: .committing),
        Row(
            .committing,
            .fails(.retriable, isInDoubt: true),
            .second,
            to: .committing,
            steps: [.repeatCall]
        ),
        Row(
            .committing,
            .fails(.retriable),
            .fails(.retriable),
            to: .opening,
            steps: [.replaceProducer]
        ),
        Row(
            .committing,
            .fails(.retriable),
            .fails(.retriable, isInDoubt: true),
            to: .ended(.inDoubt)
        ),
        Row(.committing, .fails(.abortable), to: .aborting, steps: [.abort]),
        Row(.committing, .fails(.abortable, isInDoubt: true), to: .aborting, steps: [.abort]),
        Row(.committing, .fails(.unusable), to: .opening, steps: [.replaceProducer]),
        Row(.committing, .fails(.unusable, isInDoubt: true), to: .ended(.inDoubt)),
        Row(.committing, .fails(.fenced, isInDoubt: true), to: .ended(.fenced)),
        Row(.committing, .dropped, to: .committing),
        Row(.committing, .recordFails, to: .committing),
        Row(.committing, .producerFails(.fenced), to: .committing),
        Row(.aborting, .succeeds, to: .open, steps: [.begin]),
        Row(.aborting, .fails(.retriable), .second, to: .aborting, steps: [.repeatCall]),
        Row(
            .aborting,
            .fails(.retriable),
            .fails(.retriable),
            to: .opening,
            steps: [.replaceProducer]
        ),
        Row(.aborting, .fails(.abortable), to: .opening, steps: [.replaceProducer]),
        Row(.aborting, .fails(.unusable), to: .opening, steps: [.replaceProducer]),
        Row(.aborting, .fails(.fenced), to: .ended(.fenced)),
        // Fenced by its timeout, not by another producer.
        Row(
            .open,
            .timesOut,
            .producerFails(.fenced),
            to: .opening,
            steps: [.replaceProducer]
        ),
        Row(
            .closing,
            .timesOut,
            .producerFails(.fenced),
            to: .opening,
            steps: [.replaceProducer]
        ),
        Row(.committing, .timesOut, .fails(.fenced), to: .opening, steps: [.replaceProducer]),
        Row(
            .committing,
            .timesOut,
            .fails(.fenced, isInDoubt: true),
            to: .ended(.inDoubt)
        ),
        Row(.aborting, .timesOut, .fails(.fenced), to: .opening, steps: [.replaceProducer]),
        Row(
            .aborting,
            .timesOut,
            .fails(.fenced),
            .fails(.fenced),
            to: .ended(.fenced),
            steps: [.replaceProducer]
        ),
        Row(.opening, .timesOut, .fails(.fenced), to: .ended(.fenced)),
        Row(.aborting, .recordFails, to: .aborting),
        Row(.aborting, .dropped, to: .aborting),
        Row(.ended(.inDoubt), .succeeds, to: .ended(.inDoubt)),
        Row(.ended(.inDoubt), .fails(.fenced), to: .ended(.inDoubt)),
        Row(.ended(.inDoubt), .dropped, to: .ended(.inDoubt)),
    ]

    @Test(arguments: rows)
    private func `Each phase handles each event`(row: Row) throws {
        var bench = MachineBench()
        bench.reach(row.from)
        try #require(bench.machine.phase == row.from)
        for happening in row.happening { bench.happens(happening) }
        #expect(bench.machine.phase == row.to)
        #expect(bench.machine.takeSteps() == row.steps)
    }

    private static let phases: [OutcomeTransactions.Phase] = [
        .opening, .closing, .committing, .aborting, .ended(.inDoubt),
    ]

    @Test(arguments: phases)
    func `Only an open transaction takes records`(phase: OutcomeTransactions.Phase) {
        var bench = MachineBench()
        bench.reach(phase)
        let late = MachineBench.id(9)
        bench.machine.announced(late, [.outcome])
        let admitted = bench.machine.admit(now: bench.now)
        #expect(admitted.isEmpty)
        #expect(bench.machine.waiting.last == late)
        #expect(!bench.machine.members.contains(late))
    }

    @Test func `A record that arrives during a commit is in the next transaction`() {
        var bench = MachineBench()
        bench.reach(.committing)
        bench.machine.announced(MachineBench.id(2), [.outcome])
        let answer = bench.machine.callSucceeded()
        #expect(answer == .committed([.init(MachineBench.id(1), [.outcome])]))
        let admitted = bench.machine.admit(now: bench.now)
        #expect(admitted.map(\.id) == [MachineBench.id(2)])
    }

    @Test func `A transaction is committed when all of its records are acknowledged`() {
        var bench = MachineBench()
        bench.reach(.open)
        bench.machine.announced(MachineBench.id(2), [.outcome, .deadLetter])
        _ = bench.machine.admit(now: bench.now)
        bench.machine.close()
        #expect(!bench.machine.isReadyToCommit)
        bench.machine.memberFinished()
        #expect(!bench.machine.isReadyToCommit)
        bench.machine.memberFinished()
        #expect(bench.machine.isReadyToCommit)
    }

    /// Kafka accepts up to this many deliveries at once, and one of them never.
    @Test(arguments: [(1000, 1), (1, 1), (7, 40), (250, 40)])
    func `A batch that is refused is repeated in smaller and smaller parts`(
        taken: Int,
        hopeless: UInt32
    ) throws {
        var bench = MachineBench()
        _ = bench.machine.callSucceeded()
        let ids = (1...100).map { MachineBench.id($0) }
        for id in ids { bench.machine.announced(id, [.outcome, .deadLetter]) }
        let bad = MachineBench.id(hopeless)
        var written: [DeliveryID] = []
        var alone = 0
        for _ in 0..<1000 where written.count < ids.count {
            _ = bench.machine.admit(now: bench.now)
            let members = bench.machine.members
            bench.machine.close()
            if members == [bad] {
                alone += 1
                #expect(bench.machine.isAlone(bad))
            } else if members.count > taken || members.contains(bad) {
                #expect(!bench.machine.isAlone(bad))
                bench.machine.batchRefused()
                _ = bench.machine.callSucceeded()
                continue
            }
            for _ in members { bench.machine.memberFinished() }
            _ = bench.machine.commit([], now: bench.now)
            guard case .committed(let committed) = bench.machine.callSucceeded() else {
                Issue.record("not committed: \(bench.machine.phase)")
                return
            }
            written += committed.map(\.delivery)
        }
        #expect(written == ids)
        #expect(alone == 1)
    }

    @Test
    func `Deliveries that need an unavailable topic wait, and one of them tries occasionally`() {
        var bench = MachineBench()
        _ = bench.machine.callSucceeded()
        let letters = (1...3).map { MachineBench.id($0) }
        let others = (4...6).map { MachineBench.id($0) }
        for id in letters {
            bench.machine.announced(id, [.outcome, .deadLetter], needing: .deadLetters)
        }
        for id in others { bench.machine.announced(id, .outcome) }
        _ = bench.machine.admit(now: bench.now)
        bench.machine.topicRefused(PublicationTag(letters[0], .deadLetter), now: bench.now)
        _ = bench.machine.callSucceeded()
        #expect(bench.machine.setAside() == letters)
        // The others continue without a wait.
        #expect(bench.machine.admit(now: bench.now).map(\.id) == others)
        #expect(bench.writeAll() == others)

        for seconds in [1, 2, 4] {
            #expect(bench.machine.nextDeadline == bench.now + .seconds(seconds))
            bench.now = bench.now + .seconds(seconds)
            #expect(bench.machine.admit(now: bench.now).count == 1)
            #expect(bench.machine.isFull, "it is sent alone and at once")
            #expect(bench.machine.members == [letters[0]])
            bench.machine.topicRefused(PublicationTag(letters[0], .deadLetter), now: bench.now)
            _ = bench.machine.callSucceeded()
            _ = bench.machine.setAside()
            #expect(bench.machine.admit(now: bench.now).isEmpty)
        }
        bench.now = bench.now + .seconds(8)
        let probe = bench.machine.admit(now: bench.now).map(\.id)
        #expect(bench.writeAll() == probe)
        #expect(bench.machine.setAside().isEmpty)
        let rest = bench.machine.admit(now: bench.now).map(\.id)
        #expect(probe + rest == letters)
    }

    /// The first and the last are about one token, and the topic keeps the last that is written.
    @Test(arguments: [0, 1, 2], [false, true])
    func `Token statuses that stood aside are written in the order of their events`(
        failedProbes: Int,
        isLastLate: Bool
    ) {
        var bench = MachineBench()
        _ = bench.machine.callSucceeded()
        let statuses = (1...4).map { MachineBench.id($0) }
        func ends(_ id: DeliveryID, _ bench: inout MachineBench) {
            bench.machine.announced(id, [.outcome, .tokenStatus], needing: .tokenStatus)
        }
        for id in statuses.dropLast() { ends(id, &bench) }
        _ = bench.machine.admit(now: bench.now)
        bench.machine.topicRefused(PublicationTag(statuses[0], .tokenStatus), now: bench.now)
        _ = bench.machine.callSucceeded()
        if !isLastLate { ends(statuses[3], &bench) }
        _ = bench.machine.setAside()
        for _ in 0..<failedProbes {
            bench.now = bench.now + .seconds(30)
            _ = bench.machine.admit(now: bench.now)
            bench.machine.topicRefused(
                PublicationTag(bench.machine.members[0], .tokenStatus),
                now: bench.now
            )
            _ = bench.machine.callSucceeded()
            _ = bench.machine.setAside()
        }
        bench.now = bench.now + .seconds(30)
        let probe = bench.machine.admit(now: bench.now).map(\.id)
        bench.machine.close()
        bench.machine.memberFinished()
        _ = bench.machine.commit([], now: bench.now)
        // The last event may end while the probe is being committed.
        if isLastLate { ends(statuses[3], &bench) }
        _ = bench.machine.callSucceeded()
        #expect(bench.machine.setAside().isEmpty)
        let rest = bench.machine.admit(now: bench.now).map(\.id)
        #expect(probe + rest == statuses)
    }

    @Test func `An empty transaction is not committed`() {
        var bench = MachineBench()
        _ = bench.machine.callSucceeded()
        bench.machine.close()
        #expect(bench.machine.isReadyToCommit)
        let isCommitting = bench.machine.commit([], now: bench.now)
        #expect(!isCommitting)
        #expect(bench.machine.phase == .open)
    }

    @Test(arguments: [false, true])
    func `A transaction without deliveries is also aborted by its timeout`(isOfTally: Bool) {
        let rows: [(age: Duration, phase: OutcomeTransactions.Phase)] = [
            (.zero, .ended(.fenced)), (MachineBench.timeout, .opening),
        ]
        for (age, phase) in rows {
            var bench = MachineBench()
            _ = bench.machine.callSucceeded()
            bench.now = bench.now + .seconds(60)
            bench.machine.close()
            let commits = isOfTally ? [] : [MachineBench.offsets]
            let isCommitting = bench.machine.commit(
                commits,
                withTally: isOfTally,
                now: bench.now
            )
            #expect(isCommitting)
            bench.now = bench.now + age
            _ = bench.machine.callFailed(.fenced, isInDoubt: false, now: bench.now)
            #expect(bench.machine.phase == phase)
        }
    }

    @Test func `Aborted deliveries are repeated first, after a pause`() {
        var bench = MachineBench()
        bench.reach(.aborting)
        bench.machine.announced(MachineBench.id(2), [.outcome])
        let answer = bench.machine.callSucceeded()
        #expect(answer == .nothing)
        let admitted = bench.machine.admit(now: bench.now)
        #expect(admitted.isEmpty)
        bench.machine.close()
        #expect(
            bench.machine.phase == .open,
            "nothing is committed before its records are repeated"
        )
        let next = bench.machine.nextDeadline
        #expect(next == bench.now + .seconds(1))
        let again = bench.machine.admit(now: bench.now + .seconds(1))
        #expect(again.map(\.id) == [MachineBench.id(1), MachineBench.id(2)])
        #expect(again.first?.records == [.outcome])
    }

    @Test func `A dropped delivery is in no transaction`() {
        var bench = MachineBench()
        bench.reach(.committing)
        bench.machine.announced(MachineBench.id(2), [.outcome])
        let dropped = bench.machine.dropAll()
        #expect(dropped == [MachineBench.id(1), MachineBench.id(2)])
        let answer = bench.machine.callSucceeded()
        #expect(answer == .committed([]))
        let admitted = bench.machine.admit(now: bench.now)
        #expect(admitted.isEmpty)
    }

    @Test func `A record that Kafka never accepts is omitted when its delivery is repeated`() {
        var bench = MachineBench()
        bench.reach(.open)
        bench.machine.announced(MachineBench.id(2), [.outcome, .deadLetter])
        _ = bench.machine.admit(now: bench.now)
        bench.machine.withdraw(PublicationTag(MachineBench.id(2), .deadLetter))
        bench.machine.recordFailed(now: bench.now)
        _ = bench.machine.callSucceeded()
        let again = bench.machine.admit(now: bench.now + .seconds(1))
        #expect(again.last?.id == MachineBench.id(2))
        #expect(again.last?.records == [.outcome])
        bench.machine.close()
        for _ in again { bench.machine.memberFinished() }
        _ = bench.machine.commit([], now: bench.now)
        let answer = bench.machine.callSucceeded()
        #expect(answer == .committed(again.map { .init($0.id, [.outcome]) }))
    }

    @Test func `A delivery refused twice by its topic waits, and others continue`() {
        var bench = MachineBench()
        bench.reach(.open)
        bench.machine.announced(MachineBench.id(2), [.outcome])
        _ = bench.machine.admit(now: bench.now)
        // After the first refusal it is repeated at once, shorter.
        #expect(bench.refusal(of: MachineBench.id(2)) == [MachineBench.id(1), MachineBench.id(2)])
        #expect(bench.refusal(of: MachineBench.id(2)) == [MachineBench.id(1)])
        bench.machine.close()
        bench.machine.memberFinished()
        #expect(bench.machine.isReadyToCommit)
        let isCommitting = bench.machine.commit([], now: bench.now)
        #expect(isCommitting)
        let answer = bench.machine.callSucceeded()
        #expect(answer == .committed([.init(MachineBench.id(1), [.outcome])]))
        let due = bench.machine.nextDeadline
        #expect(due == bench.now + .seconds(29))
        bench.now = bench.now + .seconds(29)
        #expect(bench.machine.admit(now: bench.now).map(\.id) == [MachineBench.id(2)])
        #expect(bench.refusal(of: MachineBench.id(2)) == [])
        #expect(bench.machine.nextDeadline == bench.now + .seconds(59), "longer each time")
    }

    @Test func `A waiting delivery is dropped with the rest`() {
        var bench = MachineBench()
        bench.reach(.open)
        for _ in 0..<2 { _ = bench.refusal(of: MachineBench.id(1)) }
        #expect(bench.machine.dropAll() == [MachineBench.id(1)])
        #expect(bench.machine.nextDeadline == nil)
    }
}

/// A machine, and the steps to reach any of its phases.
private struct MachineBench {
    static let timeout = Duration.seconds(7)

    var machine = OutcomeTransactions(timeout: MachineBench.timeout)
    var now = Instant(nanoseconds: 0)

    static let offsets = PartitionCommit(
        partition: PartitionID(index: 0),
        offset: Offset(1),
        metadata: ""
    )

    static func id(_ slot: UInt32) -> DeliveryID { DeliveryID(slot: slot, generation: 1) }

    /// Starts a transaction that is accepted; returns its records.
    mutating func writeAll() -> [DeliveryID] {
        machine.close()
        for _ in machine.members { machine.memberFinished() }
        _ = machine.commit([], now: now)
        guard case .committed(let written) = machine.callSucceeded() else { return [] }
        return written.map(\.delivery)
    }

    /// With one delivery in the transaction, unacknowledged while it is open or closing.
    mutating func reach(_ phase: OutcomeTransactions.Phase) {
        _ = machine.takeSteps()
        guard phase != .opening else { return }
        _ = machine.callSucceeded()
        machine.announced(Self.id(1), [.outcome])
        _ = machine.admit(now: now)
        switch phase {
        case .open, .opening: break
        case .closing: machine.close()
        case .committing: commit()
        case .aborting: machine.recordFailed(now: now)
        case .ended:
            commit()
            _ = machine.callFailed(.unusable, isInDoubt: true, now: now)
        }
        _ = machine.takeSteps()
    }

    mutating func happens(_ happening: Happening) {
        switch happening {
        case .succeeds: _ = machine.callSucceeded()
        case .fails(let failure, let isInDoubt):
            _ = machine.callFailed(failure, isInDoubt: isInDoubt, now: now)
        case .recordFails: machine.recordFailed(now: now)
        case .timesOut: now = now + Self.timeout
        case .producerFails(let failure): _ = machine.producerFailed(failure, now: now)
        case .dropped: _ = machine.dropAll()
        case .second:
            now = now + .seconds(1)
            machine.timeAdvanced(now: now)
        }
    }

    /// Refuses a record of the delivery, then aborts and restarts the transaction.
    ///
    /// - Returns: the content of the new transaction.
    mutating func refusal(of id: DeliveryID) -> [DeliveryID] {
        machine.refused(id, now: now)
        _ = machine.callSucceeded()
        now = now + .seconds(1)
        return machine.admit(now: now).map(\.id)
    }

    private mutating func commit() {
        machine.close()
        machine.memberFinished()
        _ = machine.commit([], now: now)
    }
}
