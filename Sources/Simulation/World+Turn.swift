import Delivery
import Vocabulary

/// What a shard's loop does, in virtual time.
extension World {
    /// Something happened to the member: its loop turns.
    mutating func wake(_ member: Member) {
        planTurn(of: member, at: now)
    }

    mutating func wakeOwner(of partition: PartitionID) {
        for member in members where member.cursorIndex(of: partition) != nil { wake(member) }
    }

    /// Everything that happens until the turn is taken up by it together.
    private mutating func planTurn(of member: Member, at moment: Instant) {
        let earliest = max(member.lastTurn + plan.turnInterval, member.stalledUntil)
        let due = max(moment, earliest, now)
        if let planned = member.nextTurn, planned <= due, planned >= member.stalledUntil { return }
        member.nextTurn = due
        after(due - now, .turn(member.id))
    }

    mutating func turnDue(_ id: MemberID) {
        guard let member = member(id), member.nextTurn == now else { return }
        guard member.stalledUntil <= now else {
            member.nextTurn = nil
            return planTurn(of: member, at: member.stalledUntil)
        }
        member.nextTurn = nil
        member.turnBefore = member.lastTurn
        member.lastTurn = now
        turn(member)
    }

    private mutating func turn(_ member: Member) {
        takeGroupEvent(member)
        decodeAgain(member)
        let wantsMore = takeRecords(member)
        hearOfTokens(member)
        member.engine.turnEnded(now: moment)
        var batch: [Action] = []
        swap(&batch, &actions)
        member.engine.takeActions(into: &batch)
        for action in batch {
            chronicle?.note(action, of: member.id, at: now)
            mix(action, of: member)
        }
        // What ends in a turn may follow from a word of the same turn, and makes way for what is sent.
        for action in batch where action.isTokenWord { carryOut(action, for: member) }
        noteEnded(by: member, wanting: batch)
        for action in batch where !action.isTokenWord { carryOut(action, for: member) }
        swap(&batch, &actions)
        checkTimeLimits(of: member)
        let (hasLeft, deadline) = member.engine.lend { engine in
            checkBounds(of: member, engine)
            checkPauses(of: member, engine)
            checkBreakers(of: member, engine)
            return (engine.hasLeftGroup, engine.nextDeadline(now: now))
        }
        if hasLeft { return memberLeft(member) }
        if wantsMore { planTurn(of: member, at: now + .milliseconds(1)) }
        if let deadline { planTurn(of: member, at: max(deadline, now + .milliseconds(1))) }
    }

    /// Takes what the engine has room for.
    ///
    /// - Returns: whether records are left that might be taken soon.
    private mutating func takeRecords(_ member: Member) -> Bool {
        guard isKafkaDown == 0 else { return false }
        var budget = member.engine.intakeBudget(now: now)
        var bytes = member.engine.intakeByteBudget
        let isFull = budget == 0
        let count = member.cursors.count
        guard count > 0 else { return false }
        member.firstCursor = (member.firstCursor + 1) % count
        var isLeft = false
        for step in 0..<count {
            let index = (member.firstCursor + step) % count
            guard !member.cursors[index].isPaused else { continue }
            let partition = member.cursors[index].partition
            let end = kafka.partitions[partition.index].end
            member.engine.endSeen(partition, Offset(end))
            if member.cursors[index].position == end {
                endReached(index, by: member)
                continue
            }
            var stopped = false
            while !stopped,
                member.cursors[index].position < kafka.partitions[partition.index].end
            {
                guard budget > 0 else {
                    isLeft = true
                    break
                }
                switch takeRecord(member, cursor: index) {
                case .gap: continue
                case .record(let byteCount):
                    budget -= 1
                    bytes -= byteCount
                // The shard reads nothing behind it: its partition is to stand still.
                case .recordNotDue:
                    budget -= 1
                    stopped = true
                }
                // As the shard's poll does: the record that uses the bytes up is the last one.
                if bytes <= 0 { budget = 0 }
            }
        }
        if isLeft, isFull { planTurn(of: member, at: now + .milliseconds(50)) }
        return isLeft && !isFull
    }

    private enum Taken {
        case gap
        case record(byteCount: Int)
        /// A retry record before its time.
        case recordNotDue
    }

