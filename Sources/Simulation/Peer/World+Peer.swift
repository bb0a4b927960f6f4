import APNsRules
import Delivery
import Vocabulary

/// APNs with faults: connections, and what happens to them.
extension World {
    mutating func peerHappened(_ happening: Happening) {
        switch happening {
        case .connectEnded(let id, let connection): connectEnded(id, connection)
        case .requestEnds(let key, let fate): requestEnds(key, fate)
        case .goAwaySent(let id, let connection):
            guard let member = member(id), let state = member.connections[connection] else {
                return
            }
            goAway(member, connection, reason: nil, processing: state.streams.count / 2)
        case .streamLimitChanged(let id, let connection): changeStreamLimit(id, connection)
        case .pingAnswered(let id, let connection):
            guard let member = member(id), let state = member.connections[connection],
                !isSilent(state)
            else { return }
            member.connections[connection]?.pingedAt = nil
            member.engine.pingAnswered(connection, now: moment)
            wake(member)
        case .connectionEnded(let id, let connection):
            guard let member = member(id) else { return }
            endConnection(connection, of: member)
        default: break
        }
    }

    // MARK: Connections

    mutating func connect(_ connection: ConnectionID, to route: Route, by member: Member) {
        member.connections[connection] = SimulatedConnection(route: route)
        after(latency(.connection, of: member) * 3, .connectEnded(member.id, connection))
    }

    private mutating func connectEnded(_ id: MemberID, _ connection: ConnectionID) {
        guard let member = member(id), let state = member.connections[connection] else { return }
        let environment = state.route.environment
        // Nothing answers, not even with a refusal: the engine's own timeout ends the attempt.
        guard !isSilent(environment) else { return }
        guard apns.refusing[environment, default: 0] == 0,
            !strikes(plan.chances.connectFails, .connection, of: member)
        else {
            coverage.note(.connectFailed)
            return endConnection(connection, of: member)
        }
        let credential = state.route.credential
        let hasCertificate = settings.credentials[credential].isProvenByHandshake
        guard !hasCertificate || apns.revoked[credential] == 0 else {
            coverage.note(.certificateRefused)
            return endConnection(connection, of: member, .certificateRefused)
        }
        coverage.note(.connectionOpened)
        member.connections[connection]?.isProven = hasCertificate
        let limit = dice[.connection, member].element([1, 2, 10, 100, 1000])
        member.connections[connection]?.isOpen = true
        member.connections[connection]?.limit = limit
        member.connections[connection]?.death = death(of: member)
        member.engine.connectionOpened(connection, maxConcurrentStreams: limit, now: moment)
        wake(member)
    }

    /// Whether and when a connection dies: at once, or some time later.
    private mutating func death(
        of member: Member
    ) -> (kind: SimulatedConnection.Death, at: Instant)? {
        guard strikes(plan.chances.connectionDies, .connection, of: member) else { return nil }
        let isSilent = dice[.connection, member].number(below: 2) == 0
        coverage.note(isSilent ? .connectionSilent : .connectionAnsweredPingsOnly)
        let isAtOnce = dice[.connection, member].number(below: 2) == 0
        let delay = isAtOnce ? .zero : dice[.connection, member].seconds(1...120)
        return (isSilent ? .silent : .answersPingsOnly, now + delay)
    }

    mutating func pinged(_ connection: ConnectionID, by member: Member) {
        if member.connections[connection]?.pingedAt == nil {
            member.connections[connection]?.pingedAt = now
        }
        guard let state = member.connections[connection], !isSilent(state),
            !strikes(plan.chances.silence, .ping, of: member)
        else { return }
        after(latency(.ping, of: member), .pingAnswered(member.id, connection))
    }

    /// Sends GOAWAY: of the open streams, only the oldest `count` are processed.
    mutating func goAway(
        _ member: Member,
        _ connection: ConnectionID,
        reason: APNsReason?,
        processing count: Int
    ) {
        guard let state = member.connections[connection], state.isOpen, !state.isDead(at: now)
        else { return }
        coverage.note(.goAway)
        member.connections[connection]?.isDraining = true
        member.engine.goAwayReceived(connection, reason: reason.map(Reason.apns), now: moment)
        for delivery in openStreams(of: state).dropFirst(count) {
            guard endStream(of: delivery, on: connection, by: member) else { continue }
            unprocessed(delivery, .unprocessed, by: member)
        }
        after(.seconds(2), .connectionEnded(member.id, connection))
        wake(member)
    }

    private mutating func changeStreamLimit(_ id: MemberID, _ connection: ConnectionID) {
        guard let member = member(id), let state = member.connections[connection], state.isOpen,
            !state.isDead(at: now)
        else { return }
        coverage.note(.streamLimitChanged)
        let limit = dice[.streamLimit, member].element([0, 1, 2, 10, 100])
        member.connections[connection]?.limit = limit
        member.engine.streamLimitChanged(connection, to: limit, now: moment)
        // A peer that allows no streams does so only for a while.
        if limit == 0 { after(.seconds(5), .connectionEnded(id, connection)) }
        wake(member)
    }

    func openStreams(of state: SimulatedConnection) -> [DeliveryID] {
        state.streams.sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    mutating func endConnection(
        _ connection: ConnectionID,
        of member: Member,
        _ cause: CloseCause = .other
    ) {
        guard let state = member.connections[connection] else { return }
        for delivery in openStreams(of: state) {
            _ = endStream(of: delivery, on: connection, by: member)
            noteProcessed(delivery, by: member)
            member.engine.streamBroke(delivery, .lost, now: moment)
        }
        member.connections[connection] = nil
        noteForBreaker(endOf: state, cause, by: member)
        member.engine.connectionClosed(connection, cause, now: moment)
        wake(member)
    }

    mutating func breakConnections(to environment: APNsEnvironment) {
        for member in members {
            for connection in member.connections.keys.sorted()
            where member.connections[connection]?.route.environment == environment {
                coverage.note(.connectionBroken)
                endConnection(connection, of: member)
            }
        }
    }

    private func isSilent(_ connection: SimulatedConnection) -> Bool {
        isSilent(connection.route.environment) || connection.isSilent(at: now)
    }

    func isSilent(_ environment: APNsEnvironment) -> Bool {
        apns.silent[environment, default: 0] > 0
    }

    /// - Returns: false if the stream is no longer open.
    mutating func endStream(
        of delivery: DeliveryID,
        on connection: ConnectionID,
        by member: Member
    ) -> Bool {
        guard let stream = member.connections[connection]?.streams.removeValue(forKey: delivery)
        else { return false }
        let device = events[Int(stream.event)].device
        member.streamsByDevice[device, default: 1] -= 1
        if member.streamsByDevice[device] == 0 { member.streamsByDevice[device] = nil }
        sayGoodbye(on: connection, by: member)
        return true
    }

    /// Sends GOAWAY after the last answer; then the peer closes.
    mutating func sayGoodbye(on connection: ConnectionID, by member: Member) {
        guard let state = member.connections[connection], state.isLeaving, state.streams.isEmpty
        else { return }
        after(.seconds(2), .connectionEnded(member.id, connection))
    }
}
