import APNsRules
import ConnectionPool
package import Credentials
package import Delivery
import EventCodec
package import HTTP2IO
import KafkaIO
package import Log
package import SystemIO
package import Telemetry
package import Vocabulary

/// Observes a shard: counts, writes its log, and publishes its state to other threads.
///
/// It changes only its own state, and decides nothing. It receives values: events, and the engine's
/// replies. It reads the engine's counts each turn, and its state ten times a second.
package struct ShardObserver {
    /// How often the shard's status is published to other threads.
    private static let statusInterval = Duration.milliseconds(100)
    /// How often all deliveries and partitions are inspected.
    private static let lookInterval = Duration.seconds(1)
    /// How long Kafka may take to return the group's offsets.
    private static let offsetPatience = Duration.seconds(10)

    private let log: Log
    private let metrics: ShardMetrics
    private let control: ShardControl
    /// The names of the credentials.
    private let credentials: [String]
    private let routes: [Route]
    private let topics: OutcomeTopics
    /// Nil: the log does not identify devices.
    private let fingerprintKey: FingerprintKey?
    private var faults = CurrentFaults()
    private var clockSkew = ClockSkew()
    /// By credential index, with a last entry for events without a credential.
    private var givenUp: [GivenUpShare]
    /// As last reported.
    private var blownFuses: Set<Route> = []
    /// Routes whose breaker is not closed, as last reported.
    private var shutBreakers: Set<Route> = []
    /// The engine's counts that are already in the metrics.
    private var counted = EngineCounts()
    /// Counts records and assignments, for the watchdog.
    private var progress: UInt64 = 0
    private var lastStatus = Instant(nanoseconds: .min)
    private var lastLook = Instant(nanoseconds: .min)
    /// The results of the last inspection.
    private var oldestArrival: Instant?
    private var oldestRecords: [Timestamp?] = []
    private let sourceCount: Int
    private var partitionStatuses: [ShardStatus.PartitionStatus] = []
    private var campaigns: [CampaignProgress] = []
    /// When a refusal by the tally topic was last logged; nil: it has accepted a record since.
    private var tallyRefusal: Instant?

    package init(
        _ settings: ShardSettings,
        control: ShardControl,
        metrics: ShardMetrics,
        log: Log
    ) {
        self.log = log
        self.metrics = metrics
        self.control = control
        credentials = settings.engine.credentials.map(\.name)
        sourceCount = settings.sources.count
        routes = Route.all(credentialCount: credentials.count)
        topics = settings.topics
        fingerprintKey = settings.fingerprintKey
        givenUp = Array(repeating: GivenUpShare(), count: credentials.count + 1)
    }

    // MARK: - The consumer

    package mutating func saw(_ news: KafkaNews, _ partitions: PartitionTable, now: Moment) {
        switch news {
        case .partitionsAssigned(let assigned):
            metrics.rebalances.add()
            progress &+= 1
            faults.kafkaWorked()
            faults.hasJoinedGroup = true
            faults.partitionsAssigned(assigned)
            log.info("partitions assigned", [.partition: partitions.names(assigned)])
        case .partitionsRevoked(let revoked, let lost):
            log.info(
                lost ? "partitions lost" : "partitions revoked",
                [.partition: partitions.names(revoked)]
            )
            if lost { faults.hasJoinedGroup = false }
        case .positionsFetched: faults.kafkaWorked()
        case .positionsUnknown(let unknown, let error):
            faults.kafkaFailed(error, at: now.instant)
            log.log(
                // An open transaction is expected to end.
                error.code == .unstableOffsetCommit ? .debug : .warning,
                "committed offsets could not be read",
                [
                    .partition: unknown.isEmpty ? nil : partitions.names(unknown),
                    .error: error.description,
                ]
            )
        case .metadataIgnored(let ignored):
            log.warning(
                "commit metadata ignored; events after the committed offset may be sent again",
                [
                    .partition: partitions.names([ignored.partition]),
                    .problem: "\(ignored.problem)",
                ]
            )
        case .commitFinished(let results): commitFinished(results, partitions, now)
        case .commitMetadataRefused(let limit): commitMetadataRefused(limit: limit)
        case .partitionUnreadable(let partition, let error):
            tell("partition cannot be read", of: partition, error, partitions, now)
        case .partitionDamaged(let partition, let error, let position):
            log.error(
                "damaged batch or gap in the log; rereading the partition from its last offset",
                [
                    .partition: partitions.names([partition]), .error: error.description,
                    .source: partitions.place(partition, position),
                ]
            )
        case .offsetLost(let partition, let lost): offsetLost(partition, lost, partitions)
        case .logUnknown(let partition, let error):
            tell("log offsets could not be fetched", of: partition, error, partitions, now)
        case .partitionUnplaced(let partition, let start):
            log.info(
                start == .end
                    ? "no committed offset; reading the partition from its end"
                    : "no committed offset; reading the partition from its beginning",
                [.partition: partitions.names([partition])]
            )
        case .partitionReplaced(let partition, let position):
            partitionReplaced(partition, position, partitions)
        case .partitionSilent(let partition, let position, let end, let restarts):
            log.error(
                restarts
                    ? "partition is no longer fetched; draining, then exiting with code 75 to be restarted"
                    : "partition is not fetched",
                [
                    .partition: partitions.names([partition]),
                    .source: partitions.place(partition, position),
                    .problem: "the log ends at \(end), and no fetch has seen that for a minute",
                ]
            )
        case .statistics(let text, let unsettled):
            control.statistics.put(consumer: text, unsettled: unsettled)
        case .failed(let error): kafkaFailed(error, now: now)
        case .logged(let line): kafkaLogged(line)
        }
    }

    private func partitionReplaced(
        _ partition: PartitionID,
        _ position: Offset?,
        _ partitions: PartitionTable
    ) {
        metrics.offsetsLost[.replaced].add()
        log.error(
            "topic was recreated; reading the partition from its beginning",
            [
                .partition: partitions.names([partition]),
                .source: partitions.place(partition, position),
            ]
        )
    }

    private func offsetLost(
        _ partition: PartitionID,
        _ lost: LostOffset,
        _ partitions: PartitionTable
    ) {
        let message: String
        switch lost.cause {
        case .none:
            return log.info(
                "missing offset is available again; reading continues there",
                [.source: partitions.place(partition, lost.offset)]
            )
        case .replaced: return partitionReplaced(partition, lost.offset, partitions)
        case .deleted:
            metrics.offsetsLost[.deleted].add()
            message =
                "events were deleted before they were read; reading continues after them"
        case .cut:
            metrics.offsetsLost[.cut].add()
            message =
                lost.start == .at(Offset(lost.log.upperBound))
                ? "the log ends before the next offset; reading continues at the log's end"
                : "the log ends before the next offset; reading the partition from its beginning"
        }
        log.error(
            message,
            [
                .partition: partitions.names([partition]),
                .source: partitions.place(partition, lost.offset),
                .problem: "the log has offsets \(lost.log.lowerBound) to \(lost.log.upperBound)",
            ]
        )
    }

    private mutating func commitFinished(
        _ results: [CommitResult],
        _ partitions: PartitionTable,
        _ now: Moment
    ) {
        for result in results {
            if let error = result.error {
                tell("offset not committed", of: result.partition, error, partitions, now)
            } else {
                faults.partitionTaken(result.partition)
            }
        }
        let failures = results.compactMap(\.error)
        metrics.commits[failures.isEmpty ? .ok : .failed].add()
        if failures.allSatisfy(\.isOfPartition) { faults.kafkaWorked() }
    }

    /// Reports an error of a single partition, once.
    private mutating func tell(
        _ message: String,
        of partition: PartitionID,
        _ error: KafkaError,
        _ partitions: PartitionTable,
        _ now: Moment
    ) {
        var isNews = true
        if error.isOfPartition {
            let name = "\(partitions[partition])"
            isNews = faults.partitionRefused(partition, named: name, error, at: now.instant)
        } else {
            faults.kafkaFailed(error, at: now.instant)
        }
        log.log(
            isNews ? .warning : .debug,
            message,
            [.partition: partitions.names([partition]), .error: error.description]
        )
    }

    package mutating func saw(_ record: ArrivedRecord) {
        progress &+= 1
        guard record.isTaken else { return }
        if let framing = record.framing {
            if let row = record.metricRow { metrics.countConsumed(framing, topic: row) }
        } else {
            metrics.tombstones.add()
        }
        if record.isRetry { metrics.returned.add() }
    }

    /// Each recipient counts as an event; the record already counts as one.
    package func saw(_ opened: OpenedRecord, as role: PartitionRole) {
        let more = opened.recipientCount - 1
        if let framing = opened.arrival.fanOut?.framing, let row = role.metricRow {
            metrics.countFurtherRecipients(more, framing, topic: row)
        }
        if opened.arrival.isRetry { metrics.returned.add(UInt64(more)) }
        metrics.recipients.add(UInt64(opened.recipientCount))
    }

    /// The broker accepts less metadata than the last commit had.
    private func commitMetadataRefused(limit: Int) {
        metrics.commitMetadataRefused.add()
        log.warning(
            "the broker accepts less commit metadata; a restart may send more events again",
            [.problem: "offset.metadata.max.bytes; at most \(limit) characters from now on"]
        )
    }

    private mutating func kafkaFailed(_ error: KafkaError, now: Moment) {
        faults.kafkaFailed(error, at: now.instant)
        log.warning("Kafka error", [.error: error.description])
    }

    /// Important problems also arrive as error events, so the library's log is only for details.
    private func kafkaLogged(_ line: KafkaLogLine) {
        log.log(
            // Not a warning for us: a property may apply to only one of the two clients.
            line.level <= 4 && line.facility != "CONFWARN" ? .info : .debug,
            "librdkafka log",
            [.problem: "\(line.facility): \(line.text)"]
        )
    }

    // MARK: - Written records

    package mutating func saw(
        _ news: consuming OutcomeNews,
        _ partitions: PartitionTable,
        now: Moment
    ) {
        switch consume news {
        case .written(let publication, let record):
            faults.recordTaken(publication)
            metrics.countRecord(publication, of: record?.conclusion)
            if let record { ended(record, partitions) }
        case .taken(let publication): faults.recordTaken(publication)
        case .transactionCallSucceeded(let committed):
            faults.kafkaWorked()
            if !committed.isEmpty {
                metrics.commits[.ok].add()
                faults.transactionCommitted()
            }
            for (written, record) in committed {
                faults.partitionTaken(record.arrival.record.partition)
                for publication in Publication.allCases
                where written.records.contains(publication) {
                    metrics.countRecord(publication, of: record.conclusion)
                }
                ended(record, partitions)
            }
        case .tallyTaken:
            metrics.campaignTallyRecords.add()
            if tallyRefusal != nil { tallyTaken() }
        case .tallyRefused(let error): tallyRefused(error, now: now)
        case .transactionFailed(let error, let limit, let isOfTally):
            if isOfTally { tallyRefused(error, now: now) }
            if let limit { commitMetadataRefused(limit: limit) }
            metrics.commits[.failed].add()
            transactionFailed(error)
        case .notTaken(let publication, let error):
            metrics.produceErrors[publication.label].add()
            notTaken(publication, error, now: now)
        case .batchRefused(let publication, let error):
            metrics.produceErrors[publication.label].add()
            log.warning(
                "Kafka refused a batch; retrying in smaller ones",
                [.error: "\(topics.name(of: publication)): \(error)"]
            )
        case .dropped(let publication, let error, let arrival, let record):
            metrics.produceErrors[publication.label].add()
            dropped(publication, of: arrival, partitions, because: error)
            if let record { ended(record, partitions) }
        case .producerFailed(let error, let isReplaced):
            log.error(
                isReplaced ? "producer failed; creating a new one" : "producer failed",
                [.error: error.description]
            )
            if isReplaced { faults.kafkaFailed(error, at: now.instant) }
        case .statistics(let text): control.statistics.put(producer: text)
        case .failed(let error): kafkaFailed(error, now: now)
        case .logged(let line):
            if let error = line.transactionError { transactionFailed(error) }
            kafkaLogged(line)
        }
    }

    private mutating func tallyTaken() {
        tallyRefusal = nil
        log.notice("campaign tally is written again")
    }

    /// The tally topic did not accept a record; this is logged once a minute.
    private mutating func tallyRefused(_ error: KafkaError, now: Moment) {
        metrics.produceErrors[.campaignTally].add()
        if let tallyRefusal, now.instant - tallyRefusal < .seconds(60) { return }
        tallyRefusal = now.instant
        log.warning(
            "campaign tally cannot be written; its sums are too small until it is",
            [.error: "\(topics.campaignTally?.name ?? "no topic"): \(error)"]
        )
    }

    private mutating func transactionFailed(_ error: KafkaError) {
        faults.transactionFailed(error)
        log.warning("transaction failed", [.error: error.description])
    }

    /// A record is not written, because too many deliveries wait for its topic, or a newer one is.
    package mutating func saw(_ record: DroppedRecord, _ partitions: PartitionTable) {
        if !record.isOutdated {
            dropped(record.tag.publication, of: record.record.arrival, partitions, because: nil)
        }
        ended(record.record, partitions)
    }

    /// A record is not written, and never will be.
    ///
    /// `error` is the topic's error; nil: too many deliveries wait for the topic.
    private mutating func dropped(
        _ publication: Publication,
        of arrival: Arrival?,
        _ partitions: PartitionTable,
        because error: KafkaError?
    ) {
        metrics.recordsDropped[publication.label].add()
        let cause =
            error.map { $0.isOfSize ? "too large for its topic" : "refused by its topic" }
            ?? "too many records wait for its topic"
        let consequence =
            publication == .retry ? "; the event is not retried" : "; only the outcome says so"
        let origin = arrival.map { $0.origin(readFrom: partitions[$0.record.partition]) }
        log.error(
            "\(publication) record dropped: \(cause)\(consequence)",
            [
                .error: error.map { "\(topics.name(of: publication)): \($0.text)" },
                .source: origin.map { "\($0.partition)@\($0.offset)" },
            ]
        )
    }

    /// Kafka rejected a record, which is produced again.
    private mutating func notTaken(_ publication: Publication, _ error: KafkaError, now: Moment) {
        let topic = topics.name(of: publication)
        let isNews = faults.recordRefused(publication, to: topic, error, at: now.instant)
        // A missing permission or topic is not expected to recover without action.
        let heals = ![.topicAuthorizationFailed, .unknownTopicOrPartition, .clientUnknownTopic]
            .contains(error.code)
        log.log(
            !isNews ? .debug : heals ? .warning : .error,
            "Kafka did not accept a record",
            [.error: "\(topic): \(error)"]
        )
    }

    /// Counts and logs how an event ended, once Kafka has all its records.
    private mutating func ended(_ record: PublishedRecord, _ partitions: PartitionTable) {
        guard record.isLast, case .ended(let ending) = record.conclusion else { return }
        let arrival = record.arrival
        metrics.count(ending.kind, reason: ending.reason, credential: arrival.route?.credential)
        countGivenUp(arrival, ending)
        // When a campaign is cancelled says nothing about the service.
        if ending.kind != .cancelled {
            let start = arrival.occurredAt ?? arrival.record.timestamp ?? arrival.firstReceivedAt
            metrics.endToEnd.record(
                milliseconds: ending.completedAt.latency(since: start),
                source: arrival.source,
                credential: arrival.route?.credential,
                arrival.isRetry ? .later : .first
            )
        }
        let isFault = ending.kind.isFault
        if log.isEnabled(isFault ? .info : .debug) {
            tell(ending, of: arrival, isFault: isFault, partitions)
        }
    }

    /// Logs how an event ended.
    ///
    /// Events that did not reach APNs, or that APNs refused, are logged at `info`, where
    /// repetitions are summarized; every outcome at `debug`. A dead token is not a fault, and
    /// neither is a duplicate.
    private mutating func tell(
        _ ending: Ending,
        of arrival: Arrival,
        isFault: Bool,
        _ partitions: PartitionTable
    ) {
        log.log(
            isFault ? .info : .debug,
            isFault ? "event not delivered" : "event concluded",
            facts(of: arrival.outcome(ending), arrival, partitions)
        )
    }

    /// Leaves out the payload, and violations, whose pointers can contain names from the payload.
    private func facts(
        of outcome: Outcome,
        _ arrival: Arrival,
        _ partitions: PartitionTable
    ) -> LogFacts {
        let subject = outcome.subject
        let origin = arrival.origin(readFrom: partitions[arrival.record.partition])
        return [
            .outcome: outcome.kind.rawValue,
            .attempts: "\(outcome.attempts)",
            .source: "\(origin.partition)@\(origin.offset)",
            .eventID: subject.eventID?.description,
            .apnsID: subject.apnsID?.description,
            .apnsTopic: subject.topic?.name,
            .environment: subject.environment?.rawValue,
            .credential: outcome.credential,
            .reason: outcome.reason?.text,
            .status: outcome.httpStatus.map { "\($0)" },
            .device: subject.deviceToken.flatMap { fingerprintKey?.fingerprint(of: $0) },
        ]
    }

    /// Counts an ended event for its credential, or for events without one.
    private mutating func countGivenUp(_ arrival: Arrival, _ ending: Ending) {
        let credential = arrival.route?.credential ?? givenUp.count - 1
        guard arrival.isGivenUp(ending) else {
            givenUp[credential].eventEnded()
            return
        }
        givenUp[credential].eventGivenUp(because: ending.reason)
        metrics.eventsGivenUp[credential].add()
    }

    // MARK: - APNs

    package func connecting() { metrics.connects.add() }

    /// APNs answered a request; `attempt`: the engine's judgment, nil if it expected no answer.
    package mutating func answered(
        _ response: HTTP2Response,
        _ answer: APNsAnswer,
        _ attempt: JudgedAttempt?,
        now: Moment
    ) {
        if answer.status == 410, answer.unregisteredAt == nil,
            APNsErrorBody(parsing: response.body).inactiveSince(now: now.timestamp) == .implausible
        {
            metrics.implausibleTimes.add()
        }
        guard let attempt else { return }
        if clockSkew.isLookDue(now: now.instant) { compareClocks(response, attempt.sentAt, now) }
        faults.requestAnswered(attempt.route)
        metrics.countResponse(
            status: answer.status,
            reason: answer.reason,
            route: attempt.route.index,
            nanoseconds: now.instant.nanoseconds - attempt.sentAt.nanoseconds
        )
        judge(answer, attempt, now.instant)
    }

    private mutating func compareClocks(
        _ response: HTTP2Response,
        _ sentAt: Instant,
        _ now: Moment
    ) {
        guard let date = response.text(of: "date").flatMap({ HTTPDate.timestamp($0) }) else {
            return
        }
        let isNews = clockSkew.observed(date: date, sentAt: sentAt, now: now)
        let seconds = Int((clockSkew.offset ?? .zero).components.seconds)
        metrics.clockSkewSeconds.set(seconds)
        guard isNews else { return }
        if clockSkew.isIntolerable {
            log.warning(
                "clock skew against APNs, which rejects tokens that are one hour off",
                [.seconds: "\(seconds)"]
            )
        } else {
            log.notice("clock skew against APNs is gone", [.seconds: "\(seconds)"])
        }
    }

    /// Records problems of the credential, for readiness and the log.
    private mutating func judge(_ answer: APNsAnswer, _ attempt: JudgedAttempt, _ now: Instant) {
        let route = attempt.route
        if attempt.verdict.fault == .server {
            let reason = answer.reason.map { " \($0.text)" } ?? ""
            faults.endpointFailed(route, "\(answer.status)\(reason)")
        }
        guard attempt.verdict.fault == .credential else {
            faults.credentialWorked(route)
            return
        }
        let reason = answer.reason?.text ?? "status \(answer.status)"
        guard faults.credentialFailed(route, reason, sentAt: attempt.sentAt, now: now) else {
            return
        }
        var facts = facts(route)
        facts[.reason] = reason
        tellRefusedCredential(facts)
    }

    /// Mentions a wrong clock first: it invalidates every token, and key and team may be fine.
    private func tellRefusedCredential(_ facts: LogFacts) {
        var facts = facts
        facts[.problem] = clockSkew.trouble
        log.error("APNs rejected the credential", facts)
    }

    /// A request ended without an answer; `route`: nil if the engine expected none.
    package mutating func streamBroke(_ kind: StreamBreak, _ route: Route?, now: Moment) {
        metrics.brokenStreams[BrokenStreamLabel(kind)].add()
        guard kind.isAnswerOfSorts, let route else { return }
        if let text = kind.complaint { faults.endpointFailed(route, text) }
        guard faults.requestUnserved(route, at: now.instant) else { return }
        var facts = facts(route)
        facts[.reason] = lastFailure(of: route)
        log.warning("APNs is not answering requests", facts)
    }

    /// A request was not answered in time; logged once until the next answer.
    ///
    /// `route`: nil if the connection has ended in the meantime.
    package mutating func requestTimedOut(on id: ConnectionID, _ route: Route?, now: Moment) {
        metrics.requestTimeouts.add()
        guard let route else { return }
        faults.endpointFailed(route, "no answer in time")
        _ = faults.requestUnserved(route, at: now.instant)
        guard faults.requestTimedOut(route) else { return }
        log.warning("APNs requests time out", facts(route, id))
    }

    package mutating func answerWasMalformed(
        _ id: ConnectionID,
        _ route: Route,
        _ flaw: ResponseFlaw
    ) {
        faults.endpointFailed(route, "malformed answer: \(flaw)")
        var facts = facts(route, id)
        facts[.error] = flaw.description
        log.warning("malformed APNs response, treated as no answer", facts)
    }

    /// `isCondemned`: the engine parks the credential because of it.
    package mutating func goAwayCame(
        _ id: ConnectionID,
        _ route: Route,
        _ farewell: Farewell,
        isCondemned: Bool,
        now: Moment
    ) {
        let reason = farewell.reason
        metrics.goAways[APNsReasonLabel(reason)].add()
        var facts = facts(route, id)
        facts[.reason] = reason?.text ?? "none"
        facts[.error] = farewell.description
        if isCondemned,
            faults.credentialFailed(
                route,
                reason?.text ?? "GOAWAY",
                sentAt: now.instant,
                now: now.instant
            )
        {
            tellRefusedCredential(facts)
        } else {
            log.log(farewell.isError ? .warning : .notice, "APNs closed a connection", facts)
        }
    }

    /// A connection ended or could not be made; `isCondemned`: the engine parks the credential for
    /// it.
    package mutating func connectionEnded(
        _ id: ConnectionID,
        _ route: Route,
        _ failure: ConnectionFailure,
        after farewell: Farewell?,
        isCondemned: Bool,
        now: Moment
    ) {
        if failure == .closedHere { return }
        metrics.connectionFailures.add()
        var facts = facts(route, id)
        facts[.error] = failure.description
        if isCondemned {
            guard
                faults.credentialFailed(
                    route,
                    failure.description,
                    sentAt: now.instant,
                    now: now.instant
                )
            else { return }
            facts[.reason] = LocalReason.certificateRefused.rawValue
            return tellRefusedCredential(facts)
        }
        if let farewell, case .goAway = failure {
            // The GOAWAY is in the log already.
            faults.connectionFailed(route, farewell.description)
            return
        }
        faults.connectionFailed(route, failure.description)
        log.warning("APNs connection failed", facts)
    }

    /// A connection answers PINGs but no requests, or allows none; another one replaces it.
    package func connectionStalled(_ id: ConnectionID, _ route: Route?) {
        metrics.stalls.add()
        guard let route else { return }
        log.warning(
            "APNs connection stalled; replacing it",
            facts(route, id)
        )
    }

    /// The credential uses another key or certificate.
    package mutating func credentialReplaced(_ credential: Int, now: Moment) {
        faults.credentialReplaced(credential, at: now.instant)
    }

    private func facts(_ route: Route, _ connection: ConnectionID? = nil) -> LogFacts {
        [
            .connection: connection.map { "\($0)" }, .credential: credentials[route.credential],
            .environment: route.environment.rawValue,
        ]
    }

    private func lastFailure(of route: Route) -> String {
        faults.failures[route] ?? "no connection"
    }

    // MARK: - The shard itself

    /// The input log ends before the shard does; `error`: nil if it is full.
    package func inputLogEnded(because error: SystemError?) {
        if let error {
            log.warning("input log stopped: it could not be written", [.error: error.text])
        } else {
            log.notice("input log stopped: it is full")
        }
    }

    /// Adds the turn's numbers to the metrics.
    ///
    /// The engine is `inout` only to avoid a copy; nothing in it is changed.
    package mutating func turnEnded(_ engine: inout DeliveryEngine) {
        let counts = engine.counts
        metrics.attempts.add(UInt64(counts.attempts - counted.attempts))
        if counts.retries != counted.retries {
            for (reason, count) in engine.retriesByReason {
                metrics.setRetriesHere(count, because: reason)
            }
        }
        metrics.retriesDenied.add(UInt64(counts.retriesDenied - counted.retriesDenied))
        metrics.madeRoom.add(UInt64(counts.madeRoom - counted.madeRoom))
        metrics.released.add(UInt64(counts.released - counted.released))
        metrics.skippedSettled.add(UInt64(counts.skippedSettled - counted.skippedSettled))
        counted = counts
        metrics.inFlightEvents.set(engine.inFlightEvents)
        metrics.waitingRecipients.set(engine.waitingRecipients)
        metrics.waitingForDue.set(engine.heldEvents)
        metrics.awaitingCampaign.set(engine.awaitingCampaignCount)
        metrics.inFlightBytes.set(engine.inFlightBytes)
        metrics.awaitingSchema.set(engine.awaitingSchemaCount)
        metrics.assignedPartitions.set(engine.assignedPartitions.count)
        metrics.accounting.set(
            Accounting(
                // Released records are counted by their next owner.
                consumed: Int64(counts.consumed - counts.released),
                terminal: Int64(counts.terminal + counts.tombstones),
                inFlight: Int64(engine.inFlightEvents + engine.waitingRecipients),
                deferred: Int64(counts.deferred)
            )
        )
    }

    package func isLookDue(now: Moment) -> Bool {
        lastStatus + Self.statusInterval <= now.instant
    }

    /// Inspects the engine, logs what has changed, and publishes the status to other threads.
    package mutating func look(
        at engine: inout DeliveryEngine,
        _ consumer: ConsumerStatus,
        now: Moment
    ) {
        lastStatus = now.instant
        watchTokenFuses(&engine)
        watchBreakers(&engine)
        watchGivenUp(now)
        if lastLook + Self.lookInterval <= now.instant {
            lastLook = now.instant
            oldestArrival = engine.oldestArrival
            metrics.droppedRecipients.set(engine.droppedRecipients)
            metrics.untalliedOutcomes.set(engine.untalliedOutcomes)
            campaigns = engine.campaignProgress
            oldestRecords = engine.oldestRecords(ofSources: sourceCount)
            partitionStatuses = engine.assignedPartitions.map { partition in
                ShardStatus.PartitionStatus(
                    name: consumer.partitions[partition],
                    isPaused: engine.isPaused(partition)
                )
            }
        }
        recordRoutes(&engine)
        show(&engine, consumer, now: now)
    }

    /// The problem while nothing is read because Kafka has not returned the group's offsets.
    ///
    /// Nil for a short wait, which is normal.
    private func missingOffsets(since start: Instant?, now: Instant) -> String? {
        guard let start, now - start >= Self.offsetPatience else { return nil }
        let seconds = (now - start).components.seconds
        return
            "Kafka has not returned the group's committed offsets for \(seconds) s; nothing is read until it does"
    }

    /// Publishes the shard's status to other threads.
    package mutating func show(
        _ engine: inout DeliveryEngine,
        _ consumer: ConsumerStatus,
        now: Moment
    ) {
        var status = ShardStatus()
        status.hasJoinedGroup = faults.hasJoinedGroup
        status.hasEnded = consumer.hasEnded
        status.kafkaTrouble =
            faults.kafka(now: now.instant) ?? consumer.trouble
            ?? missingOffsets(since: engine.offsetsMissingSince, now: now.instant)
        status.isTakingRecords = engine.isIntakeOpen && status.kafkaTrouble == nil
        status.oldestArrival = oldestArrival
        status.oldestRecords = oldestRecords
        status.partitions = partitionStatuses
        status.progress = progress
        status.campaigns = campaigns
        status.counts = ShardCounts(
            consumed: engine.counts.consumed,
            terminal: engine.counts.terminal,
            deferred: engine.counts.deferred,
            handedBack: engine.inFlightEvents + engine.waitingRecipients + engine.counts.released
        )
        for route in routes {
            guard engine.pool(of: route).isInUse else { continue }
            status.routes.append(
                ShardStatus.RouteStatus(
                    credential: credentials[route.credential],
                    environment: route.environment,
                    trouble: trouble(route, &engine, now),
                    isTokenFuseBlown: blownFuses.contains(route)
                )
            )
        }
        control.status = status
    }

    private func trouble(_ route: Route, _ engine: inout DeliveryEngine, _ now: Moment) -> String? {
        if let reason = engine.parking(of: route).reason {
            return "parked: \(reason.text)"
        }
        if let reason = faults.credential(of: route, now: now.instant) { return reason }
        let endpoint = "apns.endpoints.\(route.environment.rawValue)"
        guard engine.pool(of: route).usableConnections > 0 else {
            return "\(endpoint): \(faults.connections[route] ?? "connecting")"
        }
        if case .open = engine.breaker(of: route).phase {
            return "\(endpoint): too many failures, last: \(lastFailure(of: route))"
        }
        // Also reported if too few devices are affected to open the breaker.
        guard faults.isUnserved(route, now: now.instant) else { return nil }
        return "\(endpoint): answers no request, last: \(lastFailure(of: route))"
    }

    private func recordRoutes(_ engine: inout DeliveryEngine) {
        metrics.rateLimitedEvents.set(engine.rateLimitedCount)
        for credential in credentials.indices {
            let isWorking = Route.all(of: credential).allSatisfy {
                engine.parking(of: $0).isWorking
            }
            metrics.parkedCredentials[credential].set(isWorking ? 0 : 1)
        }
        for route in routes {
            let shown = metrics.routes[route.index]
            let pool = engine.pool(of: route)
            shown.setConnections { state in
                pool.connections.count { $0.phase.state == state }
            }
            shown.streams.set(pool.openStreams)
            shown.streamsLimit.set(pool.connections.reduce(0) { $0 + $1.streamLimit })
            shown.waiting.set(engine.waitingCount(of: route))
            shown.setBreaker(engine.breaker(of: route).phase.state)
        }
    }

    /// Logs breakers that opened or closed.
    private mutating func watchBreakers(_ engine: inout DeliveryEngine) {
        for route in routes {
            switch engine.breaker(of: route).phase {
            case .open where shutBreakers.insert(route).inserted:
                var facts = facts(route)
                facts[.reason] = lastFailure(of: route)
                log.warning("circuit breaker opened: APNs keeps failing", facts)
            case .closed where shutBreakers.remove(route) != nil:
                faults.endpointRecovered(route)
                log.notice("circuit breaker closed: APNs answers again", facts(route))
            case .open, .halfOpen, .closed: break
            }
        }
    }

    /// Logs fuses that blew or were reset, and records them for metrics and readiness.
    private mutating func watchTokenFuses(_ engine: inout DeliveryEngine) {
        var trips = 0
        for route in routes {
            guard let fuse = engine.tokenFuse(of: route) else { return }
            trips += fuse.trips
            metrics.routes[route.index].blownTokenFuse.set(fuse.isBlown ? 1 : 0)
            guard fuse.isBlown != blownFuses.contains(route) else { continue }
            if fuse.isBlown {
                blownFuses.insert(route)
                tellBlown(fuse, route)
            } else {
                blownFuses.remove(route)
                log.notice("token fuse reset", facts(route))
            }
        }
        metrics.tokenFuseTrips.add(UInt64(trips) - metrics.tokenFuseTrips.value)
    }

    private func tellBlown(_ fuse: TokenFuse, _ route: Route) {
        func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
        var facts = facts(route)
        facts[.problem] =
            "APNs rejects \(percent(fuse.share)) of the device tokens, usually "
            + "\(percent(fuse.baseline)); check host, credential and environment"
        log.error("token fuse blown; no token is removed", facts)
    }

    /// Logs when the share of valid events that are given up becomes large, or small again.
    private mutating func watchGivenUp(_ now: Moment) {
        for credential in givenUp.indices {
            guard givenUp[credential].timeAdvanced(now: now.instant) else { continue }
            let share = givenUp[credential]
            metrics.credentialsGivingUp[credential].set(share.isLarge ? 1 : 0)
            var facts: LogFacts = [
                .credential: credential < credentials.count ? credentials[credential] : "none"
            ]
            guard share.isLarge else {
                log.notice("share of given-up events is back to normal", facts)
                continue
            }
            facts[.reason] = share.lastReason?.text
            facts[.problem] = "\(share.givenUp) of the last \(share.ended) events"
            log.warning("valid events are given up", facts)
        }
    }
}

