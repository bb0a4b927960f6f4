import Delivery
import Vocabulary

/// Requests: how they reach APNs, and how APNs answers them.
extension World {
    mutating func send(_ request: Send, by member: Member) {
        let (delivery, connection) = (request.delivery, request.connection)
        guard let facts = member.delivery(delivery),
            let event = event(of: facts.arrival),
            var state = member.connections[connection]
        else { return found(.streamLimitKept, "sent on a connection that is gone") }
        coverage.note(.requestSent)
        checkRequest(facts, event, on: state, by: member)
        checkRefusals(of: delivery, by: member)
        checkPace(of: delivery, facts, event, by: member)
        member.connections[connection]?.askedAt = state.askedAt ?? now
        state.streamCount += 1
        let number = state.streamCount
        member.connections[connection]?.streamCount = number
        member.connections[connection]?.streams[delivery] = .init(
            number: number,
            event: event,
            sentAt: now
        )
        member.streams[delivery, default: .init()].opened += 1
        if facts.arrival.recipient != nil {
            member.recipientsSent[Reading(facts.arrival)] = delivery
        }
        member.streamsByDevice[events[Int(event)].device, default: 0] += 1
        let key = StreamKey(
            member: member.id,
            connection: connection,
            stream: number,
            delivery: delivery,
            event: event
        )
        member.timeLimits.append((key, now + settings.requestTimeout))
        let environment = state.route.environment
        let isSlow = apns.slow[environment, default: 0] > 0
        let delay =
            isSlow
            ? dice[.answer, member].milliseconds(500...8000)
            : latency(.answer, of: member) + latency(.answer, of: member)
        after(delay, .requestEnds(key, fate(on: state.route, by: member)))
        trouble(connection, of: member, within: delay)
    }

    private mutating func trouble(
        _ connection: ConnectionID,
        of member: Member,
        within delay: Duration
    ) {
        let chances = plan.chances
        if strikes(chances.goAway, .trouble, of: member) {
            after(.zero, .goAwaySent(member.id, connection))
        }
        if strikes(chances.connectionBreaks, .trouble, of: member) {
            coverage.note(.connectionBroken)
            after(delay / 2, .connectionEnded(member.id, connection))
        }
        if strikes(chances.streamLimitChanges, .trouble, of: member) {
            after(.zero, .streamLimitChanged(member.id, connection))
        }
    }

    private mutating func fate(on route: Route, by member: Member) -> Fate {
        let chances = plan.chances
        if apns.refusingStreams[route.environment, default: 0] > 0 { return .refused }
        if apns.resetting[route.environment, default: 0] > 0 { return .answerLost }
        if member.tokenExpiries[route.credential] <= now {
            return plan.seed.isMultiple(of: 2) ? .sentAwayTokenExpired : .answeredTokenExpired
        }
        if strikes(chances.requestRefused, .fate, of: member) { return .refused }
        if strikes(chances.requestReset, .fate, of: member) { return .answerLost }
        if strikes(chances.silence, .fate, of: member) { return .silent }
        if strikes(chances.serverError, .fate, of: member) { return .answered503 }
        if strikes(chances.tooManyRequests, .fate, of: member) { return .answered429 }
        if strikes(chances.badToken, .fate, of: member) { return .answeredBadToken }
        if strikes(chances.shutdownAnswer, .fate, of: member) { return .answeredShutdown }
        return .answered
    }

    /// A request has reached APNs, and its stream ends.
    mutating func requestEnds(_ key: StreamKey, _ fate: Fate) {
        guard let member = member(key.member) else {
            // The process died, but its bytes were already on their way.
            return judged(key, fate, route: nil)
        }
        guard let state = member.connections[key.connection],
            state.streams[key.delivery]?.number == key.stream
        else { return }
        // APNs does not read or answer: the engine's own timeout ends the stream.
        guard !isSilent(state.route.environment), !state.isDead(at: now) else {
            return coverage.note(.streamSilent)
        }
        let answer = answer(to: key, fate, on: state.route)
        judged(key, fate, route: answer)
        switch fate {
        case .silent:
            coverage.note(.streamSilent)
            return
        case .sentAwayTokenExpired:
            goAway(member, key.connection, reason: .expiredProviderToken, processing: 0)
        case .refused, .answerLost:
            guard endStream(of: key.delivery, on: key.connection, by: member) else { return }
            let isRepeated = (member.streams[key.delivery]?.refusals ?? 0) > 0
            if let stream = state.streams[key.delivery], fate == .answerLost || isRepeated {
                noteForBreaker(stream, isFailure: true, on: state.route, by: member)
            }
            if fate == .refused {
                unprocessed(key.delivery, .refused, by: member)
            } else {
                coverage.note(.streamReset)
                noteProcessed(key.delivery, by: member)
                member.engine.streamBroke(key.delivery, .reset, now: moment)
            }
        case .answered, .answered503, .answered429, .answeredBadToken, .answeredShutdown,
            .answeredTokenExpired:
            guard endStream(of: key.delivery, on: key.connection, by: member) else { return }
            note(answer)
            noteProcessed(key.delivery, by: member)
            let isOwing = member.connections[key.connection]?.streams.isEmpty == false
            member.connections[key.connection]?.askedAt = isOwing ? now : nil
            if provesToken(answer) { member.connections[key.connection]?.isProven = true }
            // A server that shuts down says nothing about the endpoint.
            if let stream = state.streams[key.delivery], answer.reason != .apns(.shutdown) {
                let isFailure = answer.status != 200 && answer.reason == nil || answer.status >= 500
                noteForBreaker(stream, isFailure: isFailure, on: state.route, by: member)
            }
            let attempt = member.engine.responseArrived(answer, for: key.delivery, now: moment)
            if attempt?.revokesKey == true { keyRevoked(state.route.credential, by: member) }
            checkFuse(answer, to: key.delivery, on: state.route, by: member)
        }
        wake(member)
    }

