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

/// One thread with everything a record needs from arrival to commit: an event loop, a member of
/// the consumer group, a producer, the delivery engine and the connections to APNs.
///
/// The parts do not know each other. A part borrows the engine to give it an input, and its answer
/// is passed to the next part; this file defines the order.
///
/// The loop blocks only in `EventLoop.wait`, and nothing polls: librdkafka's queues, sockets and
/// other threads all wake it through descriptors. Each round is a *turn*:
///
/// 1. wait for a descriptor or the engine's next deadline;
/// 2. report to the engine what happened: answers, delivery reports, records;
/// 3. let it decide (`turnEnded`), and carry its decision out;
/// 4. send what the connections gathered.
///
/// Not copyable, and not an object: its thread passes it to each turn once, so nothing on a
/// record's way asks whether it may have the engine or the connections.
///
/// Methods with branches are `mutating` also where they change nothing: Swift 6.3 checks a borrowed
/// `self` of this size field by field at each branch, which took half of this module's compile time.
package struct Shard: ~Copyable {
    /// This often the loop turns even when nothing happens, and both Kafka clients are looked at
    /// whatever wakes it: that heals a wake-up that was lost, keeps the member within
    /// `max.poll.interval.ms`, and shows that the thread lives.
    private static let tick = Duration.seconds(1)

    /// One answer in this many names its topic.
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
    /// Nil: not wanted, or it is full.
    private var inputLog: InputLogFile?
    /// This turn's moment.
    private var now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
    private var nextTick = Instant(nanoseconds: .min)
    /// Of APNs, since the last one that was sampled.
    private var answerCount = 0
    private var loopFailure: ServiceError?

    /// Why it ended, if not because it was asked to.
    package var failure: ServiceError? { loopFailure ?? kafka.failure ?? outcomes.failure }

    /// Makes a shard that is to be run on `loop`; throws what keeps Kafka's clients from starting.
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
        // What throws comes before the parts: what cannot be copied must not be half made.
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

    /// Runs until the group is left, or something fatal happens.
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
        // Neither Kafka client is destroyed: rd_kafka_destroy can hang (2.0.2), and the process
        // ends anyway. All that was produced is acknowledged, all that could be is committed.
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

    // MARK: What happened

    /// Takes over credentials that have been reloaded, or revoked.
    private mutating func takeCredentials() {
        guard let changed = requests.takeCredentials() else { return }
        connections.endpointsReplaced(requests.endpoints)
        for credential in changed.revoked { engine.keyRevoked(credential, now: now) }
        for credential in changed.replaced {
            engine.credentialReplaced(credential, now: now)
            observer.credentialReplaced(credential, now: now)
        }
    }

    /// Reports to the engine what happened at APNs, and to the observer the engine's answer.
    ///
    /// All of it, however long that takes: an answer that has been read must be reported before the
    /// turn's end checks the time limits, or it would come too late for a delivery in flight.
    private mutating func tell(_ event: APNsEvent) {
        switch event {
        case .opened(let id, let limit):
            engine.connectionOpened(id, maxConcurrentStreams: limit, now: now)
        case .streamLimitChanged(let id, let limit):
            engine.streamLimitChanged(id, to: limit, now: now)
        case .answered(let id, let response):
            var answer = APNsAnswer.read(response, now: now.timestamp)
            // A sample of the 200s shows which topics work. A prime, for topics may take turns.
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
        for news in kafkaReport.news { observer.saw(news, partitions, now: now) }
        kafkaReport.removeAll()
    }

    private mutating func takeReports() {
        // Moved out and back in: what looks ahead must not look into the shard.
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

    // MARK: What is to be done

    private mutating func carryOutDecision() {
        // Moved out and back in: who carries out a part of it may use all of the shard.
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
        // Here, while the caches have what is released; the next turn's end would fetch it again.
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

    /// Before the decision is carried out: what ends the process is in the log, too.
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
