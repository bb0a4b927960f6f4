import APNsRules
import ConnectionPool
public import Vocabulary

extension DeliveryEngine {
    // MARK: Inputs

    /// TLS and HTTP/2 are up, and the peer's SETTINGS are here.
    public mutating func connectionOpened(
        _ id: ConnectionID,
        maxConcurrentStreams: Int,
        now: Moment
    ) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.connectionOpened(
            id,
            maxConcurrentStreams: maxConcurrentStreams,
            now: now.instant
        )
        // A peer that allows no stream is as good as none.
        if maxConcurrentStreams > 0 { lanes[lane].breaker.connectSucceeded(now: now.instant) }
    }

    public mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Moment) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.streamLimitChanged(id, to: limit, now: now.instant)
        if limit > 0 { lanes[lane].breaker.connectSucceeded(now: now.instant) }
    }

    /// The peer goes away; what it did not process is reported stream by stream.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - reason: what the peer says, if it says why.
    ///   - now: this turn's moment.
    /// - Returns: whether that condemns the credential; what it says of one that was replaced since
    ///   the connection was made does not.
    @discardableResult
    public mutating func goAwayReceived(
        _ id: ConnectionID,
        reason: Reason?,
        now: Moment
    ) -> Bool {
        guard let lane = laneOfConnection[id] else { return false }
        wakes.touch(lane)
        lanes[lane].pool.goAwayReceived(id)
        guard let reason,
            Verdict.goAway(reason: reason).disposition == .parkCredential,
            !lanes[lane].pool.connections.contains(where: { $0.id == id && $0.isSuperseded })
        else { return false }
        park(Route(index: lane).credential, reason, sentAt: now.instant, now: now)
        return true
    }

    public mutating func pingAnswered(_ id: ConnectionID, now: Moment) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.pingAnswered(id, now: now.instant)
    }

    /// The connection is gone, or was never had; each of its streams was reported before.
    public mutating func connectionClosed(_ id: ConnectionID, now: Moment) {
        guard let lane = laneOfConnection.removeValue(forKey: id) else { return }
        wakes.touch(lane)
        let isWanted = !lanes[lane].waiting.isEmpty
        let wasOfUse =
            lanes[lane].pool.connections.first { $0.id == id }?.wasOfUse(isWanted: isWanted) ?? true
        lanes[lane].pool.connectionClosed(id, now: now.instant, using: &random)
        if !wasOfUse, parking[Route(index: lane).credential].isWorking,
            lanes[lane].pool.usableConnections == 0
        {
            lanes[lane].breaker.connectFailed()
        }
    }

    // MARK: The turn

    mutating func turn(
        lane index: Int,
        now: Moment,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) {
        let credential = Route(index: index).credential
        lanes[index].breaker.timeAdvanced(now: now.instant)
        parking[credential].timeAdvanced(now: now.instant)
        send(fromLane: index, now: now, unregisteredSince)
        makeRoom(lane: index, now: now)
        var poolActions: [PoolMachine.Action] = []
        if case .parked = parking[credential].phase {
            lanes[index].pool.suspended(actions: &poolActions)
        } else {
            lanes[index].pool.resumed()
        }
        lanes[index].pool.demandChanged(waiting: demand(lane: index))
        lanes[index].pool.timeAdvanced(
            now: now.instant,
            identifiers: &connectionIdentifiers,
            actions: &poolActions
        )
        carryOut(poolActions, lane: index)
        wakes.sleep(index, until: nextTurn(lane: index, now: now.instant))
    }

    /// What waits for a stream; a breaker that waits for a connection is somebody, too.
    private func demand(lane index: Int) -> Int {
        let waiting = lanes[index].waiting.count
        return lanes[index].breaker.phase == .open(until: nil) ? max(1, waiting) : waiting
    }

    private func nextTurn(lane index: Int, now: Instant) -> Instant? {
        var next = lanes[index].waiting.isEmpty ? nil : nextSweep
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            next = min(next ?? instant, instant)
        }
        consider(lanes[index].pool.nextDeadline(now: now))
        consider(lanes[index].breaker.nextDeadline)
        consider(parking[Route(index: index).credential].nextDeadline)
        return next
    }

    mutating func carryOut(_ poolActions: [PoolMachine.Action], lane: Int) {
        for action in poolActions {
            switch action {
            case .connect(let id):
                laneOfConnection[id] = lane
                actions.append(.connect(id, Route(index: lane)))
            case .ping(let id): actions.append(.ping(id))
            case .drain(let id): actions.append(.drain(id))
            case .drainStalled(let id): actions.append(.drainStalled(id))
            case .close(let id, let reason): actions.append(.close(id, reason))
            }
        }
    }
}

extension ConnectionMachine {
    /// Whether the endpoint did its part: it answered, or nobody asked it for anything.
    ///
    /// `isWanted`: something waits to be sent.
    fileprivate func wasOfUse(isWanted: Bool) -> Bool {
        if isSuperseded { return true }
        if isConnecting || isStalled && shutSince != nil { return false }
        return hasAnswered || !wasAsked && !isWanted
    }
}
