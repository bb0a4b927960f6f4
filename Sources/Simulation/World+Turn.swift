import Delivery
import Vocabulary

/// The actions of a shard's loop, in virtual time.
extension World {
    /// Plans a turn of the member's loop, because something happened to it.
    mutating func wake(_ member: Member) {
        planTurn(of: member, at: now)
    }

    mutating func wakeOwner(of partition: PartitionID) {
        for member in members where member.cursorIndex(of: partition) != nil { wake(member) }
    }

    /// Plans a turn; it handles everything that happens until then together.
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
        takeRecipients(member)
        hearOfTokens(member)
        var decision = TurnDecision()
        swap(&decision, &self.decision)
        member.engine.turnEnded(now: moment, into: &decision)
        noteHeldCommit(of: member, decision)
        chronicle?.note(decision, of: member.id, at: now)
        digest.mix(decision, of: member.id, at: now)
        if isLogged(member.id) { inputLog += member.engine.takeLog() }
        carryOut(decision, for: member)
        member.ordersOfTurn = [member.orders]
        swap(&decision, &self.decision)
        checkTimeLimits(of: member)
        let (hasLeft, deadline) = member.engine.lend { engine in
            checkBounds(of: member, engine)
            checkPauses(of: member, engine)
            checkTopicWaits(of: member, engine)
            checkPaceIsKept(by: member, engine)
            checkBreakers(of: member, engine)
            return (engine.hasLeftGroup, engine.nextDeadline(now: now))
        }
        if hasLeft { return memberLeft(member) }
        if wantsMore { planTurn(of: member, at: now + .milliseconds(1)) }
        if let deadline { planTurn(of: member, at: max(deadline, now + .milliseconds(1))) }
    }

    /// Takes as many records as the engine has room for.
    ///
    /// - Returns: Whether more records may be available soon.
    private mutating func takeRecords(_ member: Member) -> Bool {
        guard isKafkaDown == 0 else { return false }
        var budget = member.engine.intakeBudget(now: now)
        let isFull = budget == 0
        let count = member.cursors.count
        guard count > 0 else { return false }
        member.firstCursor = (member.firstCursor + 1) % count
        var isLeft = false
        for step in 0..<count {
            let index = (member.firstCursor + step) % count
            guard !member.cursors[index].isPaused else { continue }
            let partition = member.cursors[index].partition
            guard mayRead(index, by: member) else { continue }
            let end = kafka.partitions[partition.index].end
            if member.engine.endSeen(partition, Offset(end)) != nil {
                noteDisbelief(of: member, in: partition, from: member.cursors[index].start)
            }
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
                case .record(let hasRoom): budget = hasRoom ? budget - 1 : 0
                // The shard reads nothing after it, because its partition is about to be paused.
                case .recordNotDue:
                    budget -= 1
                    stopped = true
                }
            }
        }
        if isLeft, isFull { planTurn(of: member, at: now + .milliseconds(50)) }
        return isLeft && !isFull
    }

    private enum Taken {
        case gap
        case record(hasRoom: Bool)
        /// A retry record that is not due yet.
        case recordNotDue
    }

    private mutating func takeRecord(_ member: Member, cursor index: Int) -> Taken {
        let partition = member.cursors[index].partition
        let position = member.cursors[index].position
        let entry = kafka.partitions[partition.index].entries[Int(position)]
        member.cursors[index].position += 1
        member.cursors[index].mark = nil
        guard let event = entry.event else {
            member.cursors[index].note(isSettled: true)
            return .gap
        }
        var history: RetryHistory?
        if let retry = entry.retry { history = self.history(of: retry, in: partition) }
        let skipped = member.engine.counts.skippedSettled
        let record = record(event, at: position, of: partition)
        let decoded = decoded(event, record, by: member)
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
        if member.engine.counts.skippedSettled > skipped {
            noteSettledSkipped(position, member.cursors[index])
        }
        member.cursors[index].note(isSettled: isSkipped || (isTaken && isTombstone))
        if isTaken { expectPlace(in: partition, of: member) }
        if isTaken, !isTombstone {
            let isKnown = if case .event = decoded { true } else { false }
            if let history { noteDue(history, at: RecordPlace(arrival), by: member) }
            noteRecord(arrival, cursor: index, of: member)
            if arrival.fanOut == nil {
                noteArrival(of: event, arrival, isSendable: isKnown, by: member)
            }
        }
        if reply.isEarly { return .recordNotDue }
        return .record(hasRoom: reply.hasRoom)
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

    // MARK: What is to be done

    /// Carries out a decision in the shard's order.
    ///
    /// First come the token updates, because ended deliveries may depend on them, and then the
    /// ended deliveries, which free their queues for new sends.
    private mutating func carryOut(_ decision: TurnDecision, for member: Member) {
        for word in decision.tokenWords { carryOut(word, for: member) }
        let ended = noteEnded(by: member, wanting: decision.publications)
        for refresh in decision.tokenRefreshes {
            refreshProviderToken(of: refresh.credential, by: member)
        }
        for cancel in decision.cancels { carryOut(cancel, for: member) }
        for request in decision.sends { send(request, by: member) }
        for step in decision.connections { carryOut(step, for: member) }
        for schema in decision.schemaFetches { fetchSchema(schema, by: member) }
        for record in decision.tallies { produce(record, by: member) }
        for step in decision.transactions { transact(step, by: member) }
        for record in decision.publications {
            publish(record, isFirst: ended.contains(record.tag.delivery), by: member)
        }
        for record in decision.dropped { carryOut(record, for: member) }
        member.mostStatusWaits = 0
        for step in decision.group { carryOut(step, for: member) }
        if let reason = decision.stop { memberStops(member, because: reason) }
    }

    private mutating func carryOut(_ cancel: Cancel, for member: Member) {
        if let state = member.connections[cancel.connection],
            let stream = state.streams[cancel.delivery]
        {
            noteForBreaker(stream, isFailure: true, on: state.route, by: member)
        }
        noteProcessed(cancel.delivery, by: member)
        _ = endStream(of: cancel.delivery, on: cancel.connection, by: member)
    }

    private mutating func carryOut(_ step: ConnectionStep, for member: Member) {
        switch step {
        case .connect(let connection, let route): connect(connection, to: route, by: member)
        case .ping(let connection): pinged(connection, by: member)
        case .drain(let connection), .drainStalled(let connection):
            member.connections[connection]?.isDraining = true
            member.connections[connection]?.isLeaving = true
            sayGoodbye(on: connection, by: member)
        case .close(let connection, _): after(.zero, .connectionEnded(member.id, connection))
        }
    }

    private mutating func carryOut(_ word: TokenWord, for member: Member) {
        if let since = word.deadSince {
            suppress(word.token, since: since, by: member)
        } else {
            readmit(word.token, by: member)
        }
    }

    private mutating func carryOut(_ step: GroupStep, for member: Member) {
        switch step {
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
        // The member is removed when its engine reports that it has left.
        case .leave: break
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
        // A newer token was made in the meantime.
        guard member.tokenExpiries[credential] <= now else { return }
        member.tokenExpiries[credential] = providerTokenExpiry(of: member)
    }

    /// The time of one way over the network and a little processing.
    mutating func latency(_ draw: Draw, of member: Member) -> Duration {
        latency(draw, of: member.id)
    }

    mutating func latency(_ draw: Draw, of member: MemberID) -> Duration {
        dice[draw, member].milliseconds(2...40)
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
