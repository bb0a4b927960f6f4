import APNsRules
import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import Vocabulary

extension Shard {
    /// Tells the engine what was left of the last turn, and what has happened in the loop's wait.
    mutating func tellEngineOfAPNs() {
        for happening in happenings { tellEngine(of: happening) }
        happenings.removeAll(keepingCapacity: true)
    }

    /// Translates what the connections saw into the engine's inputs.
    ///
    /// All of it, however long that takes: an answer that has been read must be told before the
    /// turn's end looks at the time limits, or it would come too late for a delivery in hand.
    mutating func tellEngine(of happening: APNsConnections.Happening) {
        switch happening {
        case .opened(let id, let limit):
            engine.connectionOpened(id, maxConcurrentStreams: limit, now: now)
        case .streamLimitChanged(let id, let limit):
            engine.streamLimitChanged(id, to: limit, now: now)
        case .answered(let id, let response):
            let answer = APNsAnswer.read(response, now: now.timestamp)
            let attempt = engine.responseArrived(answer, for: id, now: now)
            observer.answered(response, answer, attempt, now: now)
        case .streamBroke(let id, let kind):
            observer.streamBroke(kind, engine.streamBroke(id, kind, now: now), now: now)
        case .malformedAnswer(let id, let route, let flaw):
            observer.answerWasMalformed(id, route, flaw)
        case .goAway(let id, let route, let farewell):
            let isCondemned = engine.goAwayReceived(id, reason: farewell.reason, now: now)
            observer.goAwayCame(id, route, farewell, isCondemned: isCondemned, now: now)
        case .pingAnswered(let id): engine.pingAnswered(id, now: now)
        case .closed(let id, let route, let failure, let farewell):
            let isCondemned = engine.connectionClosed(id, CloseCause(failure), now: now)
            observer.connectionEnded(
                id,
                route,
                failure,
                after: farewell,
                isCondemned: isCondemned,
                now: now
            )
        }
    }

    /// Takes over what was loaded anew; called between two turns.
    mutating func takeCredentials() {
        guard let newer = credentials.inUse(newerThan: &credentialsVersion) else { return }
        connections.endpoints = newer.flatMap(\.endpoints)
        requests.endpointsReplaced(connections.endpoints)
        for index in newer.indices where newer[index].generation != inUse[index].generation {
            engine.credentialReplaced(index, now: now)
            observer.credentialReplaced(index, now: now)
        }
        inUse = newer
    }
}

extension ConnectionFailure {
    /// Why the pool gave a connection up, in the log's words.
    init(_ reason: PoolMachine.CloseReason) {
        switch reason {
        case .connectTimedOut: self = .timedOut
        case .pingUnanswered: self = .pingUnanswered
        case .superseded: self = .closedHere
        }
    }
}

extension CloseCause {
    fileprivate init(_ failure: ConnectionFailure) {
        if case .tls(.certificateRefused) = failure {
            self = .certificateRefused
        } else {
            self = .other
        }
    }
}

extension APNsAnswer {
    /// Reads an answer: the status rules, the body only explains.
    ///
    /// No initialiser: it would make another module's and copy it.
    static func read(_ response: HTTP2Response, now: Timestamp) -> APNsAnswer {
        let apnsUniqueID = response.text(of: "apns-unique-id")
        guard response.status != 200 else {
            return APNsAnswer(status: 200, apnsUniqueID: apnsUniqueID)
        }
        let body = APNsErrorBody(parsing: response.body)
        var unregisteredAt: Timestamp?
        if response.status == 410 {
            if case .at(let time) = body.inactiveSince(now: now) { unregisteredAt = time }
        }
        return APNsAnswer(
            status: response.status,
            reason: body.reason,
            unregisteredAt: unregisteredAt,
            apnsUniqueID: apnsUniqueID,
            retryAfter: response.text(of: "retry-after").flatMap { RetryAfter.delay($0, now: now) }
        )
    }
}
