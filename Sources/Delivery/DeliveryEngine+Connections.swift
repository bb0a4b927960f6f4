import ConnectionPool
package import Vocabulary

extension DeliveryEngine {
    // MARK: Inputs

    /// TLS and HTTP/2 are up, and the peer's SETTINGS are here.
    package mutating func connectionOpened(
        _ id: ConnectionID,
        maxConcurrentStreams: Int,
        now: Moment
    ) {
        guard let lane = laneOfConnection[id] else { return }
        lanes[lane].pool.connectionOpened(
            id,
            maxConcurrentStreams: maxConcurrentStreams,
            now: now.instant
        )
    }

    package mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Moment) {
        guard let lane = laneOfConnection[id] else { return }
        lanes[lane].pool.streamLimitChanged(id, to: limit, now: now.instant)
    }

    /// The peer goes away; what it did not process is reported stream by stream.
    package mutating func goAwayReceived(_ id: ConnectionID) {
        guard let lane = laneOfConnection[id] else { return }
        lanes[lane].pool.goAwayReceived(id)
    }

    package mutating func pingAnswered(_ id: ConnectionID, now: Moment) {
        guard let lane = laneOfConnection[id] else { return }
        lanes[lane].pool.pingAnswered(id, now: now.instant)
    }

    /// The connection is gone, or was never had; each of its streams was reported before.
    package mutating func connectionClosed(_ id: ConnectionID, now: Moment) {
        guard let lane = laneOfConnection.removeValue(forKey: id) else { return }
        lanes[lane].pool.connectionClosed(id, now: now.instant, using: &random)
    }

    // MARK: The turn

    mutating func turn(lane index: Int, now: Moment) {
        send(fromLane: index, now: now)
        var poolActions: [PoolMachine.Action] = []
        lanes[index].pool.demandChanged(waiting: lanes[index].waiting.count)
        lanes[index].pool.timeAdvanced(
            now: now.instant,
            identifiers: &connectionIdentifiers,
            actions: &poolActions
        )
        carryOut(poolActions, lane: index)
    }

    mutating func carryOut(_ poolActions: [PoolMachine.Action], lane: Int?) {
        guard let lane else { return }
        for action in poolActions {
            switch action {
            case .connect(let id):
                laneOfConnection[id] = lane
                actions.append(.connect(id, Route(index: lane)))
            case .ping(let id): actions.append(.ping(id))
            case .drain(let id): actions.append(.drain(id))
            case .close(let id, let verdict): actions.append(.close(id, verdict))
            }
        }
    }
}
