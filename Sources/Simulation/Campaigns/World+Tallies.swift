import Delivery
import Vocabulary

/// The tally topic, and what it must contain.
struct SimulatedTallies {
    struct Key: Hashable {
        let campaign: CampaignName
        let partition: PartitionID
    }

    /// The newest record of a key of the topic, by its owner.
    private struct Stored {
        let batch: UInt32
        let counts: OutcomeCounts
    }

    /// What a member has written and settled.
    struct Own {
        /// The outcomes in its records.
        var tallied = 0
        /// The outcomes acknowledged to it that its commits have settled.
        var committed = 0
        /// The offsets of the other outcomes acknowledged to it.
        var acknowledged: [Int64] = []
    }

    /// Apart from the others, so that these are those of a world without the topic.
    var dice: Dice
    /// The probability that the topic refuses a record.
    let refusal: Double
    private var stored: [UInt64: Stored] = [:]
    /// The sum of `stored`.
    private(set) var tallied: [CampaignName: OutcomeCounts] = [:]
    /// The outcomes in Kafka, also those that are there twice.
    var written: [CampaignName: OutcomeCounts] = [:]
    var own: [MemberID: [Key: Own]] = [:]
    /// The batches of a member that are on their way, and since when.
    var underWay: [MemberID: [(batch: UInt32, since: Instant)]] = [:]
    /// The newest batch of a member when one of its batches was refused or lost, until a later one
    /// is written that has those counts, too.
    var refused: [MemberID: UInt32] = [:]
    var newestBatch: [MemberID: UInt32] = [:]

    init(seed: UInt64) {
        dice = Dice(seed: seed &* 0xA076_1D64)
        refusal = dice.element([0, 0, 0.02])
    }

    /// Stores a record, unless its owner has written a newer one.
    mutating func store(_ record: TallyRecord, of member: MemberID) {
        guard let campaign = record.campaign else { return }
        let old = stored[record.owner]
        if let old, old.batch > record.batch { return }
        stored[record.owner] = Stored(batch: record.batch, counts: record.counts)
        tallied[campaign] = tallied[campaign, default: OutcomeCounts()]
            .replacing(old?.counts, by: record.counts)
        let key = Key(campaign: campaign, partition: record.partition)
        own[member, default: [:]][key, default: Own()].tallied +=
            record.counts.total - (old?.counts.total ?? 0)
    }
}

extension OutcomeCounts {
    /// The sum in which one summand is another.
    fileprivate func replacing(_ old: OutcomeCounts?, by new: OutcomeCounts) -> OutcomeCounts {
        var ended: [OutcomeKind: Int] = [:]
        for kind in OutcomeKind.allCases {
            ended[kind] = self[kind] + new[kind] - (old?[kind] ?? 0)
        }
        return OutcomeCounts(sent: sent + new.sent - (old?.sent ?? 0), ended)
    }
}

extension GroupStep {
    fileprivate var isCommit: Bool { if case .commit = self { true } else { false } }
}

/// A record of the tally topic on its way to Kafka.
struct TallyRequest: Sendable {
    let member: MemberID
    /// The number of the producer.
    let producer: Int
    let record: TallyRecord
    let isRefused: Bool
}

extension World {
    mutating func produce(_ record: TallyRecord, by member: Member) {
        coverage.note(.tallyWritten)
        let isRefused = areFaultsOn && tallies.dice.comesUp(tallies.refusal)
        guard !plan.isTransactional else {
            return produce(record, inTransactionOf: member, isRefused: isRefused)
        }
        tallies.underWay[member.id, default: []].append((record.batch, now))
        tallies.newestBatch[member.id] = record.batch
        let request = TallyRequest(
            member: member.id,
            producer: member.producer,
            record: record,
            isRefused: isRefused
        )
        let delay = tallies.dice.milliseconds(isProduceSlow > 0 ? 100...4000 : 2...40)
        after(delay, .tallyProduced(request))
    }

    /// The record is part of the transaction, which fails with it.
    private mutating func produce(
        _ record: TallyRecord,
        inTransactionOf member: Member,
        isRefused: Bool
    ) {
        guard let place = member.transaction else { return }
        guard isRefused else {
            transactions[place].tallies.append(record)
            return
        }
        coverage.note(.tallyRefused)
        transactions[place].hasFailed = true
        tallies.refused[member.id] = record.batch
        member.engine.tallyRefused(record.batch)
    }

    mutating func tallyReached(_ request: TallyRequest) {
        guard isKafkaDown == 0 else {
            return after(tallies.dice.seconds(1...5), .tallyProduced(request))
        }
        // What a discarded producer still had is lost; a crash may have been too late for that.
        let isLost =
            member(request.member).map { $0.producer != request.producer }
            ?? tallies.dice.comesUp(0.5)
        guard !isLost else { return }
        if request.isRefused {
            coverage.note(.tallyRefused)
        } else {
            tallies.store(request.record, of: request.member)
            checkTallyIsNotTooLarge()
        }
        after(tallies.dice.milliseconds(2...40), .tallyReported(request))
    }

