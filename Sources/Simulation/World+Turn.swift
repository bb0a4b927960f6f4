import Delivery
import Vocabulary

/// What a shard's loop does, in virtual time.
extension World {
    /// Takes records in, ends the engine's turn, and carries its actions out.
    mutating func turn(_ id: MemberID) {
        guard members[id] != nil else { return }
        takeRecords(id)
        members[id]?.engine.turnEnded(now: moment)
        var batch: [Action] = []
        swap(&batch, &actions)
        members[id]?.engine.takeActions(into: &batch)
        for action in batch { carryOut(action, for: id) }
        swap(&batch, &actions)
        checkBounds(id)
        planNextTurn(id)
    }

    private mutating func planNextTurn(_ id: MemberID) {
        guard let member = members[id] else { return }
        if member.engine.hasLeftGroup {
            members[id] = nil
            kafka.left(id)
            after(.milliseconds(100), .groupRebalanced)
            return
        }
        var next = member.engine.nextDeadline(now: now).map { max($0, now + .milliseconds(1)) }
        if hasRecords(member) { next = min(next ?? .distantFuture, now + .milliseconds(1)) }
        guard let next, next != member.nextTurn || next <= now else { return }
        members[id]?.nextTurn = next
        schedule.insert(.turn(id), due: next)
    }

    private func hasRecords(_ member: Member) -> Bool {
        member.positions.contains { partition, position in
            !member.paused.contains(partition)
                && position < Int64(kafka.log[partition.index].count)
        }
    }

    private mutating func takeRecords(_ id: MemberID) {
        // Taken out, so that the engine's tables are changed in place and not copied.
        guard var member = members.removeValue(forKey: id) else { return }
        let suppressed = suppressed
        var budget = member.engine.intakeBudget(now: now)
        for partition in member.positions.keys.sorted() where !member.paused.contains(partition) {
            guard var position = member.positions[partition] else { continue }
            let end = kafka.log[partition.index].count
            member.engine.endSeen(partition, Offset(Int64(end)))
            while budget > 0, position < Int64(end) {
                let entry = kafka.log[partition.index][Int(position)]
                member.engine.recordArrived(
                    entry.record,
                    decoded: entry.decoded,
                    now: moment,
                    unregisteredSince: { suppressed[$0] }
                )
                position += 1
                budget -= 1
            }
            member.positions[partition] = position
        }
        members[id] = member
    }

    private mutating func carryOut(_ action: Action, for id: MemberID) {
        switch action {
        case .connect(let connection, _):
            members[id]?.connections[connection] = Member.Connection()
            let succeeds = !strikes(plan.connectFails)
            after(latency(), .connectEnded(id, connection, succeeds: succeeds))
        case .send(let delivery, let connection):
            received(delivery, from: id, on: connection)
        case .cancel(let delivery, let connection):
            _ = endStream(id, connection, delivery)
        case .ping(let connection):
            if !strikes(plan.silence) { after(latency(), .pingAnswered(id, connection)) }
        case .drain(let connection):
            members[id]?.connections[connection]?.isDraining = true
            after(.seconds(2), .connectionEnded(id, connection))
        case .close(let connection, _):
            after(.zero, .connectionEnded(id, connection))
        case .refreshProviderToken, .fetchSchema: break
        case .suppressToken(let token, let since): suppressed.insert(token, since: since)
        case .readmitToken(let token): suppressed.remove(token)
        case .publish(let delivery, let publications):
            for publication in publications.sorted(by: { $0.rawValue < $1.rawValue }) {
                produce(PublicationTag(delivery, publication), for: id)
            }
        case .publishAgain(let delivery, let publication):
            produce(PublicationTag(delivery, publication), for: id)
        case .fetchStoredOffsets, .assign, .unassign, .commit, .pause, .resume, .leaveGroup:
            carryOutInGroup(action, for: id)
        }
    }

    private mutating func produce(_ tag: PublicationTag, for id: MemberID) {
        let succeeds = !strikes(plan.publicationFails)
        after(latency() / 4, .deliveryReported(id, tag, succeeds: succeeds))
    }

    private mutating func carryOutInGroup(_ action: Action, for id: MemberID) {
        switch action {
        case .fetchStoredOffsets(let partitions):
            let succeeds = !strikes(plan.offsetFetchFails)
            after(latency() / 4, .offsetsFetched(id, partitions, succeeds: succeeds))
        case .assign(let starts):
            members[id]?.positions = [:]
            members[id]?.paused = []
            for start in starts {
                let position = position(start)
                members[id]?.positions[start.partition] = position
            }
        case .unassign:
            members[id]?.positions = [:]
            members[id]?.paused = []
            kafka.letGo(id)
            assignIfReady()
        case .commit(let commits): commit(commits, by: id)
        case .pause(let partitions): members[id]?.paused.formUnion(partitions)
        case .resume(let partitions): members[id]?.paused.subtract(partitions)
        default: break
        }
    }

    private func position(_ start: PartitionStart) -> Int64 {
        switch start.position {
        case .at(let offset): offset.rawValue
        case .beginning: 0
        case .end: Int64(kafka.log[start.partition.index].count)
        case .stored: kafka.committed[start.partition.index] ?? 0
        }
    }

    private mutating func commit(_ commits: [PartitionCommit], by id: MemberID) {
        let fails = strikes(plan.commitFails)
        var refused: [PartitionID] = []
        for commit in commits {
            checkCommit(commit)
            if fails || !kafka.commit(commit, by: id) {
                refused.append(commit.partition)
            }
        }
        after(latency() / 4, .commitEnded(id, refused, succeeds: refused.isEmpty))
    }
}

extension Instant {
    static let distantFuture = Instant(nanoseconds: .max)
}
