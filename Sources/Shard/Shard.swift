import APNsRules
import ConnectionPool
package import Credentials
import Delivery
import EventCodec
import HTTP2IO
import KafkaIO
package import Log
package import SystemIO
package import Telemetry
import Vocabulary

/// One thread with everything a record needs from arrival to commit.
///
/// It consists of an event loop, a consumer group member, a producer, the delivery engine and the
/// connections to APNs.
///
/// The parts do not know each other. Each part borrows the engine to pass it an input, and the
/// result goes to the next part; this file defines the order.
///
/// The loop blocks only in `EventLoop.wait`, and nothing polls: librdkafka's queues, sockets and
/// other threads wake it through descriptors. Each iteration is a *turn*:
///
/// 1. wait for a descriptor or the engine's next deadline;
/// 2. tell the engine what happened: answers, delivery reports, records;
/// 3. let it decide (`turnEnded`), and carry out its decision;
/// 4. send what the connections have to send.
///
/// Noncopyable and not a class: its thread passes it to each turn once, so no exclusivity checks
/// for the engine or the connections are needed on a record's path.
///
/// Methods with branches are `mutating` even if they change nothing: Swift 6.3 checks a borrowed
/// `self` of this size field by field at each branch, which took half of this module's compile
/// time.
package struct Shard: ~Copyable {
    /// The loop turns at least this often, and then checks both Kafka clients.
    ///
    /// This recovers from a lost wake-up, keeps the member within `max.poll.interval.ms`, and shows
    /// that the thread is alive.
    private static let tick = Duration.seconds(1)

    /// One in this many answers is reported with its topic.
    private static let sampled = 17

    private let settings: ShardSettings
    private let control: ShardControl
    private var engine: DeliveryEngine
    private var kafka: KafkaSide
    private let connections: APNsConnections
    private var requests: APNsRequests
    private var outcomes: OutcomeProducer
    private var observer: ShardObserver
    private var decision = TurnDecision()
    private var kafkaReport = KafkaReport()
    /// The orders for campaigns, as far as the process knows; nil: it follows none.
    private var campaigns: CampaignsInForce?
    /// Nil: not configured, or full.
    private var inputLog: InputLogFile?
    /// This turn's moment.
    private var now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
    private var nextTick = Instant(nanoseconds: .min)
    /// Answers from APNs since the last sampled one.
    private var answerCount = 0
    private var loopFailure: ServiceError?

    /// Why it ended; nil: it was asked to.
    package var failure: ServiceError? { loopFailure ?? kafka.failure ?? outcomes.failure }

    /// Makes a shard that runs on `loop`; throws if a Kafka client cannot start.
    package init(
        on loop: borrowing EventLoop,
        index: Int,
        settings: ShardSettings,
        control: ShardControl,
        metrics: ShardMetrics,
        credentials: Credentials,
        schemas: ShardSchemas,
        log: Log
    ) throws {
        let requests = APNsRequests(credentials)
        // Everything that throws comes first: a noncopyable value must not be half initialized.
        let clients = try ShardClients(
            on: loop,
            shard: index,
            settings: settings,
            control: control,
            endpoints: requests.endpoints
        )
        if let folder = settings.inputLog?.folder {
            do throws(SystemError) {
                inputLog = try InputLogFile(in: folder, shard: index, now: SystemClock.wallClock)
            } catch {
                throw ServiceError(
                    text: "log.inputs_folder: cannot create a file in '\(folder)': \(error.text)"
                )
            }
        }
        self.settings = settings
        self.control = control
        observer = ShardObserver(settings, control: control, metrics: metrics, log: log)
        kafka = KafkaSide(
            settings,
            clients.consumer,
            wakeup: clients.consumerWakeup,
            control: control,
            schemas: schemas
        )
        outcomes = OutcomeProducer(
            settings,
            shard: index,
            clients.producer,
            wakeup: clients.producerWakeup,
            workerWakeup: clients.transactionsWakeup
        )
        connections = clients.connections
        self.requests = requests
        engine = DeliveryEngine(
            settings: settings.engine,
            seed: settings.seed,
            loggingFor: settings.inputLog?.version
        )
    }

    // MARK: The loop

    /// Runs until the member has left the group, or a fatal error occurs.
    package mutating func run(on loop: borrowing EventLoop) {
        do {
            try kafka.subscribe(to: settings.sources + settings.topics.retry.topics)
            while !kafka.hasClosed, failure == nil, !kafka.isCloseOverdue(now: now.instant) {
                try turn(loop)
            }
        } catch {
            loopFailure = ServiceError(text: "\(error)")
        }
        connections.closeAll(loop)
        outcomes.stop()
        // The Kafka clients are not destroyed: rd_kafka_destroy can hang (2.0.2), and the process
        // ends anyway. All produced records are acknowledged, and everything that could be is
        // committed.
        observer.show(&engine, consumerStatus, now: now)
        control.status.hasEnded = true
    }

    private mutating func turn(_ loop: borrowing EventLoop) throws(SystemError) {
        let budget = engine.intakeBudget(now: now.instant)
        let isBusy =
            (kafka.isBusy && budget > 0) || outcomes.isBusy || connections.isBusy
            || engine.hasToDecode
        try loop.wait(until: isBusy ? now.instant : nextDeadline()) { id, readiness in
            switch id {
            case ShardClients.LoopID.control: control.wakeup.drain()
            case ShardClients.LoopID.consumer: kafka.rang()
            case ShardClients.LoopID.producer: outcomes.rang()
            case ShardClients.LoopID.transactions: outcomes.workerRang()
            case ShardClients.LoopID.resolver: connections.takeResolutions(loop)
            default: connections.readinessChanged(loopID: id, readiness)
            }
        }
        now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        if now.instant >= nextTick {
            nextTick = now.instant + Self.tick
            kafka.lookAgain()
            outcomes.lookAgain()
        }
        control.beat(now.instant)
        if control.isShutdownRequested { engine.shutdownRequested(now: now) }
        takeCredentials()
        if let campaigns = control.takeCampaigns() {
            self.campaigns = campaigns
            obeyCampaigns()
        }
        connections.timeAdvanced(loop, now: now.instant)
        connections.tellUntold { tell($0) }
        connections.flush(
            loop,
            lookingAhead: { events in engine.lookAhead { events.delivery(ahead: $0) } }
        ) { tell($0) }
        takeReports()
        hear(outcomes.takeTransactionAnswer(&engine, now: now))
        kafka.takeSchemas(&engine, now: now)
        takeRecords(budget: budget)
        kafka.takeRecipients(&engine, now: now)
        kafka.timeAdvanced(now: now.instant)
        outcomes.timeAdvanced(&engine, now: now)
        for token in engine.doubtfulTokens(now: now.instant) {
            let deadSince = settings.suppressedTokens[token]
            engine.tokenHeard(token, deadSince: deadSince, now: now.instant)
        }
        engine.turnEnded(now: now, into: &decision)
        writeInputLog()
        carryOutDecision()
        connections.flush(loop)
        observer.turnEnded(&engine)
        if observer.isLookDue(now: now) { observer.look(at: &engine, consumerStatus, now: now) }
    }

    private var consumerStatus: ConsumerStatus {
        ConsumerStatus(
            partitions: kafka.partitions,
            stuck: kafka.stuckPartitions,
            hasEnded: kafka.hasClosed || failure != nil
        )
    }

    private mutating func nextDeadline() -> Instant {
        let others = [
            engine.nextDeadline(now: now.instant), connections.nextAttemptAt(now: now.instant),
            kafka.nextDeadline, outcomes.nextDeadline,
        ]
        return others.reduce(nextTick) { min($0, $1 ?? $0) }
    }

    // MARK: Events

    /// Adopts credentials that were reloaded or revoked.
    private mutating func takeCredentials() {
        guard let changed = requests.takeCredentials() else { return }
        connections.endpointsReplaced(requests.endpoints)
        for credential in changed.revoked { engine.keyRevoked(credential, now: now) }
        for credential in changed.replaced {
            engine.credentialReplaced(credential, now: now)
            observer.credentialReplaced(credential, now: now)
        }
    }

    /// Reports an event at APNs to the engine, and the engine's answer to the observer.
    ///
    /// All events are reported, however long that takes: an answer that was read must be reported
    /// before the end of the turn checks timeouts, or its request would count as timed out.
    private mutating func tell(_ event: APNsEvent) {
        switch event {
        case .opened(let id, let limit):
            engine.connectionOpened(id, maxConcurrentStreams: limit, now: now)
        case .streamLimitChanged(let id, let limit):
            engine.streamLimitChanged(id, to: limit, now: now)
        case .answered(let id, let response):
            var answer = APNsAnswer.read(response, now: now.timestamp)
            // Samples of the 200s show which topics work. The interval is prime, because topics may
            // alternate.
            answerCount = answerCount == Self.sampled ? 1 : answerCount + 1
            if answer.status == 200 ? answerCount == Self.sampled : answer.refusesTopic {
                answer.topic = engine.topic(of: id)
            }
            let attempt = engine.responseArrived(answer, for: id, now: now)
            observer.answered(response, answer, attempt, now: now)
            if let attempt, attempt.revokesKey { requests.keyRevoked(attempt.route.credential) }
        case .streamBroke(let id, let kind):
            observer.streamBroke(kind, engine.streamBroke(id, kind, now: now), now: now)
        case .malformedAnswer(let id, let route, let flaw):
            observer.answerWasMalformed(id, route, flaw)
        case .goAway(let id, let route, let farewell):
            let isCondemned = engine.goAwayReceived(id, reason: farewell.reason, now: now)
            observer.goAwayCame(id, route, farewell, isCondemned: isCondemned, now: now)
            if isCondemned, farewell.reason == .keyRevoked { requests.keyRevoked(route.credential) }
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

    private mutating func takeRecords(budget: Int) {
        kafka.takeEvents(budget: budget, &engine, now: now, &kafkaReport)
        for record in kafkaReport.records { observer.saw(record) }
        let partitions = kafka.partitions
        for news in kafkaReport.news {
            observer.saw(news, partitions, now: now)
            // A pace is shared by partitions.
            if case .partitionsAssigned = news { obeyCampaigns() }
        }
        kafkaReport.removeAll()
    }

    private mutating func obeyCampaigns() {
        guard let campaigns else { return }
        let share = campaigns.share(owning: engine.assignedPartitions.count)
        engine.campaignsOrdered(campaigns.orders, share: share, now: now)
    }

    private mutating func takeReports() {
        // Moved out and back in: the look-ahead must not access the shard.
        let events = outcomes.takeEvents()
        let partitions = kafka.partitions
        for index in events.indices {
            engine.lookAhead { events.delivery(at: index + $0.distance) }
            if let news = outcomes.happened(events[index], &engine, now: now) {
                observer.saw(news, partitions, now: now)
            }
        }
        outcomes.done(with: events)
        for news in outcomes.publishRefused(partitions, &engine, now: now) { hear(news) }
    }

    private mutating func hear(_ news: OutcomeNews?) {
        if let news { observer.saw(news, kafka.partitions, now: now) }
    }

    // MARK: Carrying out decisions

    private mutating func carryOutDecision() {
        // Moved out and back in: carrying out a step may use the whole shard.
        var decision = TurnDecision()
        swap(&decision, &self.decision)
        for refresh in decision.tokenRefreshes {
            requests.tokenExpired(refresh, now: now)
        }
        for cancel in decision.cancels {
            let route = connections.route(of: cancel.connection)
            observer.requestTimedOut(on: cancel.connection, route, now: now)
            connections.cancel(cancel.delivery, on: cancel.connection)
        }
        for index in decision.sends.indices {
            decision.sends.lookAhead(from: index)
            send(decision.sends[index])
        }
        // Release them now, while they are in the CPU's caches; the next turn's end would fetch
        // them again.
        decision.sends.removeAll(keepingCapacity: true)
        for step in decision.connections {
            switch step {
            case .connect: observer.connecting()
            case .drainStalled(let id):
                observer.connectionStalled(id, connections.route(of: id))
            case .ping, .drain, .close: break
            }
            connections.carryOut(step)
        }
        for word in decision.tokenWords {
            if let deadSince = word.deadSince {
                settings.suppressedTokens.insert(word.token, since: deadSince)
            } else {
                settings.suppressedTokens.remove(word.token)
            }
        }
        for schema in decision.schemaFetches { kafka.fetch(schema) }
        for record in decision.opened {
            observer.saw(record, as: kafka.role(of: record.arrival.record.partition))
        }
        decision.opened.removeAll(keepingCapacity: true)
        for record in decision.tallies {
            let source = kafka.name(of: record.partition)
            hear(outcomes.publish(record, source: source, &engine, now: now))
        }
        for step in decision.transactions {
            var offsets: TransactionOffsets?
            if case .commit(let commits) = step, !commits.isEmpty {
                offsets = kafka.transactionOffsets(commits)
            }
            hear(outcomes.carryOut(step, offsets: offsets, &engine, now: now))
        }
        for index in decision.publications.indices {
            decision.publications.lookAhead(from: index)
            let record = decision.publications[index]
            let source = kafka.name(of: record.arrival.record.partition)
            hear(outcomes.publish(record, source: source, &engine, now: now))
        }
        decision.publications.removeAll(keepingCapacity: true)
        for record in decision.dropped {
            outcomes.ended(record.tag, record.record)
            observer.saw(record, kafka.partitions)
        }
        decision.dropped.removeAll(keepingCapacity: true)
        for step in decision.group { kafka.carryOut(step, now: now.instant) }
        switch decision.stop {
        case .transactionsEnded(let reason): outcomes.transactionsEnded(because: reason)
        case .offsetsUnknown:
            loopFailure = ServiceError(
                text: "Kafka: the group's committed offsets could not be read for 30 minutes"
            )
        case nil: break
        }
        swap(&decision, &self.decision)
    }

    /// Writes the log before the decision is carried out, so that it includes what ends the
    /// process.
    private mutating func writeInputLog() {
        guard inputLog != nil else { return }
        let blocks = engine.takeLog()
        do throws(SystemError) {
            if try inputLog?.append(blocks) == true { return }
            observer.inputLogEnded(because: nil)
        } catch {
            observer.inputLogEnded(because: error)
        }
        inputLog = nil
        engine.endLog()
    }

    private mutating func send(_ request: Send) {
        requests.write(request, now: now)
        connections.send(
            request.delivery,
            requests.headers.block,
            body: request.arrival.eventBytes,
            range: request.arrival.content.payload,
            on: request.connection
        )
    }
}
