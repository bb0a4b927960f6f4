import HTTP2IO
import HTTP2Peer
import SystemIO
import Vocabulary

/// How the loop handles new connections and requests.
extension SimulatorLoop {
    func opened(_ connection: SimulatedConnection, _ now: Timestamp) {
        if let certificate = connection.wire.clientCertificateFacts {
            connection.facts = ConnectionFacts(
                environment: connection.door.environment,
                isForChannels: connection.door.isForChannels,
                certificate: certificate
            )
            judgeCertificate(certificate, of: connection, now)
            adjustStreamLimit(connection, now)
        }
        let elapsed = judge.elapsed(now)
        for rule in judge.scenario.connectionRules {
            if case .onOpening(let fault) = rule.effect,
                rule.holds(elapsed, connection.door.environment)
            {
                connection.suffer(fault)
            }
        }
        touch(connection)
    }

    /// A bad certificate ends the connection, or is answered with 403.
    private func judgeCertificate(
        _ certificate: CertificateFacts,
        of connection: SimulatedConnection,
        _ now: Timestamp
    ) {
        let isRevoked =
            !judge.scenario.revokedCertificates.isEmpty
            && judge.scenario.revokedCertificates.contains(
                SHA256.hexadecimal(of: connection.wire.clientCertificateDER ?? [])
            )
        let isCurrent = certificate.notBefore <= now && now <= certificate.notAfter
        let isForHere =
            connection.door.environment == .production
            ? certificate.isForProduction : certificate.isForSandbox
        // Test certificates without either extension are valid for both environments.
        let isForSome = certificate.isForProduction || certificate.isForSandbox
        let reason: APNsReason
        if isRevoked || !isCurrent {
            reason = .badCertificate
        } else if !isForHere, isForSome {
            reason = .badCertificateEnvironment
        } else {
            return
        }
        if judge.strictness.answersBadCertificates {
            connection.facts.certificateRefusal = reason
        } else if reason == .badCertificate {
            connection.suffer(.close)
        } else {
            connection.refuseCertificate(reason)
        }
    }

    func answer(
        _ connection: SimulatedConnection,
        _ streamID: Int32,
        _ headers: HeaderBlock,
        _ body: [UInt8],
        _ now: Timestamp
    ) {
        if isOverLimit(connection) {
            // APNs was observed to send "Maximum active streams violated".
            connection.endGracefully(
                errorCode: .refusedStream,
                debugData: Array("Maximum active streams violated for this endpoint.".utf8)
            )
        }
        guard connection.mayJudge(streamID) else { return }
        let head = RequestHead(headers)
        let judgment = judge.judge(
            head,
            of: headers,
            body: body,
            connection: &connection.facts,
            now: now
        )
        count(judgment.answer, head, headers)
        log?.append(
            head,
            headers.bytes,
            body,
            judgment.answer,
            connection.facts.environment,
            now: now
        )
        throttle(connection, judgment.answer)
        adjustStreamLimit(connection, now)
        let effect = effect(of: judgment.answer, head, headers, connection, now)
        let timing =
            timingLog == nil
            ? nil : RequestTiming(token: head.token(in: headers.bytes), readAt: readAt)
        if case .connection(.goAway(let goAway)) = judgment.answer, goAway.reach == .graceful {
            connection.carryOut(effect, streamID)
            let response = respond(200, head, headers, connection, now)
            answer(streamID, response, connection, judgment, timing)
        } else {
            answer(streamID, effect, connection, judgment, timing)
        }
    }

    private func answer(
        _ streamID: Int32,
        _ effect: Effect,
        _ connection: SimulatedConnection,
        _ judgment: Judgment,
        _ timing: RequestTiming?
    ) {
        guard judgment.delay > .zero else {
            return connection.carryOut(effect, streamID, timing)
        }
        delayedCount += 1
        delayed.insert(
            DelayedAnswer(
                due: SystemClock.now + judgment.delay,
                number: delayedCount,
                connection: connection.id,
                streamID: streamID,
                effect: effect,
                timing: timing
            )
        )
    }

