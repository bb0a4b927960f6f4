import Delivery
import Vocabulary

extension World {
    mutating func happened(_ happening: Happening) {
        switch happening {
        case .turn(let id):
            guard members[id]?.nextTurn.map({ $0 <= now }) ?? true else { return }
            turn(id)
        case .eventAppended:
            appendEvent()
        case .faultsEnded:
            areFaultsOn = false
        case .groupRebalanced:
            rebalance()
        case .memberDied:
            memberDies()
        case .memberRestarted:
            memberRestarts()
        case .memberFenced:
            memberIsFenced()
        case .connectEnded, .answer, .streamReset, .goAwaySent, .streamLimitChanged,
            .pingAnswered, .connectionEnded:
            peerHappened(happening)
        case .deliveryReported(let id, let tag, let succeeds):
            deliveryReported(id, tag, succeeds: succeeds)
        case .offsetsFetched(let id, let partitions, let succeeds):
            offsetsFetched(id, partitions, succeeds: succeeds)
        case .commitEnded(let id, let partitions, let succeeds):
            members[id]?.engine.commitFinished(failed: succeeds ? [] : partitions)
            turn(id)
        }
    }

    // MARK: Members

    private mutating func memberDies() {
        guard areFaultsOn, let mean = plan.crashEvery else { return }
        after(mean * 2 * chance(), .memberDied)
        guard let victim = members.keys.sorted().randomElement(using: &random) else { return }
        endMember(victim)
        startMember()
    }

    /// A rolling restart: the member is asked to go, and its successor starts.
    private mutating func memberRestarts() {
        guard areFaultsOn, let mean = plan.restartEvery else { return }
        after(mean * 2 * chance(), .memberRestarted)
        let staying = members.values.filter { !$0.isLeaving }.map(\.id).sorted()
        guard let leaver = staying.randomElement(using: &random) else { return }
        members[leaver]?.isLeaving = true
        members[leaver]?.engine.shutdownRequested(now: moment)
        turn(leaver)
        startMember()
    }

    /// The group has given a living member up; it is told later, and joins anew.
    private mutating func memberIsFenced() {
        guard areFaultsOn, let mean = plan.fenceEvery else { return }
        after(mean * 2 * chance(), .memberFenced)
        let staying = members.values.filter { !$0.isLeaving }.map(\.id).sorted()
        guard let fenced = staying.randomElement(using: &random) else { return }
        kafka.left(fenced)
        members[fenced]?.engine.partitionsRevoked(lost: true, now: moment)
        turn(fenced)
        kafka.joined(fenced)
        after(.seconds(1), .groupRebalanced)
    }

    // MARK: Group

    mutating func rebalance() {
        guard kafka.isRebalancing else { return }
        for id in kafka.rebalanceBegan() {
            members[id]?.engine.partitionsRevoked(lost: false, now: moment)
            turn(id)
        }
        assignIfReady()
    }

    mutating func assignIfReady() {
        guard let shares = kafka.assignmentIfReady() else { return }
        for (id, partitions) in shares {
            members[id]?.engine.partitionsAssigned(partitions, of: kafka.partitions)
            turn(id)
        }
    }

    private mutating func offsetsFetched(
        _ id: MemberID,
        _ partitions: [PartitionID],
        succeeds: Bool
    ) {
        guard succeeds else {
            members[id]?.engine.storedOffsetsFailed()
            turn(id)
            return
        }
        var offsets: [PartitionID: CommittedPosition?] = [:]
        for partition in partitions {
            offsets.updateValue(kafka.position(of: partition), forKey: partition)
        }
        members[id]?.engine.storedOffsetsFetched(offsets)
        turn(id)
    }

    // MARK: Outcomes

    private mutating func deliveryReported(
        _ id: MemberID,
        _ tag: PublicationTag,
        succeeds: Bool
    ) {
        guard let delivery = members[id]?.engine.delivery(tag.delivery) else { return }
        if succeeds {
            if tag.publication == .outcome, let outcome = delivery.outcome {
                kafka.outcomeAcknowledged(delivery.record, outcome.kind)
            }
            members[id]?.engine.published(tag)
        } else {
            members[id]?.engine.publicationFailed(tag, now: moment)
        }
        turn(id)
    }

    // MARK: Events

    private mutating func appendEvent() {
        let number = eventsAppended
        eventsAppended += 1
        let partition = PartitionID(index: number % plan.partitions)
        let decoded = makeEvent(number)
        kafka.append(to: partition) { offset in
            let value: [UInt8]? = decoded == .tombstone ? nil : Array("{}".utf8)
            let record = Record(
                partition: partition,
                offset: offset,
                timestamp: nil,
                key: nil,
                value: value
            )
            return SimulatedKafka.LogEntry(record: record, decoded: decoded)
        }
        for id in members.keys.sorted() where kafka.owns(id, partition) { turn(id) }
    }

    private func hex(_ byte: UInt8) -> String { String(byte, radix: 16) }

    private mutating func makeEvent(_ number: Int) -> DecodedRecord {
        if strikes(plan.tombstones) { return .tombstone }
        if strikes(plan.invalidEvents) {
            return .invalid(InvalidEvent(reason: .schemaViolation, violations: []))
        }
        let device = UInt8.random(in: 0...plan.lastDevice, using: &random)
        guard let token = DeviceToken(device < 16 ? "0" + hex(device) : hex(device))
        else { return .tombstone }
        var event = Event(
            id: "event-\(number)",
            deviceToken: token,
            destination: .bundleID("com.example.App"),
            pushType: .alert,
            payload: 0..<2,
            apnsID: APNsID(high: 0, low: UInt64(number))
        )
        if Int.random(in: 0..<4, using: &random) == 0 { event.collapseID = CollapseID("score") }
        if strikes(plan.expiringEvents) {
            event.expiration = moment.timestamp.seconds + Int64.random(in: 0...60, using: &random)
        }
        return .event(event)
    }
}
