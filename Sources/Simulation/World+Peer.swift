import Delivery
import Vocabulary

/// APNs, as it is on its bad days.
extension World {
    mutating func peerHappened(_ happening: Happening) {
        switch happening {
        case .connectEnded(let id, let connection, let succeeds):
            connectEnded(id, connection, succeeds: succeeds)
        case .answer(let id, let connection, let delivery, let answer):
            guard endStream(id, connection, delivery) else { return }
            members[id]?.engine.responseArrived(answer, for: delivery, now: moment)
            turn(id)
        case .streamReset(let id, let connection, let delivery, let kind):
            guard endStream(id, connection, delivery) else { return }
            members[id]?.engine.streamBroke(delivery, kind, now: moment)
            turn(id)
        case .goAwaySent(let id, let connection):
            goAway(id, connection)
            turn(id)
        case .streamLimitChanged(let id, let connection):
            changeStreamLimit(id, connection)
            turn(id)
        case .pingAnswered(let id, let connection):
            guard members[id]?.connections[connection] != nil else { return }
            members[id]?.engine.pingAnswered(connection, now: moment)
            turn(id)
        case .connectionEnded(let id, let connection):
            endConnection(id, connection)
            turn(id)
        default: break
        }
    }

    private mutating func connectEnded(
        _ id: MemberID,
        _ connection: ConnectionID,
        succeeds: Bool
    ) {
        guard members[id]?.connections[connection] != nil else { return }
        if succeeds {
            let limit = Int.random(in: 1...50, using: &random)
            members[id]?.connections[connection]?.isOpen = true
            members[id]?.connections[connection]?.limit = limit
            members[id]?.engine.connectionOpened(
                connection,
                maxConcurrentStreams: limit,
                now: moment
            )
        } else {
            endConnection(id, connection)
        }
        turn(id)
    }

    /// A request reached APNs.
    mutating func received(_ delivery: DeliveryID, from id: MemberID, on connection: ConnectionID) {
        guard var state = members[id]?.connections[connection],
            let record = members[id]?.engine.delivery(delivery)?.record
        else { return }
        state.streams.insert(delivery)
        state.order.append(delivery)
        members[id]?.connections[connection] = state
        checkStreamOpened(on: state)
        let delay = latency()
        if strikes(plan.streamRefused) {
            after(delay, .streamReset(id, connection, delivery, .unprocessed))
            return
        }
        kafka.pushed(record)
        if strikes(plan.silence) { return }
        if strikes(plan.streamReset) {
            after(delay, .streamReset(id, connection, delivery, .unknown))
            return
        }
        after(delay, .answer(id, connection, delivery, answer()))
        if strikes(plan.goAway) { after(.zero, .goAwaySent(id, connection)) }
        if strikes(plan.connectionBreaks) { after(delay / 2, .connectionEnded(id, connection)) }
        if strikes(plan.streamLimitChanges) { after(.zero, .streamLimitChanged(id, connection)) }
    }

    private mutating func answer() -> APNsAnswer {
        if strikes(plan.serverError) { return APNsAnswer(status: 503, reason: nil) }
        if strikes(plan.tooManyRequests) {
            return APNsAnswer(status: 429, reason: .apns(.tooManyRequests))
        }
        if strikes(plan.unregistered) {
            return APNsAnswer(status: 410, reason: .apns(.unregistered))
        }
        if strikes(plan.badToken) {
            return APNsAnswer(status: 400, reason: .apns(.badDeviceToken))
        }
        if strikes(plan.tokenExpired) {
            return APNsAnswer(status: 403, reason: .apns(.expiredProviderToken))
        }
        return APNsAnswer(status: 200)
    }

    /// GOAWAY: the newer half of the open streams was not processed.
    private mutating func goAway(_ id: MemberID, _ connection: ConnectionID) {
        guard let state = members[id]?.connections[connection] else { return }
        members[id]?.connections[connection]?.isDraining = true
        members[id]?.engine.goAwayReceived(connection)
        let open = state.order.filter(state.streams.contains)
        for delivery in open.dropFirst(open.count / 2) {
            guard endStream(id, connection, delivery) else { continue }
            members[id]?.engine.streamBroke(delivery, .unprocessed, now: moment)
        }
        after(.seconds(2), .connectionEnded(id, connection))
    }

    private mutating func changeStreamLimit(_ id: MemberID, _ connection: ConnectionID) {
        guard members[id]?.connections[connection]?.isOpen == true else { return }
        let limit = Int.random(in: 1...50, using: &random)
        members[id]?.connections[connection]?.limit = limit
        members[id]?.engine.streamLimitChanged(connection, to: limit, now: moment)
    }

    mutating func endConnection(_ id: MemberID, _ connection: ConnectionID) {
        guard let state = members[id]?.connections.removeValue(forKey: connection) else { return }
        for delivery in state.order where state.streams.contains(delivery) {
            members[id]?.engine.streamBroke(delivery, .unknown, now: moment)
        }
        members[id]?.engine.connectionClosed(connection, now: moment)
    }

    /// - Returns: false when the stream is not open any more.
    mutating func endStream(
        _ id: MemberID,
        _ connection: ConnectionID,
        _ delivery: DeliveryID
    ) -> Bool {
        members[id]?.connections[connection]?.streams.remove(delivery) != nil
    }
}