/// The consumer's state.
package struct ConsumerStatus: Sendable {
    package var partitions: PartitionTable
    /// The partitions that cannot be read although Kafka answers.
    package var stuck: [PartitionID]
    /// Whether the member has left the group, or the shard cannot continue.
    package var hasEnded: Bool

    package init(partitions: PartitionTable, stuck: [PartitionID] = [], hasEnded: Bool = false) {
        self.partitions = partitions
        self.stuck = stuck
        self.hasEnded = hasEnded
    }

    fileprivate var trouble: String? {
        stuck.isEmpty ? nil : "\(partitions.names(stuck)): cannot be read any further"
    }
}

extension PartitionTable {
    fileprivate func names(_ partitions: [PartitionID]) -> String {
        partitions.map { self[$0].description }.joined(separator: " ")
    }

    /// The partition's position, in the form that log lines use for records.
    fileprivate func place(_ partition: PartitionID, _ position: Offset?) -> String? {
        position.map { "\(names([partition]))@\($0.rawValue)" }
    }
}

extension OutcomeKind {
    /// Whether the event, the credential or the network needs fixing.
    fileprivate var isFault: Bool {
        switch self {
        case .rejected, .invalid, .undeliverable: true
        case .accepted, .unregistered, .expired, .suppressed, .duplicate, .cancelled: false
        }
    }
}

extension StreamBreak {
    /// The endpoint's failure as text; nil: there is none, or it was reported in more detail.
    fileprivate var complaint: String? {
        switch self {
        case .refused: "stream refused"
        case .reset: "stream reset"
        case .unprocessed, .malformed, .lost: nil
        }
    }
}
