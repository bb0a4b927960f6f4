import Delivery
import Vocabulary

/// Processes: they start, crash, leave, are fenced, and hang.
extension World {
    mutating func startMember() {
        membersMade += 1
        coverage.note(.memberStarted)
        let id = MemberID(number: membersMade)
        let member = Member(
            id: id,
            engine: DeliveryEngine(
                settings: settings,
                seed: dice[.members].seed(),
                loggingFor: isLogged(id) ? "the simulation" : nil
            ),
            tokens: tokenList()
        )
        for credential in member.tokenExpiries.indices {
            member.tokenExpiries[credential] = providerTokenExpiry(of: member)
        }
        members.append(member)
        // The shards start once all orders are read.
        obey(member)
        group.joined(id)
        after(.milliseconds(100), .groupRebalanced)
        wake(member)
    }

    /// Whether the member's inputs are logged for a replay at the end; one seed in eight does so.
    func isLogged(_ id: MemberID) -> Bool { plan.seed.isMultiple(of: 8) && id.number == 1 }

    /// Removes a member from the world.
    private mutating func remove(_ member: Member) {
        members.removeAll { $0 === member }
        group.left(member.id)
    }

    mutating func memberDies() {
        again(plan.intervals.crash, .memberDied)
        guard areFaultsOn, !members.isEmpty else { return }
        coverage.note(.memberCrashed)
        replaceDead(dice[.members].element(members))
    }

    mutating func replaceDead(_ victim: Member) {
        digest.mix(UInt64(victim.id.number))
        notePartlySettled(.fanOutCutShort, by: victim)
        remove(victim)
        // The group notices when the session times out, or at once if the socket closes.
        after(dice[.members].seconds(0...10), .groupRebalanced)
        startMember()
    }

    /// A rolling restart: a member is asked to leave, and its successor starts.
    mutating func memberRestarts() {
        again(plan.intervals.restart, .memberRestarted)
        guard areFaultsOn, let leaver = randomStaying() else { return }
        coverage.note(.memberRestarted)
        askToLeave(leaver)
        startMember()
    }

    mutating func groupGrows() {
        guard areFaultsOn else { return }
        startMember()
        again(plan.intervals.resize, .groupShrank)
    }

    mutating func groupShrinks() {
        again(plan.intervals.resize, .groupGrew)
        guard members.count > 1, let leaver = randomStaying() else { return }
        askToLeave(leaver)
    }

    private mutating func askToLeave(_ member: Member) {
        member.isLeaving = true
        member.engine.shutdownRequested(now: moment)
        wake(member)
    }

    mutating func memberLeft(_ member: Member) {
        remove(member)
        after(.milliseconds(100), .groupRebalanced)
    }

    /// The group fences a live member, which learns of it later and joins again.
    mutating func memberIsFenced() {
        again(plan.intervals.fence, .memberFenced)
        guard areFaultsOn, let fenced = randomStaying() else { return }
        coverage.note(.memberFenced)
        group.left(fenced.id)
        after(.milliseconds(100), .groupRebalanced)
        after(dice[.members].seconds(0...10), .heartbeatMissed(fenced.id))
    }

    mutating func heartbeatMissed(_ id: MemberID) {
        guard let member = member(id), !group.members.contains(id) else { return }
        member.groupEvents.append(.lost)
        wake(member)
        group.joined(id)
        after(.seconds(1), .groupRebalanced)
    }

    /// A member's thread does not run for a while: the machine is busy or suspended.
    mutating func memberStalls() {
        again(plan.intervals.stall, .memberStalled)
        guard areFaultsOn, !members.isEmpty else { return }
        let member = dice[.members].element(members)
        // At most twenty seconds in a row: a member that hangs longer would be fenced.
        guard member.stalledUntil + .seconds(20) < now else { return }
        coverage.note(.memberStalled)
        member.stalledUntil = now + dice[.members].seconds(1...20)
    }

    private mutating func randomStaying() -> Member? {
        let staying = members.filter { !$0.isLeaving }
        return staying.isEmpty ? nil : dice[.members].element(staying)
    }

    /// When APNs stops accepting a provider token made now.
    mutating func providerTokenExpiry(of member: Member) -> Instant {
        guard areFaultsOn, let mean = plan.intervals.providerTokenExpiry else {
            return Instant(nanoseconds: .max)
        }
        return now + dice[.providerToken, member].wait(mean: mean)
    }
}