    private func count(_ answer: Answer, _ head: RequestHead, _ headers: HeaderBlock) {
        statistics.count(answer)
        guard answer == .accepted, let range = head[.apnsID],
            let id = APNsID(utf8: headers.bytes[range].span)
        else { return }
        if !recentIDs.insert(id) { statistics.duplicates += 1 }
    }

    // MARK: Limits

    private func isOverLimit(_ connection: SimulatedConnection) -> Bool {
        judge.strictness.endsConnectionsOverLimit
            && connection.wire.openStreamCount > Int(connection.streamLimit)
    }

    private func throttle(_ connection: SimulatedConnection, _ answer: Answer) {
        let throttle = judge.scenario.throttle
        let before = connection.errorScore
        connection.errorScore = throttle.score(before, after: answer)
        if throttle.endsConnection(at: connection.errorScore),
            !throttle.endsConnection(at: before)
        {
            connection.endGracefully(debugData: [])
            statistics.throttledConnections += 1
        }
    }

    /// Announces the limit before the answer that changed it.
    private func adjustStreamLimit(_ connection: SimulatedConnection, _ now: Timestamp) {
        var limit = settings.unprovenStreams
        if connection.facts.isProven {
            limit = judge.scenario.throttle.streamLimit(
                settings.provenStreams,
                at: connection.errorScore
            )
        }
        if !judge.scenario.connectionRules.isEmpty {
            let elapsed = judge.elapsed(now)
            for rule in judge.scenario.connectionRules {
                if case .limitStreams(let most) = rule.effect,
                    rule.holds(elapsed, connection.door.environment)
                {
                    limit = min(limit, most)
                }
            }
        }
        guard limit != connection.streamLimit else { return }
        connection.limitStreams(limit)
        touch(connection)
    }

    // MARK: Answers

    private func respond(
        _ status: Int,
        _ head: RequestHead,
        _ headers: HeaderBlock,
        _ connection: SimulatedConnection,
        _ now: Timestamp,
        contentType: String? = nil,
        retryAfterSeconds: Int? = nil,
        echoesID: Bool = true,
        body: [UInt8] = []
    ) -> Effect {
        let block = writer.write(
            status: status,
            contentType: contentType,
            retryAfterSeconds: retryAfterSeconds,
            apnsID: echoesID ? head[.apnsID].map { headers.bytes[$0] } : nil,
            environment: connection.facts.environment,
            now: now
        )
        return .respond(block, body: body)
    }

    private func effect(
        of answer: Answer,
        _ head: RequestHead,
        _ headers: HeaderBlock,
        _ connection: SimulatedConnection,
        _ now: Timestamp
    ) -> Effect {
        switch answer {
        case .accepted: return respond(200, head, headers, connection, now)
        case .refused(let refusal):
            return respond(
                refusal.status,
                head,
                headers,
                connection,
                now,
                contentType: "application/json",
                retryAfterSeconds: refusal.retryAfterSeconds,
                echoesID: refusal.reason != .badMessageID,
                body: refusal.body
            )
        case .html(let status, let retryAfterSeconds):
            return respond(
                status,
                head,
                headers,
                connection,
                now,
                retryAfterSeconds: retryAfterSeconds,
                body: AnswerWriter.html
            )
        case .bare(let status, let retryAfterSeconds):
            return respond(
                status,
                head,
                headers,
                connection,
                now,
                retryAfterSeconds: retryAfterSeconds
            )
        case .reset(let code): return .reset(code)
        case .silence: return .nothing
        case .connection(let fault): return .connection(fault)
        case .channel(let answer):
            let requestID = head[.requestID].map { headers.bytes[$0] }
            let isEchoed = answer.reason != "BadMessageId"
            let block = writer.write(answer, requestID: isEchoed ? requestID : nil, now: now)
            return .respond(block, body: answer.body)
        }
    }

    func carryOutDelayed() {
        guard delayed.nextDue != nil else { return }
        let now = SystemClock.now
        while let answer = delayed.popDue(now) {
            guard let connection = connections[answer.connection] else { continue }
            connection.carryOut(answer.effect, answer.streamID, answer.timing)
            touch(connection)
        }
    }
}