    private mutating func takeRecord(_ member: Member, cursor index: Int) -> Taken {
        let partition = member.cursors[index].partition
        let position = member.cursors[index].position
        let entry = kafka.partitions[partition.index].entries[Int(position)]
        member.cursors[index].position += 1
        guard let event = entry.event else {
            member.cursors[index].note(isSettled: true)
            return .gap
        }
        var history: RetryHistory?
        if let retry = entry.retry { history = self.history(of: retry, in: partition) }
        let skipped = member.engine.counts.skippedSettled
        let record = record(event, at: position, of: partition)
        let decoded = decoded(event, by: member)
        let arrival = reader.read(
            record,
            decoded,
            history: history,
            source: kafka.partitions[partition.index].source,
            now: moment,
            deadSince: deadSince(by: member)
        )
        let reply = member.engine.recordArrived(arrival)
        let isTaken = reply.isTaken
        if isTaken { checkConsumption(of: position, member.cursors[index], by: member) }
        let isTombstone = events[Int(event)].content == .tombstone
        let isSkipped =
            member.engine.counts.skippedSettled > skipped
            && member.settledBefore[partition]?.contains(position) == true
        if isSkipped { coverage.note(.skippedAsSettled) }
        member.cursors[index].note(isSettled: isSkipped || (isTaken && isTombstone))
        if isTaken { expectPlace(in: partition, of: member) }
        if isTaken, !isTombstone {
            let place = RecordPlace(partition: partition, offset: position)
            noteArrival(of: event, decoded, history, at: place, by: member)
        }
        return reply.stopsReading ? .recordNotDue : .record(byteCount: record.byteCount)
    }

    private func history(
        of retry: Int32,
        in partition: PartitionID
    ) -> RetryHistory? {
        let topics = kafka.retryTopics
        let topic = kafka.partitions[partition.index].name.topic
        guard let purpose = topics.purpose(of: topic) else { return nil }
        let headers = retryRecords[Int(retry)].headers
        return RetryHistory(
            headers: headers,
            writtenAt: retryRecords[Int(retry)].writtenAt,
            of: purpose,
            in: topics,
            now: timestamp
        )
    }

    // MARK: Actions

    private mutating func carryOut(_ action: Action, for member: Member) {
        switch action {
        case .connect(let connection, let route): connect(connection, to: route, by: member)
        case .send(let delivery, let connection): send(delivery, on: connection, by: member)
        case .cancel(let delivery, let connection):
            if let state = member.connections[connection], let stream = state.streams[delivery] {
                noteForBreaker(stream, isFailure: true, on: state.route, by: member)
            }
            noteProcessed(delivery, by: member)
            _ = endStream(of: delivery, on: connection, by: member)
        case .ping(let connection): pinged(connection, by: member)
        case .drain(let connection), .drainStalled(let connection):
            member.connections[connection]?.isDraining = true
            after(.seconds(2), .connectionEnded(member.id, connection))
        case .close(let connection, _): after(.zero, .connectionEnded(member.id, connection))
        case .refreshProviderToken(let credential, _):
            refreshProviderToken(of: credential, by: member)
        case .fetchSchema(let schema): fetchSchema(schema, by: member)
        case .transact(let step): transact(step, by: member)
        case .stop(let reason): memberStops(member, because: reason)
        case .suppressToken(let token, let since): suppress(token, since: since, by: member)
        case .readmitToken(let token): readmit(token, by: member)
        case .publish(let delivery, let publications):
            publish(delivery, publications, by: member)
        case .publishAgain(let delivery, let publication):
            publishAgain(delivery, publication, by: member)
        case .fetchStoredOffsets:
            after(
                latency(.storedOffsets, of: member),
                .offsetsFetched(member.id, generation: member.generation)
            )
        case .assign(let starts): assign(starts, to: member)
        case .unassign: unassign(member)
        case .commit(let commits): commit(commits, by: member)
        case .pause(let partitions): setPaused(true, partitions, of: member)
        case .resume(let partitions): setPaused(false, partitions, of: member)
        // The member is taken out when its engine says so.
        case .leaveGroup: break
        }
    }

    private mutating func setPaused(
        _ isPaused: Bool,
        _ partitions: [PartitionID],
        of member: Member
    ) {
        if isPaused { coverage.note(.intakePaused) }
        for index in member.cursors.indices
        where partitions.contains(member.cursors[index].partition) {
            member.cursors[index].isPaused = isPaused
        }
        if !isPaused { wake(member) }
    }

    private mutating func refreshProviderToken(of credential: Int, by member: Member) {
        // A newer one was made since.
        guard member.tokenExpiries[credential] <= now else { return }
        member.tokenExpiries[credential] = providerTokenExpiry(of: member)
    }

    /// One way over the network, and a little work.
    mutating func latency(_ draw: Draw, of member: Member) -> Duration {
        latency(draw, of: member.id)
    }

    mutating func latency(_ draw: Draw, of member: MemberID) -> Duration {
        dice[draw, member].milliseconds(2...40)
    }
}

extension Action {
    fileprivate var isTokenWord: Bool {
        switch self {
        case .suppressToken, .readmitToken: true
        default: false
        }
    }
}

extension Member.Cursor {
    mutating func note(isSettled: Bool) {
        settled.append(isSettled)
        if isSettled { advance() }
    }

    mutating func settle(_ offset: Int64) {
        let place = Int(offset - start)
        guard settled.indices.contains(place) else { return }
        settled[place] = true
        advance()
    }

    private mutating func advance() {
        while frontier < position, settled[Int(frontier - start)] { frontier += 1 }
    }
}
