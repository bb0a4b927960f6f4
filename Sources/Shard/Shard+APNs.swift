import APNsRules
import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import Log
import Telemetry
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
        case .answered(let id, let response): answered(id, response)
        case .streamBroke(let id, let kind): streamBroke(id, kind)
        case .malformedAnswer(let id, let route, let flaw): answerWasMalformed(id, route, flaw)
        case .goAway(let id, let route, let farewell): goAway(id, route, farewell)
        case .pingAnswered(let id): engine.pingAnswered(id, now: now)
        case .closed(let id, let route, let failure, let farewell):
            closed(id, route, failure, after: farewell)
        }
    }

    private mutating func answered(_ id: DeliveryID, _ response: HTTP2Response) {
        let answer = APNsAnswer.read(response, now: now.timestamp, metrics)
        guard let attempt = engine.responseArrived(answer, for: id, now: now) else { return }
        if clockSkew.isLookDue(now: now.instant) { compareClocks(response, attempt.sentAt) }
        troubles.requestAnswered(attempt.route)
        metrics.countResponse(
            status: answer.status,
            reason: answer.reason,
            route: attempt.route.index,
            nanoseconds: now.instant.nanoseconds - attempt.sentAt.nanoseconds
        )
        judge(answer, attempt)
    }

    private mutating func streamBroke(_ id: DeliveryID, _ kind: StreamBreak) {
        metrics.brokenStreams[BrokenStreamLabel(kind)].add()
        let route = engine.streamBroke(id, kind, now: now)
        guard kind.isAnswerOfSorts, let route else { return }
        if let text = kind.complaint { troubles.endpointFailed(route, text) }
        guard troubles.requestUnserved(route, at: now.instant) else { return }
        var facts = facts(route)
        facts[.reason] = lastFailure(of: route)
        log.warning("APNs answers no request", facts)
    }

    private mutating func compareClocks(_ response: HTTP2Response, _ sentAt: Instant) {
        guard let date = response.text(of: "date").flatMap({ HTTPDate.timestamp($0) }) else {
            return
        }
        let isNews = clockSkew.observed(date: date, sentAt: sentAt, now: now)
        let seconds = Int((clockSkew.offset ?? .zero).components.seconds)
        metrics.clockSkewSeconds.set(seconds)
        guard isNews else { return }
        if clockSkew.isIntolerable {
            log.warning(
                "this machine's clock differs from APNs', which takes no token that is an hour off",
                [.seconds: "\(seconds)"]
            )
        } else {
            log.notice("this machine's clock agrees with APNs' again", [.seconds: "\(seconds)"])
        }
    }

    /// Keeps the credential's trouble for readiness and log.
    private mutating func judge(_ answer: APNsAnswer, _ attempt: JudgedAttempt) {
        let route = attempt.route
        if attempt.verdict.fault == .server {
            let reason = answer.reason.map { " \($0.text)" } ?? ""
            troubles.endpointFailed(route, "\(answer.status)\(reason)")
        }
        guard attempt.verdict.fault == .credential else {
            troubles.credentialWorked(route)
            return
        }
        let reason = answer.reason?.text ?? "status \(answer.status)"
        guard troubles.credentialFailed(route, reason, sentAt: attempt.sentAt) else { return }
        tellRefusedCredential(
            [
                .credential: credentialName(route), .environment: route.environment.rawValue,
                .reason: reason,
            ]
        )
    }

    /// A wrong clock spoils every token: it is named before anybody looks at key and team.
    private func tellRefusedCredential(_ facts: LogFacts) {
        var facts = facts
        facts[.problem] = clockSkew.trouble
        log.error("APNs refuses the credential", facts)
    }

    private mutating func answerWasMalformed(
        _ id: ConnectionID,
        _ route: Route,
        _ flaw: ResponseFlaw
    ) {
        troubles.endpointFailed(route, "malformed answer: \(flaw)")
        log.warning(
            "an answer of APNs is malformed, and counts as none",
            [
                .connection: "\(id)", .credential: credentialName(route),
                .environment: route.environment.rawValue, .error: flaw.description,
            ]
        )
    }

    private mutating func goAway(_ id: ConnectionID, _ route: Route, _ farewell: Farewell) {
        let reason = farewell.reason
        metrics.goAways[APNsReasonLabel(reason)].add()
        let isCondemned = engine.goAwayReceived(id, reason: reason, now: now)
        let facts: LogFacts = [
            .connection: "\(id)", .credential: credentialName(route),
            .environment: route.environment.rawValue, .reason: reason?.text ?? "none",
            .error: farewell.description,
        ]
        if isCondemned,
            troubles.credentialFailed(route, reason?.text ?? "GOAWAY", sentAt: now.instant)
        {
            tellRefusedCredential(facts)
        } else {
            log.log(farewell.isError ? .warning : .notice, "APNs closes a connection", facts)
        }
    }

    private mutating func closed(
        _ id: ConnectionID,
        _ route: Route,
        _ failure: ConnectionFailure,
        after farewell: Farewell?
    ) {
        let isCondemned = engine.connectionClosed(id, CloseCause(failure), now: now)
        if failure == .closedHere { return }
        metrics.connectionFailures.add()
        if isCondemned {
            guard troubles.credentialFailed(route, failure.description, sentAt: now.instant)
            else { return }
            return tellRefusedCredential(
                [
                    .connection: "\(id)", .credential: credentialName(route),
                    .environment: route.environment.rawValue,
                    .reason: LocalReason.certificateRefused.rawValue,
                    .error: failure.description,
                ]
            )
        }
        if let farewell, case .goAway = failure {
            // The log has it already.
            troubles.connectionFailed(route, farewell.description)
            return
        }
        troubles.connectionFailed(route, failure.description)
        log.warning(
            "connection to APNs lost or not made",
            [
                .connection: "\(id)", .credential: credentialName(route),
                .environment: route.environment.rawValue, .error: failure.description,
            ]
        )
    }

    /// A connection answers PINGs and no request, or allows none; another takes its place.
    func stalled(_ id: ConnectionID) {
        metrics.stalls.add()
        guard let route = connections.route(of: id) else { return }
        log.warning(
            "connection to APNs answers PINGs but no request, or allows none, and is replaced",
            [
                .connection: "\(id)", .credential: credentialName(route),
                .environment: route.environment.rawValue,
            ]
        )
    }

    /// A request was not answered in time; told of once, until the next answer.
    mutating func timedOut(on id: ConnectionID) {
        metrics.requestTimeouts.add()
        guard let route = connections.route(of: id) else { return }
        troubles.endpointFailed(route, "no answer in time")
        _ = troubles.requestUnserved(route, at: now.instant)
        guard troubles.requestTimedOut(route) else { return }
        log.warning(
            "APNs does not answer requests in time",
            [
                .connection: "\(id)", .credential: credentialName(route),
                .environment: route.environment.rawValue,
            ]
        )
    }

    /// Takes over what was loaded anew; called between two turns.
    mutating func takeCredentials() {
        guard let newer = credentials.inUse(newerThan: &credentialsVersion) else { return }
        connections.endpoints = newer.flatMap(\.endpoints)
        requests.endpointsReplaced(connections.endpoints)
        for index in newer.indices where newer[index].generation != inUse[index].generation {
            engine.credentialReplaced(index, now: now)
            troubles.credentialReplaced(index, at: now.instant)
        }
        inUse = newer
    }

    func credentialName(_ route: Route) -> String {
        settings.engine.credentials[route.credential].name
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

extension StreamBreak {
    /// What to say of the endpoint; nil: nothing, or more was said already.
    fileprivate var complaint: String? {
        switch self {
        case .refused: "stream refused"
        case .reset: "stream reset"
        case .unprocessed, .malformed, .lost: nil
        }
    }
}

extension BrokenStreamLabel {
    fileprivate init(_ kind: StreamBreak) {
        switch kind {
        case .refused: self = .refused
        case .reset: self = .reset
        case .malformed: self = .malformed
        case .unprocessed: self = .unprocessed
        case .lost: self = .lost
        }
    }
}

extension APNsAnswer {
    /// Reads an answer: the status rules, the body only explains.
    ///
    /// No initialiser: it would make another module's and copy it.
    static func read(
        _ response: HTTP2Response,
        now: Timestamp,
        _ metrics: ShardMetrics
    ) -> APNsAnswer {
        let apnsUniqueID = response.text(of: "apns-unique-id")
        guard response.status != 200 else {
            return APNsAnswer(status: 200, apnsUniqueID: apnsUniqueID)
        }
        let body = APNsErrorBody(parsing: response.body)
        var unregisteredAt: Timestamp?
        if response.status == 410 {
            switch body.inactiveSince(now: now) {
            case .untold: break
            case .at(let time): unregisteredAt = time
            case .implausible: metrics.implausibleTimes.add()
            }
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