    mutating func tallyReported(_ request: TallyRequest) {
        guard let member = member(request.member), member.producer == request.producer
        else { return }
        let batch = request.record.batch
        if let place = tallies.underWay[member.id]?.firstIndex(where: { $0.batch == batch }) {
            tallies.underWay[member.id]?.remove(at: place)
        }
        if request.isRefused {
            tallies.refused[member.id] = tallies.newestBatch[member.id]
            member.engine.tallyRefused(batch)
        } else {
            let isLast = tallies.underWay[member.id]?.isEmpty ?? true
            if isLast, let refused = tallies.refused[member.id], refused < batch {
                tallies.refused[member.id] = nil
            }
            member.engine.tallyWritten(batch)
        }
        wake(member)
    }

    /// The member has another producer, and what the last one had on its way may be lost.
    ///
    /// A commit has waited for them, and waits no longer because of that.
    mutating func talliesLost(by member: Member) {
        guard tallies.underWay.removeValue(forKey: member.id)?.isEmpty == false else { return }
        tallies.refused[member.id] = tallies.newestBatch[member.id]
    }

    /// Notes what is settled when a commit is decided that waits for the tally.
    mutating func noteHeldCommit(of member: Member, _ decision: TurnDecision) {
        if member.engine.lend(to: { $0.isCommitHeld }) {
            member.heldCursors = member.heldCursors ?? member.cursors
        } else if !decision.group.contains(where: \.isCommit) {
            member.heldCursors = nil
        }
    }

    // MARK: What is in Kafka

    /// An outcome is in Kafka, where readers see it.
    mutating func noteWritten(_ record: ProducedRecord) {
        guard let campaign = record.campaign, let kind = record.kind else { return }
        tallies.written[campaign, default: OutcomeCounts()].count(kind, isSent: record.isSent)
    }

    /// An outcome is acknowledged to the member, which thereby counts it.
    mutating func noteAcknowledged(
        _ record: PublishedRecord?,
        _ tag: PublicationTag,
        by member: Member
    ) {
        guard !plan.isTransactional, tag.publication == .outcome, let record,
            let campaign = record.conclusion.outcome(of: record.arrival)?.subject.campaign
        else { return }
        let place = record.arrival.record
        // A commit covers no outcome of a reading in an earlier assignment; it may come later.
        guard isOfThisAssignment(record.arrival.receivedAt.instant, place.partition, member)
        else { return }
        let key = SimulatedTallies.Key(campaign: campaign, partition: place.partition)
        tallies.own[member.id, default: [:]][key, default: .init()].acknowledged
            .append(place.offset.rawValue)
    }

    /// The records of a transaction are visible together, after its outcomes.
    mutating func talliesAppear(_ records: [TallyRecord], of member: MemberID) {
        for record in records { tallies.store(record, of: member) }
        if !records.isEmpty { tallies.refused[member] = nil }
        checkTallyIsNotTooLarge()
        if tallies.refusal == 0 { checkTallyIsExact() }
    }

    // MARK: Checks

    /// Checks that the tally has exactly the outcomes that are committed.
    private mutating func checkTallyIsExact() {
        guard settings.writesCampaignTally else { return }
        for (campaign, written) in tallies.written.sorted(by: { $0.key < $1.key }) {
            let tally = tallies.tallied[campaign] ?? OutcomeCounts()
            guard tally == written else {
                return found(.tallyIsTrue, "\(campaign): \(tally) of \(written)")
            }
        }
    }

    /// Checks that nothing counts that is not in Kafka.
    private mutating func checkTallyIsNotTooLarge() {
        for (campaign, tally) in tallies.tallied.sorted(by: { $0.key < $1.key }) {
            let written = tallies.written[campaign] ?? OutcomeCounts()
            guard OutcomeKind.allCases.allSatisfy({ tally[$0] <= written[$0] }) else {
                return found(.tallyIsTrue, "\(campaign): \(tally), but only \(written)")
            }
        }
    }

    /// Checks that a commit without a transaction follows the counts of what it settles.
    ///
    /// It need not if the topic refuses records, or does not answer in time.
    mutating func checkTally(of commits: [PartitionCommit], by member: Member) {
        guard settings.writesCampaignTally else { return }
        let isExcused =
            tallies.refused[member.id] != nil
            || tallies.underWay[member.id]?.contains { $0.since + .seconds(1) <= now } == true
        for commit in commits {
            for key in tallies.own[member.id]?.keys.sorted(by: { $0.campaign < $1.campaign }) ?? []
            where key.partition == commit.partition {
                guard var own = tallies.own[member.id]?[key] else { continue }
                let settled = own.acknowledged.count { $0 < commit.offset.rawValue }
                own.acknowledged.removeAll { $0 < commit.offset.rawValue }
                own.committed += settled
                tallies.own[member.id]?[key] = own
                guard !isExcused, own.tallied < own.committed else { continue }
                found(
                    .tallyIsTrue,
                    "\(key.campaign): \(own.tallied), but \(own.committed) are committed"
                )
            }
        }
    }

    /// Checks the tally at the end, once everything is settled.
    mutating func checkTallyAtEnd() {
        // What a member could not write is lost with it.
        if plan.isTransactional, tallies.refused.isEmpty { checkTallyIsExact() }
    }
}