    /// Notes the revocation for other members of the process that use the key.
    private mutating func keyRevoked(_ credential: Int, by member: Member) {
        for other in members where other !== member && other.tokens === member.tokens {
            let isInUse = other.engine.lend { engine in
                Route.all(of: credential).allSatisfy { engine.parking(of: $0).isWorking }
            }
            if isInUse { other.revokedAt[credential] = now }
            other.engine.keyRevoked(credential, now: moment)
            wake(other)
        }
    }

    /// Reports to the member that the peer certainly did not process the request.
    mutating func unprocessed(_ delivery: DeliveryID, _ kind: StreamBreak, by member: Member) {
        coverage.note(.unprocessed)
        noteUnprocessed(delivery, by: member)
        member.engine.streamBroke(delivery, kind, now: moment)
    }

    /// Notes whether APNs accepted the notification.
    private mutating func judged(_ key: StreamKey, _ fate: Fate, route answer: APNsAnswer?) {
        guard fate == .answered || fate == .answerLost || fate == .silent,
            (answer?.status ?? 200) == 200
        else { return }
        let event = Int(key.event)
        guard !apns.devices[Int(events[event].device)].isDead(at: now) else { return }
        coverage.note(events[event].pushes == 0 ? .accepted : .pushRepeated)
        if plan.isCalm, events[event].pushes > 0 {
            found(.rebalanceRepeatsNothing, "event \(event) was sent again")
        }
        events[event].pushes += 1
    }

    private mutating func answer(to key: StreamKey, _ fate: Fate, on route: Route) -> APNsAnswer {
        switch fate {
        case .answered503: return APNsAnswer(status: 503, reason: .apns(.serviceUnavailable))
        case .answered429: return APNsAnswer(status: 429, reason: .apns(.tooManyRequests))
        case .answeredBadToken:
            let isChannel = isBroadcast(events[Int(key.event)])
            let reason: APNsReason = isChannel ? .channelNotRegistered : .badDeviceToken
            return APNsAnswer(status: 400, reason: .apns(reason))
        case .answeredShutdown: return APNsAnswer(status: 503, reason: .apns(.shutdown))
        case .answeredTokenExpired:
            return APNsAnswer(status: 403, reason: .apns(.expiredProviderToken))
        case .answered, .answerLost, .silent, .refused, .sentAwayTokenExpired: break
        }
        let device = apns.devices[Int(events[Int(key.event)].device)]
        if apns.failing[route.environment, default: 0] > 0 { return page(to: key) }
        if apns.revoked[route.credential] > 0 {
            return APNsAnswer(status: 403, reason: .apns(.invalidProviderToken))
        }
        if areFaultsOn, device.isFailing {
            return APNsAnswer(status: 500, reason: .apns(.internalServerError))
        }
        if apns.condemning[route.environment, default: 0] > 0 {
            if device.channel != nil {
                return APNsAnswer(status: 400, reason: .apns(.channelNotRegistered))
            }
            // A wrong host does not know the token, or considers it dead.
            if plan.seed.isMultiple(of: 2) {
                return APNsAnswer(status: 400, reason: .apns(.badDeviceToken))
            }
            return unregistered(key, since: SimulatedAPNs.timestamp(now))
        }
        guard device.isDead(at: now), let diedAt = device.diesAt else {
            return APNsAnswer(status: 200)
        }
        return unregistered(key, since: SimulatedAPNs.timestamp(diedAt))
    }

    /// Whether the answer shows that APNs found the provider token valid.
    ///
    /// APNs checks it before it looks up the device or the channel.
    private func provesToken(_ answer: APNsAnswer) -> Bool {
        let reasons: [APNsReason] = [
            .badDeviceToken, .unregistered, .channelNotRegistered, .tooManyRequests,
        ]
        return answer.status == 200 || reasons.contains { answer.reason == .apns($0) }
    }

    /// The answer of a proxy: an HTML page with any status and no reason.
    private func page(to key: StreamKey) -> APNsAnswer {
        let statuses = [503, 403, 410, 404, 429]
        return APNsAnswer(status: statuses[Int(key.event) % statuses.count])
    }

    private mutating func unregistered(_ key: StreamKey, since: Timestamp) -> APNsAnswer {
        apns.declareDead(events[Int(key.event)].device, since: since)
        return APNsAnswer(status: 410, reason: .apns(.unregistered), unregisteredAt: since)
    }

    private mutating func note(_ answer: APNsAnswer) {
        switch answer.status {
        case 410: coverage.note(.answered410)
        case 403: coverage.note(.answered403)
        case 429: coverage.note(.answered429)
        case 500...: coverage.note(.answered5xx)
        default: break
        }
    }
}
