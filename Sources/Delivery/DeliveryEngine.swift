public import APNsRules
public import ConnectionPool
public import Vocabulary

/// One shard's records between arrival and committed offset.
///
/// Pure: it reads no clock, draws random numbers only from its seeded generator, and does not log,
/// lock or wait. The shard calls it in turns:
///
/// 1. inputs, in the past tense, for everything that happened (`recordArrived`,
///    `responseArrived`, `published`, …): they note facts and decide single deliveries;
/// 2. `turnEnded(now:into:)`: time passes, streams open, offsets are committed; everything to do
///    is returned as one `TurnDecision`;
/// 3. queries: `intakeBudget`, `nextDeadline`.
///
/// The engine has no policy of its own. It keeps the table of deliveries, asks the one of eight
/// owners that is responsible for a question, and carries out the decision. Owners keep their state
/// private and do not know each other:
///
/// - `Assignment`: which partitions the shard owns, what is settled in them, when that is committed
/// - `Intake`: how much may enter, and which records arrived too early
/// - `Hygiene`: which events must not be sent
/// - `Dispatch`: from a device's line to a stream
/// - `Retry`: what follows a failed attempt
/// - `Campaigns`: which events wait until their campaign may send, or are not sent at all
/// - `CampaignTally`: the number of events of each campaign by outcome, and when that is written
/// - `Publishing`: the records that report how deliveries ended
public struct DeliveryEngine: Sendable {
    private let settings: EngineSettings
    private var random: SeededGenerator
    private var deliveries = DeliveryTable()
    private var assignment: Assignment
    private var intake: Intake
    private var hygiene: Hygiene
    private var dispatch: Dispatch
    private var retry: Retry
    private var campaigns = Campaigns()
    /// Where recipients wait for their campaign that must go to a retry topic instead.
    private var overflow: Set<RecipientQueue> = []
    /// Where recipients wait that have had to wait for their campaign.
    private var stopped: Set<RecipientQueue> = []
    private var tally: CampaignTally
    /// A commit that waits for the tally; nil: none does.
    private var heldCommit: HeldCommit?
    private var publishing: Publishing
    public private(set) var counts = EngineCounts()
    /// `counts.retries` by the failed attempt's reason; unknown reasons of APNs count as one.
    public private(set) var retriesByReason: [Reason: Int] = [:]
    /// What to do at the end of this turn.
    private var decision = TurnDecision()
    /// Nil: inputs are not logged.
    private var log: InputLog?

    /// Makes an engine with nothing in flight.
    ///
    /// - Parameters:
    ///   - settings: What the configuration decides.
    ///   - seed: The seed of its random numbers.
    ///   - version: The program's version, if the inputs are to be logged; see `takeLog`.
    public init(settings: EngineSettings, seed: UInt64, loggingFor version: String? = nil) {
        self.settings = settings
        log = version.map { InputLog(version: $0, settings: settings, seed: seed) }
        random = SeededGenerator(seed: seed)
        assignment = Assignment(
            timing: Assignment.Timing(
                commitInterval: settings.commitInterval,
                drainTimeout: settings.drainTimeout,
                revokeDrainTimeout: settings.revokeDrainTimeout,
                finalCommitTimeout: settings.finalCommitTimeout,
                // After a transaction, only Kafka knows whether its last offsets were committed.
                reuseWithin: settings.isTransactional ? .zero : .seconds(600)
            ),
            start: settings.start,
            offsetLost: settings.offsetLost,
            isTransactional: settings.isTransactional,
            nonce: UInt32(truncatingIfNeeded: random.next())
        )
        intake = Intake(settings)
        hygiene = Hygiene(
            settings.hygiene,
            routeCount: Route.all(credentialCount: settings.credentials.count).count
        )
        dispatch = Dispatch(settings)
        retry = Retry(settings)
        tally = CampaignTally(
            isWritten: settings.writesCampaignTally,
            isTransactional: settings.isTransactional,
            seed: seed
        )
        publishing = Publishing(settings)
    }

    // MARK: - Inputs: records

    /// A record arrived from Kafka.
    @discardableResult
    public mutating func recordArrived(_ arrival: Arrival) -> ArrivalReply {
        log?.note(.recordArrived) { $0.write(arrival.facts) }
        let now = arrival.facts.receivedAt
        let wait = intake.timeToHold(arrival, now: now.timestamp)
        let isTaken = recordArrived(arrival, waiting: wait, now: now)
        return ArrivalReply(
            isTaken: isTaken,
            isEarly: wait != nil,
            hasRoom: intake.byteBudget > 0
        )
    }

    /// - Returns: whether this shard must deliver the record.
    private mutating func recordArrived(
        _ arrival: Arrival,
        waiting wait: Duration?,
        now: Moment
    ) -> Bool {
        let entry: OffsetLedger.Entry
        switch assignment.recordArrived(
            arrival.facts.partition,
            arrival.facts.offset,
            fingerprint: arrival.facts.fingerprint
        ) {
        case .taken(let place): entry = place
        case .known:
            counts.skippedSettled += 1
            return false
        case .repeated, nil:
            return false
        }
        counts.consumed += 1
        guard arrival.facts.kind != .tombstone else {
            counts.tombstones += 1
            assignment.settle(arrival.facts.partition, entry)
            return true
        }
        if let names = arrival.facts.names {
            hygiene.prefetch(names)
            dispatch.prefetchLine(of: names.target)
        }
        intake.entered(arrival)
        let id = deliveries.insert(arrival, entry)
        if let wait, arrival.facts.kind != .invalid {
            move(id, to: .held)
            intake.held(id, arrival, for: wait, now: now.instant)
        } else {
            begin(id, now: now)
        }
        return true
    }

    /// The recipient of a record in hand to read next, and to pass to `recipientArrived`.
    ///
    /// Nil: none waits, or they must wait until places come free. One at a time, because reading
    /// all of a record may take too long for one turn.
    public mutating func nextRecipient(now: Instant) -> NextRecipient? {
        log?.note(.nextRecipientAsked) { $0.write(now) }
        while let (queue, next) = intake.nextRecipient() {
            guard assignment.isCurrent(next.arrival.facts.partition, next.entry) else {
                closeStaleFanOuts()
                return nil
            }
            if hasRoom(in: queue, now: now) { return next }
            intake.setRecipientQueueAside()
        }
        return nil
    }

    /// A recipient was read.
    public mutating func recipientArrived(
        _ next: NextRecipient,
        _ arrival: Arrival,
        now: Moment
    ) {
        log?.note(.recipientArrived) {
            $0.write(arrival.facts)
            $0.write(now)
        }
        if let names = arrival.facts.names {
            hygiene.prefetch(names)
            dispatch.prefetchLine(of: names.target)
        }
        let begun = intake.recipientBegan(next)
        let id = deliveries.insert(arrival, begun.entry, of: next.fanOut)
        guard arrival.facts.kind == .event, !arrival.facts.isRepeated else {
            return begin(id, now: now)
        }
        if let refused = begun.refused {
            deliveries.update(id) { $0.attempts = refused.attempts - arrival.facts.earlierAttempts }
            conclude(
                id,
                with: .undeliverable(refused.reason, status: refused.httpStatus),
                now: now
            )
        } else if let failure = begun.failure {
            postpone(id, because: failure, now: now)
        } else {
            begin(id, now: now)
        }
    }

    /// A record that waited for its schema was decoded and read again.
    public mutating func recordDecoded(_ id: DeliveryID, _ arrival: Arrival, now: Moment) {
        log?.note(.recordDecoded) {
            $0.write(id)
            $0.write(arrival.facts)
            $0.write(now)
        }
        guard deliveries.contains(id), deliveries[id].place == .awaitingSchema else { return }
        precondition(arrival.facts.kind != .tombstone, "a record lost its value while it waited")
        deliveries.update(id) {
            $0.arrival = arrival
            $0.deadSince = arrival.facts.deadSince
        }
        if let reason = arrival.facts.invalidReason {
            // The registry did not provide the schema.
            conclude(id, with: .invalid(reason), now: now)
        } else {
            move(id, to: .undecided)
            begin(id, now: now)
        }
    }

    /// The process's list of dead tokens was queried for one of the `doubtfulTokens`.
    public mutating func tokenHeard(_ token: KeyedHash, deadSince: Timestamp?, now: Instant) {
        log?.note(.tokenHeard) {
            $0.write(token)
            $0.write(deadSince)
            $0.write(now)
        }
        for id in dispatch.line(of: token) { deliveries.update(id) { $0.deadSince = deadSince } }
        for id in dueWithoutLine(now: now) where deliveries[id].facts.names?.target == token {
            deliveries.update(id) { $0.deadSince = deadSince }
        }
    }

    /// Deliveries that waited in no line, where they would have heard of their tokens, and proceed
    /// now.
    private func dueWithoutLine(now: Instant) -> [DeliveryID] {
        let held = intake.heldDue(now: now)
        guard campaigns.waitingCount > 0 else { return held }
        return held + campaigns.due(now: now, in: deliveries)
    }

    /// The registry answered: the schema is available, or known to be missing.
    public mutating func schemaFetched(_ schema: SchemaReference) {
        log?.note(.schemaFetched) { $0.write(schema) }
        intake.schemaFetched(schema)
    }

    /// The registry did not answer; the fetch is retried while a waiting delivery has time left.
    public mutating func schemaFetchFailed(_ schema: SchemaReference, now: Moment) {
        log?.note(.schemaFetchFailed) {
            $0.write(schema)
            $0.write(now)
        }
        let givenUp = intake.schemaFetchFailed(schema, now: now.instant, using: &random)
        for (id, hadTime) in givenUp {
            if hadTime { counts.madeRoom += 1 }
            postpone(id, because: .schemaUnavailable, now: now)
        }
    }

    // MARK: - Inputs: campaigns

    /// These orders for campaigns apply from now on.
    ///
    /// - Parameters:
    ///   - orders: All orders.
    ///   - share: The shard's part of each pace, greater than 0 and at most 1.
    ///   - now: This turn's moment.
    public mutating func campaignsOrdered(_ orders: CampaignOrders, share: Double, now: Moment) {
        let key = settings.hygiene.hashKey
        var byName: [KeyedHash: CampaignOrder] = [:]
        for name in orders.names { byName[key.hash(of: name)] = orders[name] }
        campaignsOrdered(byName, share: share, now: now)
    }

    mutating func campaignsOrdered(
        _ orders: [KeyedHash: CampaignOrder],
        share: Double,
        now: Moment
    ) {
        log?.note(.campaignsOrdered) {
            let names = orders.keys.sorted { $0.rawValue < $1.rawValue }
            $0.write(names)
            $0.write(names.compactMap { orders[$0] })
            $0.write(share)
            $0.write(now)
        }
        let changed = campaigns.ordered(orders, share: share, now: now)
        // What the shard is to give up, the partition's next owner judges.
        guard !changed.isEmpty, assignment.mayBeginAttempts(now: now.instant) else { return }
        for id in deliveries.identifiers {
            guard let campaign = deliveries[id].facts.campaign, changed.contains(campaign)
            else { continue }
            switch (campaigns.effect(on: campaign, now: now.instant), deliveries[id].place) {
            case (.cancelled, .inLine), (.cancelled, .waiting), (.cancelled, .atCampaign),
                (.cancelled, .atRate), (.cancelled, .inLane):
                conclude(id, with: .cancelled, now: now)
            case (.paused, .atRate), (.paused, .inLane), (.paced, .atRate), (.paced, .inLane):
                awaitCampaign(id, campaign, now: now)
            default: break
            }
        }
    }

    // MARK: - Inputs: APNs

    /// APNs answered a delivery's stream.
    ///
    /// - Returns: the verdict; nil if no answer was expected any more.
    @discardableResult
    public mutating func responseArrived(
        _ answer: APNsAnswer,
        for id: DeliveryID,
        now: Moment
    ) -> JudgedAttempt? {
        log?.note(.responseArrived) {
            $0.write(id)
            $0.write(answer)
            $0.write(now)
        }
        guard let attempt = attemptEnded(id) else { return nil }
        deliveries.update(id) {
            $0.answeredAt = now.instant
            $0.refusals = 0
        }
        let verdict = Verdict.classify(
            status: answer.status,
            reason: answer.reason,
            kind: attempt.isBroadcast ? .broadcast : .device
        )
        if dispatch.answered(attempt, verdict, now: now.instant, using: &random) {
            deliveries.update(id) { $0.hasFailed = true }
        }
        let failure = AttemptFailure(
            reason: answer.reason ?? .local(.unexplainedStatus),
            httpStatus: answer.status
        )
        if let topic = answer.topic {
            if verdict.disposition == .delivered {
                dispatch.topicWorked(topic, on: attempt.route)
            } else if verdict.disposition == .rejected,
                tryTopic(topic, of: id, attempt, after: failure, now: now)
            {
                return JudgedAttempt(
                    verdict: verdict,
                    route: attempt.route,
                    sentAt: attempt.sentAt,
                    revokesKey: false
                )
            }
        }
        var isParked = false
        switch verdict.disposition {
        case .delivered:
            retry.succeeded(attempt.route.credential)
            conclude(id, with: .accepted(answer), now: now)
        case .unregistered, .rejected:
            conclude(id, with: .refused(answer, verdict), now: now)
        case .parkCredential:
            isParked = parkCredential(of: id, after: failure, now: now)
        case .retryHere:
            tryAgain(
                id,
                after: failure,
                retryAfter: answer.retryAfter,
                isDeviceThrottled: verdict.throttlesDevice,
                now: now
            )
        case .retryElsewhere:
            decision.connections += dispatch.retire(attempt, now: now.instant, using: &random)
            tryAgain(id, after: failure, retryAfter: answer.retryAfter, now: now)
        case .refreshProviderToken:
            decision.connections += dispatch.renew(
                after: attempt,
                now: now.instant,
                using: &random
            )
            refreshProviderToken(id, after: failure, now: now)
        }
        return JudgedAttempt(
            verdict: verdict,
            route: attempt.route,
            sentAt: attempt.sentAt,
            revokesKey: isParked && failure.reason == .keyRevoked
        )
    }

    /// A delivery's stream ended without an answer.
    ///
    /// - Returns: the route of the attempt; nil if no answer was expected any more.
    @discardableResult
    public mutating func streamBroke(
        _ id: DeliveryID,
        _ kind: StreamBreak,
        now: Moment
    ) -> Route? {
        log?.note(.streamBroke) {
            $0.write(id)
            $0.write(kind, of: StreamBreak.allCases)
            $0.write(now)
        }
        guard let attempt = attemptEnded(id) else { return nil }
        // The first of consecutive refusals may only mean that the stream crossed a lowered limit.
        let isFirstRefusal = kind == .refused && deliveries[id].refusals == 0
        let isFailure = kind.isAnswerOfSorts && !isFirstRefusal
        if dispatch.broke(attempt, isFailure: isFailure, now: now.instant, using: &random) {
            deliveries.update(id) { $0.hasFailed = true }
        }
        if kind.isUnprocessed {
            resend(id, after: .streamBroken, now: now)
        } else {
            retryUnknown(id, after: .streamBroken, now: now)
        }
        return attempt.route
    }

    /// TLS and HTTP/2 are set up, and the peer's SETTINGS arrived.
    public mutating func connectionOpened(
        _ id: ConnectionID,
        maxConcurrentStreams: Int,
        now: Moment
    ) {
        log?.note(.connectionOpened) {
            $0.write(id)
            $0.write(maxConcurrentStreams)
            $0.write(now)
        }
        dispatch.connectionOpened(id, streamLimit: maxConcurrentStreams, now: now.instant)
    }

    public mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Moment) {
        log?.note(.streamLimitChanged) {
            $0.write(id)
            $0.write(limit)
            $0.write(now)
        }
        dispatch.streamLimitChanged(id, to: limit, now: now.instant)
    }

    /// The peer sent GOAWAY; the streams it did not process are reported one by one.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - reason: the reason in the GOAWAY, if it has one.
    ///   - now: this turn's moment.
    /// - Returns: whether APNs thereby refuses the credential; false if the credential was replaced
    ///   after the connection was made.
    @discardableResult
    public mutating func goAwayReceived(
        _ id: ConnectionID,
        reason: Reason?,
        now: Moment
    ) -> Bool {
        log?.note(.goAwayReceived) {
            $0.write(id)
            $0.write(reason)
            $0.write(now)
        }
        switch dispatch.goAwayReceived(id, reason: reason, now: now.instant, using: &random) {
        case .nothing: return false
        case .condemned: return true
        case .tokenExpired(let refresh):
            decision.tokenRefreshes.append(refresh)
            return false
        }
    }

    public mutating func pingAnswered(_ id: ConnectionID, now: Moment) {
        log?.note(.pingAnswered) {
            $0.write(id)
            $0.write(now)
        }
        dispatch.pingAnswered(id, now: now.instant)
    }

    /// The connection ended or was never made; the break of each of its streams was reported
    /// before.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - cause: why it ended, as far as it matters to the engine.
    ///   - now: this turn's moment.
    /// - Returns: whether APNs thereby refuses the credential.
    @discardableResult
    public mutating func connectionClosed(
        _ id: ConnectionID,
        _ cause: CloseCause = .other,
        now: Moment
    ) -> Bool {
        log?.note(.connectionClosed) {
            $0.write(id)
            $0.write(cause == .certificateRefused)
            $0.write(now)
        }
        return dispatch.connectionClosed(id, cause, now: now.instant, using: &random)
    }

    /// The key or certificate of a credential, given by its index in the configuration, was
    /// reloaded.
    ///
    /// It is tried at once, on new connections; the old connections drain.
    public mutating func credentialReplaced(_ credential: Int, now: Moment) {
        log?.note(.credentialReplaced) {
            $0.write(credential)
            $0.write(now)
        }
        decision.connections += dispatch.credentialReplaced(credential, now: now.instant)
    }

    /// APNs refused a credential's key in another shard, or for a credential with the same key.
    ///
    /// The credential is given by its index in the configuration. Apple requires closing all
    /// connections that used a revoked key ("Establishing a token-based connection to APNs").
    public mutating func keyRevoked(_ credential: Int, now: Moment) {
        log?.note(.keyRevoked) {
            $0.write(credential)
            $0.write(now)
        }
        dispatch.park(
            Route(credential: credential, environment: .production),
            .keyRevoked,
            sentAt: now.instant,
            now: now.instant,
            using: &random
        )
    }

    // MARK: - Inputs: what Kafka has

    /// Kafka acknowledged one of the outcome's records, or permanently rejected it.
    ///
    /// - Parameter tag: The record.
    /// - Returns: The record's delivery; nil: it has left, or was not waiting for the record.
    @discardableResult
    public mutating func published(_ tag: PublicationTag) -> PublishedRecord? {
        log?.note(.published) { $0.write(tag) }
        return ended(tag, isWritten: true)
    }

    /// Marks a record as no longer awaited by its delivery; `isWritten`: Kafka has it.
    @inline(__always)
    private mutating func ended(_ tag: PublicationTag, isWritten: Bool) -> PublishedRecord? {
        guard var awaited = awaitedRecords(of: tag) else { return nil }
        awaited.remove(tag.publication)
        publishing.ended(tag)
        if tag.publication == .tokenStatus { statusEnded(tag.delivery, isWritten: isWritten) }
        guard awaited.isEmpty, !settings.isTransactional else {
            move(tag.delivery, to: .publishing(awaited))
            if !settings.isTransactional {
                waitsBesideOutcome(tag.delivery, for: awaited)
            } else if tag.publication != .outcome {
                intake.topicWaitEnded(tag.delivery)
            }
            if awaited.isEmpty { publishing.memberFinished() }
            if tag.publication == .outcome && !settings.isTransactional {
                tallyOutcome(of: deliveries[tag.delivery])
            }
            return PublishedRecord(
                arrival: deliveries[tag.delivery].arrival,
                conclusion: deliveries[tag.delivery].concluded,
                isLast: false
            )
        }
        let delivery = remove(tag.delivery, isUndone: false)
        if tag.publication == .outcome { tallyOutcome(of: delivery) }
        if tag.publication == .retry {
            counts.deferred += delivery.recipientCount
        } else {
            counts.terminal += 1
        }
        delivery.forEachSettledRecord {
            assignment.settle($0.partition, $0.entry, recipient: $0.recipient)
        }
        return PublishedRecord(
            arrival: delivery.arrival,
            conclusion: delivery.concluded,
            isLast: true
        )
    }

    /// Counts an event of a campaign whose outcome Kafka has.
    @inline(__always)
    private mutating func tallyOutcome(of delivery: Delivery) {
        guard delivery.facts.campaign != nil, case .ended(let ending) = delivery.conclusion
        else { return }
        tally.count(ending, of: delivery.arrival)
    }

    /// Kafka has a record of the tally topic.
    public mutating func tallyWritten(_ batch: UInt32) {
        log?.note(.tallyWritten) { $0.write(number: batch) }
        tally.written(batch)
    }

    /// Kafka has not accepted a record of the tally topic.
    ///
    /// The counts are written again later. In a transaction, the commit's failure is reported, too.
    public mutating func tallyRefused(_ batch: UInt32) {
        log?.note(.tallyRefused) { $0.write(number: batch) }
        tally.refused(batch)
    }

    /// Kafka did not accept one of the outcome's records; it is produced again later.
    ///
    /// Without transactions, the caller must put a record whose batch was rejected into a batch of
    /// its own the next time.
    public mutating func publicationFailed(
        _ tag: PublicationTag,
        _ fault: PublicationFault = .none,
        now: Moment
    ) {
        log?.note(.publicationFailed) {
            $0.write(tag)
            $0.write(fault, of: PublicationFault.allCases)
            $0.write(now)
        }
        guard awaitedRecords(of: tag) != nil else { return }
        guard settings.isTransactional else {
            if isOutdated(tag) {
                drop(tag, isOutdated: true)
            } else if fault != .batch, intake.hasNoRoomToWait(tag.delivery) {
                drop(tag)
            } else {
                publishing.failed(tag, now: now.instant)
            }
            return
        }
        switch fault {
        case .none: abortTransaction(now: now)
        case .topic: if publishing.undo(topicOf: tag, now: now.instant) { undone() }
        case .batch: if publishing.undoInParts() { undone() }
        case .record:
            if publishing.undo(refused: tag.delivery, now: now.instant) { undone() }
        }
    }

    /// Notes the topic that a delivery waits for, if only a topic other than the results topic is
    /// left.
    private mutating func waitsBesideOutcome(_ id: DeliveryID, for awaited: Publications) {
        guard !awaited.contains(.outcome), let publication = awaited.auxiliary else { return }
        intake.waitsForTopic(publication, of: id, deliveries[id].arrival)
    }

    /// Ends the wait for a record without writing it; Kafka has not accepted it.
    private mutating func drop(_ tag: PublicationTag, isOutdated: Bool = false) {
        guard let record = ended(tag, isWritten: false) else { return }
        decision.dropped.append(DroppedRecord(tag: tag, record: record, isOutdated: isOutdated))
    }

    /// Whether the record is a token status, and would be produced again after a newer one.
    private func isOutdated(_ tag: PublicationTag) -> Bool {
        guard tag.publication == .tokenStatus,
            let target = deliveries[tag.delivery].facts.names?.target
        else { return false }
        return publishing.isOutdated(tag.delivery, of: target)
    }

    /// Whether a delivery waits for this record.
    public func awaits(_ tag: PublicationTag) -> Bool { awaitedRecords(of: tag) != nil }

    /// The records that a delivery waits for; nil if this one is not among them.
    private func awaitedRecords(of tag: PublicationTag) -> Publications? {
        guard deliveries.contains(tag.delivery),
            case .publishing(let awaited) = deliveries[tag.delivery].place,
            awaited.contains(tag.publication)
        else { return nil }
        return awaited
    }

    /// Kafka permanently rejected one of an outcome's records; the outcome is published without it.
    ///
    /// - Parameters:
    ///   - tag: The record.
    ///   - now: This turn's moment.
    /// - Returns: The record's delivery; see `published`.
    public mutating func publicationAbandoned(
        _ tag: PublicationTag,
        now: Moment
    ) -> PublishedRecord? {
        log?.note(.publicationAbandoned) {
            $0.write(tag)
            $0.write(now)
        }
        guard settings.isTransactional else { return ended(tag, isWritten: false) }
        publishing.withdraw(tag)
        abortTransaction(now: now)
        return nil
    }

    /// Kafka permanently rejected the retry record: the event ends here.
    public mutating func deferralRefused(_ id: DeliveryID, now: Moment) {
        log?.note(.deferralRefused) {
            $0.write(id)
            $0.write(now)
        }
        guard deliveries.contains(id), case .publishing([.retry]) = deliveries[id].place,
            let deferral = deliveries[id].deferral
        else { return }
        publishing.ended(PublicationTag(id, .retry))
        intake.topicWaitEnded(id)
        abortTransaction(now: now)
        if !deferral.recipients.isEmpty, let fanOut = deliveries[id].fanOut {
            // Each of them ends by itself, once it is read again.
            publishing.left(id)
            intake.recipientsRefused(fanOut, deferral.recipients)
            remove(id, isUndone: false)
            return
        }
        if deliveries[id].facts.kind == .fanOut, deliveries[id].fanOut == nil {
            publishing.left(id)
            let failure = AttemptFailure(reason: deferral.reason, httpStatus: deferral.httpStatus)
            openFanOut(id, deliveries[id].arrival, refusing: failure)
            return
        }
        conclude(
            id,
            with: .undeliverable(deferral.reason, status: deferral.httpStatus),
            now: now
        )
    }

    /// The producer was replaced: unacknowledged records are produced again.
    public mutating func producerReplaced() {
        log?.note(.producerReplaced)
        var unacknowledged: [(delivery: DeliveryID, records: Publications)] = []
        for id in deliveries.identifiers {
            let status = PublicationTag(id, .tokenStatus)
            if awaitedRecords(of: status) != nil, isOutdated(status) {
                drop(status, isOutdated: true)
                guard deliveries.contains(id) else { continue }
            }
            guard case .publishing(let awaited) = deliveries[id].place else { continue }
            unacknowledged.append((id, awaited))
        }
        publishing.producerReplaced(unacknowledged)
        tally.producerReplaced()
        if heldCommit != nil {
            decision.tallies += tally.takeRecords()
            heldCommit?.batch = tally.batchToAwait ?? 0
        }
    }

    /// The transactional call in progress succeeded.
    ///
    /// - Returns: the committed records: for each delivery, all of them.
    public mutating func transactionCallSucceeded()
        -> [(written: OutcomeTransactions.Written, record: PublishedRecord)]
    {
        log?.note(.transactionCallSucceeded)
        guard case .committed(let members) = publishing.callSucceeded() else { return [] }
        tally.transactionCommitted()
        var committed: [(written: OutcomeTransactions.Written, record: PublishedRecord)] = []
        for member in members where deliveries.contains(member.delivery) {
            let delivery = remove(member.delivery, isUndone: false)
            let conclusion = delivery.concluded
            if conclusion.isEnd {
                counts.terminal += 1
            } else {
                counts.deferred += delivery.recipientCount
            }
            delivery.forEachSettledRecord { assignment.settleCommitted($0) }
            committed.append(
                (
                    member,
                    PublishedRecord(
                        arrival: delivery.arrival,
                        conclusion: conclusion,
                        isLast: true
                    )
                )
            )
        }
        assignment.commitFinished(failed: [])
        if publishing.hasWaiting { assignment.settlementAnnounced() }
        return committed
    }

    /// The transactional call in progress failed; `isInDoubt`: it may have committed anyway.
    public mutating func transactionCallFailed(
        _ failure: TransactionFailure,
        isInDoubt: Bool,
        now: Moment
    ) {
        log?.note(.transactionCallFailed) {
            $0.write(failure, of: TransactionFailure.allCases)
            $0.write(isInDoubt)
            $0.write(now)
        }
        transactionEnded(
            publishing.callFailed(failure, isInDoubt: isInDoubt, now: now.instant)
        )
    }

    /// The transactional producer is unusable, though no call was in progress.
    public mutating func transactionalProducerFailed(_ failure: TransactionFailure, now: Moment) {
        log?.note(.transactionalProducerFailed) {
            $0.write(failure, of: TransactionFailure.allCases)
            $0.write(now)
        }
        transactionEnded(publishing.producerFailed(failure, now: now.instant))
    }

    // MARK: - Inputs: the consumer group

    /// The group assigned these partitions to the shard.
    ///
    /// They may replace partitions that were not revoked: when a topic changes, librdkafka rejoins
    /// the group without waiting for its revocation to be answered.
    public mutating func partitionsAssigned(_ partitions: [AssignedPartition], now: Moment) {
        log?.note(.partitionsAssigned) {
            $0.write(partitions)
            $0.write(now)
        }
        if assignment.isGroupMember { partitionsWereLost(now: now) }
        let step = assignment.partitionsAssigned(partitions)
        if step != .unassign { intake.assigned(partitions) }
        decision.group.append(step)
    }

    /// Kafka answered a request for the group's committed offsets.
    ///
    /// - Parameters:
    ///   - stored: nil for a partition without a committed offset; a partition that Kafka did not
    ///     answer for is missing, and is requested again.
    ///   - now: this turn's moment.
    /// - Returns: the metadata that was ignored.
    @discardableResult
    public mutating func storedOffsetsFetched(
        _ stored: [PartitionID: CommittedPosition?],
        now: Moment
    ) -> [IgnoredMetadata] {
        log?.note(.storedOffsetsFetched) { block in
            let partitions = stored.keys.sorted()
            block.write(partitions)
            for partition in partitions { block.write(stored[partition] ?? nil) }
            block.write(now)
        }
        guard let begun = assignment.storedOffsetsFetched(stored, now: now.instant)
        else { return [] }
        decision.group.append(begun.step)
        intake.assignmentBegan()
        return begun.ignored
    }

    /// The partition's end offset, as reported by its first fetch.
    ///
    /// Must come before the partition's first record in an assignment; otherwise committed metadata
    /// is not used.
    ///
    /// - Returns: metadata that was ignored because it covers offsets past the end; nil: none.
    @discardableResult
    public mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> IgnoredMetadata? {
        log?.note(.endSeen) {
            $0.write(partition)
            $0.write(end)
        }
        return assignment.endSeen(partition, end)
    }

    /// The partition was read to its end; its next record has at least this offset.
    public mutating func endReached(_ partition: PartitionID, _ end: Offset) {
        log?.note(.endReached) {
            $0.write(partition)
            $0.write(end)
        }
        assignment.endReached(partition, end)
    }

    /// The assignment ends; `lost`: the group already assigned the partitions to another member.
    public mutating func partitionsRevoked(lost: Bool, now: Moment) {
        log?.note(.partitionsRevoked) {
            $0.write(lost)
            $0.write(now)
        }
        if lost {
            partitionsWereLost(now: now)
            decision.group.append(.unassign)
            return
        }
        switch assignment.phase {
        case .idle, .left: decision.group.append(.unassign)
        case .fetchingOffsets, .consuming, .releasing, .committing:
            releaseHeld()
            assignment.partitionsRevoked(now: now.instant)
        }
    }

    private mutating func partitionsWereLost(now: Moment) {
        assignment.partitionsLost(now: now.instant)
        releaseWaiting()
    }

    /// Reading of the partition restarts elsewhere; its deliveries in flight no longer settle
    /// anything.
    public mutating func partitionRestarted(_ partition: PartitionID) {
        log?.note(.partitionRestarted) { $0.write(partition) }
        dropHeldCommit()
        assignment.partitionRestarted(partition)
    }

    /// The records of a partition from `start` on may be others than those known before.
    ///
    /// The record in a start's `lastKnown` no longer exists, or another one has its offset. Reading
    /// continues at `start`.
    ///
    /// - Returns: The committed metadata, which is now ignored.
    @discardableResult
    public mutating func partitionChanged(
        _ partition: PartitionID,
        from start: Offset
    ) -> IgnoredMetadata {
        log?.note(.partitionChanged) {
            $0.write(partition)
            $0.write(start)
        }
        dropHeldCommit()
        return assignment.partitionChanged(partition, from: start)
    }

    /// The log does not contain the next offset to read.
    ///
    /// - Parameters:
    ///   - partition: The partition.
    ///   - offset: The offset.
    ///   - extent: The log's start offset and its end offset, as the leader reports now.
    ///   - oldestBefore: The last known start offset before that; nil: unknown.
    /// - Returns: why the offset is missing, and where to continue.
    public mutating func offsetLost(
        _ partition: PartitionID,
        _ offset: Offset,
        in extent: Range<Int64>,
        oldestBefore: Int64?
    ) -> LostOffset {
        log?.note(.offsetLost) {
            $0.write(partition)
            $0.write(offset)
            $0.write(extent.lowerBound)
            $0.write(extent.upperBound)
            $0.write(oldestBefore)
        }
        dropHeldCommit()
        return assignment.offsetLost(partition, offset, in: extent, oldestBefore: oldestBefore)
    }

    /// The broker rejects the metadata of the commit in flight as too long.
    ///
    /// The commit's end is reported after this.
    ///
    /// - Returns: the new limit of a commit's metadata, in characters.
    public mutating func commitMetadataRefused() -> Int {
        log?.note(.commitMetadataRefused)
        return assignment.commitMetadataRefused()
    }

    /// Kafka rejects commits of these partitions, even if it accepts others.
    ///
    /// Their topic was deleted, or the service may not read it. The end of the commit in flight is
    /// reported after this, with these partitions in `failed`.
    public mutating func commitRefused(_ refused: [PartitionID], now: Moment) {
        log?.note(.commitRefused) {
            $0.write(refused)
            $0.write(now)
        }
        assignment.commitRefused(refused, now: now.instant)
    }

    /// The commit in flight ended; `failed` are the partitions whose offset Kafka rejected.
    public mutating func commitFinished(failed: [PartitionID]) {
        log?.note(.commitFinished) { $0.write(failed) }
        assignment.commitFinished(failed: failed)
    }

    /// SIGTERM: stop taking records, finish what is in flight, commit, leave the group.
    public mutating func shutdownRequested(now: Moment) {
        log?.note(.shutdownRequested) { $0.write(now) }
        guard !assignment.isShuttingDown else { return }
        releaseHeld()
        assignment.shutdownRequested(now: now.instant)
        intake.reasonChanged()
    }

    // MARK: - The turn

    /// Advances time, and decides what to do after all inputs since the last turn.
    ///
    /// - Parameters:
    ///   - now: this turn's moment.
    ///   - decision: is replaced by what to do; pass the same value each time to reuse its memory.
    public mutating func turnEnded(now: Moment, into decision: inout TurnDecision) {
        tally.timeAdvanced(now: now.instant)
        intake.recipientsTurned()
        endOverdueAttempts(now: now)
        while let id = retry.popDue(now: now.instant, in: deliveries) { approach(id, now: now) }
        turnCampaigns(now: now)
        self.decision.schemaFetches += intake.schemasDue(now: now.instant)
        wakeHeld(now: now)
        while let id = dispatch.nextOfRate(now: now.instant, in: deliveries) {
            move(id, to: .inLane, now: now)
        }
        produceAgain(now: now)
        sweep(now: now)
        for lane in dispatch.lanesDue(now: now.instant) { turn(lane: lane, now: now) }
        // After everything that puts recipients off: from here on, they are unfinished deliveries.
        deferGroups(now: now)
        turnIntake(now: now)
        turnAssignment(now: now)
        turnTransactions(now: now)
        takeRecords()
        precondition(
            self.decision.publications.isEmpty
                || !self.decision.transactions.contains(where: \.isEnd),
            "records for a transaction that ends"
        )
        hygiene.announced()
        decision.removeAll()
        swap(&decision, &self.decision)
        log?.turnEnded(now: now, decision)
    }

    /// Returns the log since the last call: whole turns, preceded by the log's header on the first
    /// call.
    ///
    /// See `Replay`.
    public mutating func takeLog() -> [UInt8] { log?.take() ?? [] }

    /// Stops logging inputs.
    public mutating func endLog() { log = nil }

    private mutating func takeRecords() {
        for tag in publishing.takeRecords() {
            // Kafka may have acknowledged a record that was queued to be produced again.
            guard awaitedRecords(of: tag) != nil else { continue }
            decision.publications.append(
                OutgoingRecord(
                    tag: tag,
                    arrival: deliveries[tag.delivery].arrival,
                    conclusion: deliveries[tag.delivery].concluded
                )
            )
        }
    }

    private mutating func endOverdueAttempts(now: Moment) {
        while let (id, deadline) = deliveries.nextDeadline, deadline <= now.instant {
            guard let attempt = attemptEnded(id) else {
                preconditionFailure("a delivery without a stream among those in flight")
            }
            if dispatch.broke(attempt, isFailure: true, now: now.instant, using: &random) {
                deliveries.update(id) { $0.hasFailed = true }
            }
            decision.cancels.append(Cancel(delivery: id, connection: attempt.connection))
            retryUnknown(id, after: .requestTimeout, now: now)
        }
    }

    private mutating func wakeHeld(now: Moment) {
        while let id = intake.takeDue(now: now.instant) {
            intake.entered(deliveries[id].arrival)
            move(id, to: .undecided)
            begin(id, now: now)
        }
        intake.freePartitions(now: now.instant)
    }

    private mutating func produceAgain(now: Moment) {
        while let tag = publishing.popDue(now: now.instant) {
            if awaitedRecords(of: tag) != nil { publishing.again(tag) }
        }
    }

    /// Once a second: ends waiting deliveries that have expired, with or without a connection, and
    /// moves deliveries out of blocked lanes.
    private mutating func sweep(now: Moment) {
        guard dispatch.beginSweep(now: now.instant),
            // A delivery that ends now could miss the last commit, and end again at the partition's
            // next owner.
            assignment.mayBeginAttempts(now: now.instant)
        else { return }
        let atCampaign = campaigns.sweep(in: deliveries)
        let unsent = dispatch.sweepRates(in: deliveries) + atCampaign
        var expired = unsent.filter { isExpired($0, now: now) }
        for lane in dispatch.busyLanes {
            let patience = dispatch.patience(lane: lane)
            var (blocked, late): ([DeliveryID], [DeliveryID]) = ([], [])
            for id in dispatch.sweepLane(lane, in: deliveries) {
                if isExpired(id, now: now) {
                    expired.append(id)
                } else if let patience {
                    if patience.isOver(for: deliveries[id], now: now.instant) {
                        blocked.append(id)
                    } else {
                        late += line(of: id).filter {
                            patience.isTooLate(for: deliveries[$0], now: now.instant)
                        }
                    }
                }
            }
            let (failure, notBefore) = dispatch.blockage(lane: lane)
            for id in late { postpone(id, because: failure, notBefore: notBefore, now: now) }
            for id in blocked {
                postponeBlocked(id, lane: lane, now: now) { delivery in
                    patience?.spares(delivery, now: now.instant) ?? false
                }
            }
        }
        for id in expired { expire(id, at: now.timestamp, now: now) }
        makeWay(atCampaign, now: now)
        guard intake.isNearlyFull else { return }
        for id in dispatch.tooManyInLine(in: deliveries, now: now.instant) {
            counts.madeRoom += 1
            postpone(id, because: .deviceCongested, now: now)
        }
    }

    /// Puts deliveries off that wait for their campaigns and keep other records from being read.
    private mutating func makeWay(_ waiting: [DeliveryID], now: Moment) {
        for id in waiting where deliveries.contains(id) && deliveries[id].place == .atCampaign {
            let facts = deliveries[id].facts
            guard let campaign = facts.campaign,
                campaigns.effect(on: campaign, now: now.instant) != .running,
                intake.isStopped(facts, heldBack: assignment.heldBack)
            else { continue }
            // The others that wait here leave, too.
            _ = stayAway(id, from: campaign, behind: 0, now: now)
        }
    }

    private func isExpired(_ id: DeliveryID, now: Moment) -> Bool {
        deliveries[id].facts.isExpired(at: now.timestamp)
    }

    /// Ends an event that expires or becomes too old at this time.
    private mutating func expire(_ id: DeliveryID, at timestamp: Timestamp, now: Moment) {
        var finding = Finding.expired(deliveries[id].facts.expiry(at: timestamp))
        finding.isAfterAbsence = isAfterAbsence(id)
        conclude(id, with: finding, now: now)
    }

    /// Whether an event waited for its time or its campaign, and was not attempted after that.
    private func isAfterAbsence(_ id: DeliveryID) -> Bool {
        let delivery = deliveries[id]
        if delivery.place == .atCampaign { return true }
        guard delivery.attempts == 0 else { return false }
        return delivery.history?.waited != nil
            || delivery.fanOut != nil && stopped.contains(RecipientQueue(of: delivery.facts))
    }

    private mutating func turn(lane: Int, now: Moment) {
        dispatch.laneBegan(lane, now: now.instant)
        let mayBegin = assignment.mayBeginAttempts(now: now.instant)
        if mayBegin { openStreams(lane: lane, now: now) }
        dispatch.reviewBlockage(lane: lane, now: now.instant)
        if mayBegin { makeRoom(lane: lane, now: now) }
        decision.connections += dispatch.laneEnded(lane, now: now.instant)
    }

    /// Opens streams for waiting deliveries while connections have room.
    private mutating func openStreams(lane: Int, now: Moment) {
        let deadline = now.instant + settings.requestTimeout
        while let id = dispatch.nextToSend(lane: lane, in: deliveries) {
            guard !isExpired(id, now: now) else {
                dispatch.taken(lane: lane)
                expire(id, at: now.timestamp, now: now)
                continue
            }
            if let deadSince = deliveries[id].deadSince,
                !deliveries[id].facts.isRegistered(after: deadSince)
            {
                dispatch.taken(lane: lane)
                conclude(id, with: .suppressed(since: deadSince), now: now)
                continue
            }
            guard let connection = dispatch.streamWanted(lane: lane, now: now.instant)
            else { return }
            dispatch.taken(lane: lane)
            move(id, to: .onStream(connection))
            deliveries.update(id) {
                $0.attempts += 1
                $0.sentAt = now.instant
            }
            deliveries.sent(id, deadline: deadline)
            dispatch.sent(lane: lane)
            counts.attempts += 1
            decision.sends.append(
                Send(
                    delivery: id,
                    connection: connection,
                    route: deliveries[id].routeInUse,
                    arrival: deliveries[id].arrival
                )
            )
        }
    }

    /// Takes deliveries out of a lane that is blocked or slow and holds more than its share.
    private mutating func makeRoom(lane: Int, now: Moment) {
        guard
            let surplus = dispatch.surplus(
                lane: lane,
                isNearlyFull: intake.isNearlyFull,
                in: deliveries,
                now: now.instant
            )
        else { return }
        while let id = dispatch.nextToMakeRoom(lane: lane, surplus, in: deliveries) {
            switch surplus {
            case .blocked: postponeBlocked(id, lane: lane, now: now)
            case .congested:
                counts.madeRoom += 1
                postpone(id, because: .routeCongested, now: now)
            }
        }
    }

    private mutating func turnIntake(now: Moment) {
        if assignment.takeHeldBackChange() { intake.reasonChanged() }
        intake.timeAdvanced(
            now: now.instant,
            doRecipientsWait: haveRecipientsRoom(now: now.instant)
        )
        // Revoked partitions keep their pause state until they are gone.
        let isStopping = assignment.isShuttingDown
        guard assignment.isTakingRecords || isStopping else { return }
        let heldBack = assignment.heldBack
        decision.group += intake.pauseChanges(of: assignment.partitions) {
            isStopping || heldBack.contains($0)
        }
    }

    private mutating func turnAssignment(now: Moment) {
        let owned = assignment.partitions.count
        let isDrained = assignment.isReleasing && !isAnyUnfinished(now: now)
        let steps = assignment.timeAdvanced(now: now.instant, isDrained: isDrained)
        decision.group += settings.isTransactional ? steps : afterTally(steps, now: now.instant)
        if assignment.partitions.count < owned { releaseWaiting() }
        if assignment.hasWaitedTooLong(now: now.instant) { stop(because: .offsetsUnknown) }
    }

    /// Lets commits wait until the tally topic has the outcomes that they settle.
    ///
    /// Not for long, and not while the topic refuses records: it must not stop deliveries.
    private mutating func afterTally(_ steps: [GroupStep], now: Instant) -> [GroupStep] {
        var due: [GroupStep] = []
        if let held = heldCommit, isDue(held, now: now) {
            if !tally.isAnswered(upTo: held.batch) { tally.awaitedInVain() }
            due.append(.commit(held.commits))
            heldCommit = nil
        }
        for step in steps {
            guard case .commit(let commits) = step else {
                due.append(step)
                continue
            }
            decision.tallies += tally.takeRecords()
            if let batch = tally.batchToAwait {
                heldCommit = HeldCommit(commits: commits, batch: batch, since: now)
            } else {
                due.append(step)
            }
        }
        if tally.isDue { decision.tallies += tally.takeRecords() }
        return due
    }

    private func isDue(_ held: HeldCommit, now: Instant) -> Bool {
        tally.isAnswered(upTo: held.batch) || held.until(isHurried: isHurried) <= now
    }

    /// Whether the shard gives up its partitions soon.
    private var isHurried: Bool { assignment.phase != .consuming }

    /// The commit that waits for the tally is not made: its partitions are lost, or their records
    /// are others now.
    private mutating func dropHeldCommit() {
        guard let held = heldCommit else { return }
        heldCommit = nil
        assignment.commitFinished(failed: held.commits.map(\.partition))
    }

    /// Whether a delivery of the current assignment may still finish.
    ///
    /// With transactions, a delivery that has reached its outcome does not count: the last commit
    /// includes it.
    private func isAnyUnfinished(now: Moment) -> Bool {
        let isTransactional = settings.isTransactional
        let mayBegin = assignment.mayBeginAttempts(now: now.instant)
        return deliveries.contains { delivery in
            switch delivery.place {
            case .publishing where isTransactional: false
            // The pause may last for days; the next owner heeds it, too.
            case .atCampaign: false
            case _ where delivery.place.isBeforeSending && !mayBegin: false
            default: assignment.isCurrent(delivery.facts.partition, delivery.ledgerEntry)
            }
        }
    }

    private mutating func turnTransactions(now: Moment) {
        guard settings.isTransactional else { return }
        publishing.timeAdvanced(now: now.instant)
        carryOutTransactionSteps()
        for id in publishing.setAside() { waitsAside(id) }
        for (id, records) in publishing.admit(now: now.instant) {
            move(id, to: .publishing(records))
            // One that Kafka refused before was announced in a transaction that has ended.
            assignment.settlementAnnounced()
        }
        if assignment.isCommitWanted || publishing.isFull || tally.isDue { publishing.close() }
        guard let members = publishing.membersToCommit else { return }
        var settled: [SettledRecord] = []
        for id in members { deliveries[id].forEachSettledRecord { settled.append($0) } }
        for id in members { tallyPending(id) }
        let commits = assignment.takeCommits(settling: settled)
        // Records of the tally come before the turn's steps, thus before a `begin` among them. Such
        // a transaction has no outcomes yet.
        let mayTally = tally.mayWrite && !decision.transactions.contains(.begin)
        if publishing.commit(commits, withTally: mayTally, now: now.instant) {
            if mayTally { decision.tallies += tally.takeRecords() }
        } else {
            assignment.commitFinished(failed: [])
        }
        carryOutTransactionSteps()
    }

    /// Counts an event of a campaign whose outcome is in the transaction to commit.
    private mutating func tallyPending(_ id: DeliveryID) {
        guard deliveries[id].facts.campaign != nil,
            case .ended(let ending) = deliveries[id].conclusion
        else { return }
        tally.countPending(ending, of: deliveries[id].arrival)
    }

    /// A delivery needs a topic that accepts no records.
    ///
    /// If too many wait for that topic, the delivery is published without that record.
    private mutating func waitsAside(_ id: DeliveryID) {
        guard case .publishing(let records) = deliveries[id].place,
            let publication = records.auxiliary
        else { return }
        intake.waitsForTopic(publication, of: id, deliveries[id].arrival)
        guard intake.hasNoRoomToWait(id) else { return }
        intake.topicWaitEnded(id)
        let tag = PublicationTag(id, publication)
        publishing.withdraw(tag)
        let record = PublishedRecord(
            arrival: deliveries[id].arrival,
            conclusion: deliveries[id].concluded,
            isLast: false
        )
        decision.dropped.append(DroppedRecord(tag: tag, record: record, isOutdated: false))
    }

    private mutating func carryOutTransactionSteps() {
        decision.transactions += publishing.takeSteps()
    }

    // MARK: - A delivery's path

    /// Moves a delivery to another place: the only way to do so.
    ///
    /// The old place's owner removes it from its count, and the new place's owner queues the
    /// ticket.
    ///
    /// - Parameters:
    ///   - id: The delivery.
    ///   - place: The new place.
    ///   - due: When its wait ends, if it has to wait.
    ///   - isFirst: Whether it joins the front of its lane.
    ///   - older: The void ticket in the new place whose position it takes; nil: none.
    ///   - now: This turn's moment; needed for entering a lane, and for waiting for a campaign.
    private mutating func move(
        _ id: DeliveryID,
        to place: Delivery.Place,
        until due: Instant? = nil,
        isFirst: Bool = false,
        inPlaceOf older: Ticket? = nil,
        now: Moment? = nil
    ) {
        let old = deliveries[id].place
        precondition(old.mayBecome(place), "from \(old) to \(place)")
        left(old, id)
        let ticket = deliveries.move(id, to: place)
        switch place {
        case .waiting:
            retry.entered(ticket, until: due ?? Instant(nanoseconds: .min))
        case .atRate:
            guard let limit = deliveries[id].facts.rateLimit else {
                preconditionFailure("at a rate limit that does not concern it")
            }
            dispatch.enteredRate(
                ticket,
                limit: limit,
                isRecipient: deliveries[id].fanOut != nil,
                inPlaceOf: older
            )
        case .atCampaign:
            guard let campaign = deliveries[id].facts.campaign else {
                preconditionFailure("waits for a campaign that it is not of")
            }
            deliveries.update(id) { $0.queuedAt = now?.instant }
            campaigns.append(ticket, to: campaign)
        case .inLane:
            deliveries.update(id) { $0.queuedAt = now?.instant }
            dispatch.enteredLane(
                ticket,
                deliveries[id].routeInUse,
                source: deliveries[id].facts.source,
                isFirst: isFirst,
                isRecipient: deliveries[id].fanOut != nil,
                inPlaceOf: older
            )
        case .inLine: deliveries.update(id) { $0.queuedAt = now?.instant }
        case .undecided, .awaitingSchema, .held, .onStream, .publishing: break
        }
    }

    private mutating func left(_ place: Delivery.Place, _ id: DeliveryID) {
        switch place {
        case .atCampaign:
            if let campaign = deliveries[id].facts.campaign { campaigns.left(campaign) }
        case .atRate:
            guard let limit = deliveries[id].facts.rateLimit else { break }
            dispatch.leftRate(limit: limit, isRecipient: deliveries[id].fanOut != nil)
        case .inLane:
            dispatch.leftLane(
                deliveries[id].routeInUse,
                source: deliveries[id].facts.source,
                isRecipient: deliveries[id].fanOut != nil
            )
        case .onStream: deliveries.returned(id)
        case .undecided, .awaitingSchema, .held, .inLine, .waiting, .publishing: break
        }
    }

    /// Decides what a record waits for, if for anything, and otherwise whether to send it.
    private mutating func begin(_ id: DeliveryID, now: Moment) {
        let arrival = deliveries[id].arrival
        if let schema = arrival.facts.awaitedSchema {
            // The outcome is known without the registry; only a more exact reason is not.
            if let reason = arrival.facts.invalidReason, intake.hasFailed(schema) {
                conclude(id, with: .invalid(reason), now: now)
            } else {
                awaitSchema(schema, id, arrival, now: now)
            }
        } else if let reason = arrival.facts.invalidReason {
            conclude(id, with: .invalid(reason), now: now)
        } else if arrival.facts.isRepeated {
            conclude(id, with: .duplicateRecipient, now: now)
        } else if let notBefore = arrival.facts.notBefore, notBefore > now.timestamp {
            awaitTime(id, notBefore, now: now)
        } else if arrival.facts.recipientCount > 0 {
            openFanOut(id, arrival)
        } else {
            route(id, arrival, now: now)
        }
    }

    /// A record with recipients can be judged: they become deliveries of their own.
    ///
    /// `failure`: they end with it instead of being sent; `delay`: why none of them can be sent
    /// now. Nil: they are sent.
    private mutating func openFanOut(
        _ id: DeliveryID,
        _ arrival: Arrival,
        refusing failure: AttemptFailure? = nil,
        postponing delay: AttemptFailure? = nil
    ) {
        guard isKept(id) else { return }
        let (partition, entry) = (arrival.facts.partition, deliveries[id].ledgerEntry)
        let seen = assignment.recipientsSeen(
            partition,
            entry,
            fingerprint: arrival.facts.fingerprint,
            recipients: arrival.facts.recipientCount
        )
        guard let seen else { preconditionFailure("a record of another assignment was kept") }
        _ = deliveries.take(id)
        counts.consumed += seen.open.count - 1
        decision.opened.append(OpenedRecord(arrival: arrival, recipientCount: seen.open.count))
        intake.opened(arrival, seen.entry, seen.open, refusing: failure, postponing: delay)
    }

    // MARK: - Waiting for a time or a campaign

    /// Puts an event off until its `not_before`.
    private mutating func awaitTime(_ id: DeliveryID, _ notBefore: Timestamp, now: Moment) {
        let arrival = deliveries[id].arrival
        if arrival.facts.recipientCount > 0,
            assignment.hasSettledRecipients(arrival.facts.partition, deliveries[id].ledgerEntry)
        {
            // An owner whose clock was ahead has begun to send: only the other recipients wait.
            return openFanOut(id, arrival)
        }
        let wait = Duration.milliseconds(notBefore.milliseconds - now.timestamp.milliseconds)
        // Once accepted, an event keeps its time, whatever this process allows.
        guard deliveries[id].history != nil || wait <= settings.maxNotBefore else {
            conclude(id, with: .invalid(.notBeforeTooFar), now: now)
            return
        }
        let deferral = retry.absence(
            of: deliveries[id],
            because: .notDueYet,
            within: wait,
            until: notBefore,
            now: now
        )
        putOff(id, deferral, because: AttemptFailure(reason: .local(.notDueYet)), now: now)
    }

    /// Lets a delivery wait until its campaign may send: in memory, or in a retry topic if too many
    /// wait in memory.
    private mutating func awaitCampaign(_ id: DeliveryID, _ campaign: KeyedHash, now: Moment) {
        leaveLine(id)
        guard isKept(id) else { return }
        if campaigns.waitingCount < settings.shareOfCampaigns
            || !stayAway(id, from: campaign, behind: campaigns.count(of: campaign), now: now)
        {
            // The time until it is given up stands still.
            deliveries.update(id) { $0.firstFailureAt = nil }
            move(id, to: .atCampaign, now: now)
        }
    }

    /// Puts a delivery off that waits for its campaign, behind so many that stay here.
    ///
    /// - Returns: false if there is no retry topic for it.
    private mutating func stayAway(
        _ id: DeliveryID,
        from campaign: KeyedHash,
        behind count: Int,
        now: Moment
    ) -> Bool {
        guard let shortestDelay = settings.later.delays.first,
            settings.canStayAway(deliveries[id].arrival)
        else { return false }
        let absence = campaigns.putOff(
            campaign,
            behind: count,
            shortestDelay: shortestDelay,
            now: now.instant
        )
        let deferral = retry.absence(
            of: deliveries[id],
            because: .campaignPaused,
            within: absence.atMost,
            until: absence.hasTurn ? now.timestamp.advanced(by: absence.atMost) : nil,
            now: now
        )
        putOff(id, deferral, because: AttemptFailure(reason: .local(.campaignPaused)), now: now)
        return true
    }

    /// Ends a delivery before its next attempt, or lets it wait, if its campaign demands that.
    private mutating func isStoppedByCampaign(_ id: DeliveryID, now: Moment) -> Bool {
        // What the shard gives up, the partition's next owner judges.
        guard let campaign = deliveries[id].facts.campaign,
            assignment.mayBeginAttempts(now: now.instant)
        else { return false }
        switch campaigns.effect(on: campaign, now: now.instant) {
        case .running, .paced: return false
        case .cancelled: conclude(id, with: .cancelled, now: now)
        case .paused: awaitCampaign(id, campaign, now: now)
        }
        return true
    }

    /// Sends deliveries on whose campaigns may send again, and notes recipients that would take too
    /// much memory until theirs may.
    private mutating func turnCampaigns(now: Moment) {
        guard !campaigns.isEmpty, assignment.mayBeginAttempts(now: now.instant) else {
            overflow = []
            if !stopped.isEmpty { stopped.formIntersection(intake.recipientQueues) }
            return
        }
        for _ in 0..<Campaigns.mostAtOnce {
            guard let id = campaigns.popDue(now: now.instant, in: deliveries) else { break }
            hearOfToken(id)
            if isExpired(id, now: now) {
                expire(id, at: now.timestamp, now: now)
            } else {
                deliveries.update(id) { $0.campaignWaitEnds(now: now.instant) }
                move(id, to: .undecided)
                joinLine(id, now: now)
            }
        }
        overflow = []
        let queues = intake.recipientQueues
        if !stopped.isEmpty { stopped.formIntersection(queues) }
        var waiting = campaigns.waitingCount
        for queue in queues {
            guard let campaign = queue.campaign, !campaigns.hasRoom(for: campaign, now: now.instant)
            else { continue }
            stopped.insert(queue)
            guard settings.canPostpone else { continue }
            waiting += intake.recipientCount(of: queue)
            if waiting > settings.shareOfCampaigns
                || intake.hasStoppedRecipients(of: queue, heldBack: assignment.heldBack)
            {
                overflow.insert(queue)
            }
        }
    }

    /// A delivery proceeds that was in no line: this turn's answers may be about its token.
    private mutating func hearOfToken(_ id: DeliveryID) {
        guard let target = deliveries[id].facts.names?.target else { return }
        let deadSince = hygiene.word(against: target, listed: deliveries[id].deadSince)
        deliveries.update(id) { $0.deadSince = deadSince }
    }

    /// Whether recipients wait only for the limit on events in flight.
    private func haveRecipientsRoom(now: Instant) -> Bool {
        intake.waitingRecipients > 0
            && intake.recipientQueues.contains { hasRoom(in: $0, now: now) }
    }

    /// Whether more recipients of a record may become deliveries for a queue.
    private func hasRoom(in queue: RecipientQueue, now: Instant) -> Bool {
        guard let campaign = queue.campaign else { return dispatch.hasRoom(in: queue) }
        // They end at once.
        if campaigns.effect(on: campaign, now: now) == .cancelled { return true }
        if !campaigns.hasRoom(for: campaign, now: now) {
            // They are read one by one: some may be invalid or repeated.
            return overflow.contains(queue)
        }
        return dispatch.hasRoom(in: queue)
    }

    private mutating func awaitSchema(
        _ schema: SchemaReference,
        _ id: DeliveryID,
        _ arrival: Arrival,
        now: Moment
    ) {
        switch intake.needs(schema, id, arrival, now: now.instant) {
        case .giveUp:
            counts.madeRoom += 1
            postpone(id, because: .schemaUnavailable, now: now)
        case .fetch:
            move(id, to: .awaitingSchema)
            decision.schemaFetches.append(schema)
        case .wait:
            move(id, to: .awaitingSchema)
        }
    }

    /// Decides whether an event is sent.
    private mutating func route(_ id: DeliveryID, _ arrival: Arrival, now: Moment) {
        if let campaign = arrival.facts.campaign {
            if arrival.facts.history?.waited == .campaignPaused { campaigns.cameBack(campaign) }
            guard campaigns.effect(on: campaign, now: now.instant) != .cancelled else {
                conclude(id, with: .cancelled, now: now)
                return
            }
        }
        guard let route = arrival.facts.route, let names = arrival.facts.names else {
            conclude(id, with: .undeliverable(.local(.noCredential), status: nil), now: now)
            return
        }
        let isSendable = arrival.facts.pushType.isSendable(
            byCertificate: settings.credentials[route.credential].isProvenByHandshake,
            isBroadcast: arrival.facts.isBroadcast
        )
        guard isSendable else {
            let reason = Reason.local(.providerTokenRequired)
            conclude(id, with: .undeliverable(reason, status: nil), now: now)
            return
        }
        guard !arrival.facts.isExpired(at: now.timestamp) else {
            expire(id, at: now.timestamp, now: now)
            return
        }
        let isOfCampaign = arrival.facts.campaign != nil
        if let history = arrival.facts.history,
            retry.isPastGiveUp(history, isOfCampaign: isOfCampaign, now: now.timestamp)
        {
            let reason = Reason(recorded: history.reason)
            conclude(id, with: .undeliverable(reason, status: nil), now: now)
            return
        }
        let deadSince = hygiene.word(against: names.target, listed: deliveries[id].deadSince)
        let hasLine = deadSince != nil && dispatch.hasLine(names.target)
        switch hygiene.arrived(arrival, names, deadSince: deadSince, hasLine: hasLine) {
        case .suppress(let since): conclude(id, with: .suppressed(since: since), now: now)
        case .duplicate: conclude(id, with: .duplicate, now: now)
        case .send:
            deliveries.update(id) { $0.deadSince = deadSince }
            if let campaign = arrival.facts.campaign, !campaigns.lets(campaign, pass: now.instant) {
                awaitCampaign(id, campaign, now: now)
            } else {
                joinLine(id, now: now)
            }
        }
    }

    /// Puts a delivery at the end of its device's or channel's line.
    private mutating func joinLine(_ id: DeliveryID, now: Moment) {
        let arrival = deliveries[id].arrival
        guard let device = arrival.facts.names?.target else {
            preconditionFailure("a delivery without a device is sent")
        }
        deliveries.update(id) { $0.isInLine = true }
        if deliveries[id].deadSince != nil { hygiene.doubt(device) }
        guard !dispatch.joined(id, device, on: deliveries[id].routeInUse) else {
            approach(id, now: now)
            return
        }
        move(id, to: .inLine, now: now)
        if arrival.facts.isBroadcast {
            // A channel's newest broadcast replaces all older ones.
            for older in dispatch.line(of: device) where older != id { supersede(older, now: now) }
        } else if let collapse = arrival.facts.collapse, dispatch.isThrottled(device) {
            for older in dispatch.line(of: device).dropFirst()
            where deliveries[older].facts.collapse == collapse {
                supersede(older, now: now)
            }
        }
    }

    /// Moves the first of a line to its route's queue, or to the queue of its app's rate limit.
    private mutating func approach(_ id: DeliveryID, now: Moment) {
        guard !isStoppedByCampaign(id, now: now) else { return }
        if let limit = deliveries[id].facts.rateLimit,
            !dispatch.mayPass(limit: limit, now: now.instant)
        {
            move(id, to: .atRate)
        } else {
            move(id, to: .inLane, now: now)
        }
    }

    /// Gives up the delivery's place in its line, so that the next one may proceed.
    ///
    /// Called for every delivery that ends, is postponed or is released; a second call has no
    /// effect.
    private mutating func leaveLine(_ id: DeliveryID) {
        guard let line = deliveries[id].line else { return }
        deliveries.update(id) { $0.isInLine = false }
        if let (next, notBefore) = dispatch.left(id, line, on: deliveries[id].routeInUse) {
            move(next, to: .waiting, until: notBefore)
        } else if hygiene.hasDoubts, !dispatch.hasLine(line) {
            hygiene.lineEnded(line)
        }
    }

    /// Ends a delivery because a newer one replaces it.
    ///
    /// A delivery that is being sent stays: its answer decides.
    private mutating func supersede(_ id: DeliveryID, now: Moment) {
        switch deliveries[id].place {
        case .undecided, .inLine, .waiting:
            counts.superseded += 1
            conclude(id, with: .superseded, now: now)
        case .atRate, .inLane:
            let (older, ticket) = (deliveries[id], deliveries.ticket(of: id))
            counts.superseded += 1
            conclude(id, with: .superseded, now: now)
            guard let line = older.line, let next = dispatch.line(of: line).last else { return }
            takePlace(of: older, ticket, next, now: now)
        case .awaitingSchema, .held, .atCampaign, .onStream, .publishing: break
        }
    }

    /// Moves the new first of a line to where the old one waited in a queue.
    ///
    /// At the end of the queue, it could be replaced before its turn, and so could each one after
    /// it. It does not join the front: many lines that did so would keep other deliveries from
    /// their turn. If the old one has passed its rate limit, it takes no second token.
    private mutating func takePlace(
        of older: Delivery,
        _ ticket: Ticket,
        _ id: DeliveryID,
        now: Moment
    ) {
        guard deliveries[id].place == .waiting, deliveries[id].mayReplace(older),
            !isStoppedByCampaign(id, now: now)
        else { return }
        move(id, to: older.place, inPlaceOf: ticket, now: now)
    }

    /// Ends a broadcast that is about to be sent again although a newer one waits behind it.
    ///
    /// - Returns: whether it has ended.
    private mutating func supersededByNewer(_ id: DeliveryID, now: Moment) -> Bool {
        guard deliveries[id].facts.isBroadcast, let channel = deliveries[id].line,
            !dispatch.isNewest(id, of: channel)
        else { return false }
        supersede(id, now: now)
        return true
    }

    // MARK: - After an attempt

    /// Takes the delivery off its stream.
    ///
    /// - Returns: nil if no answer was expected any more.
    private mutating func attemptEnded(_ id: DeliveryID) -> Dispatch.Attempt? {
        guard deliveries.contains(id), case .onStream(let connection) = deliveries[id].place,
            let sentAt = deliveries[id].sentAt
        else { return nil }
        move(id, to: .undecided)
        return Dispatch.Attempt(
            connection: connection,
            route: deliveries[id].routeInUse,
            sentAt: sentAt,
            isBroadcast: deliveries[id].facts.isBroadcast,
            target: deliveries[id].facts.names?.target,
            line: deliveries[id].line
        )
    }

    /// Whether this shard must still finish the delivery; releases it if not.
    ///
    /// Its partition was given up in the meantime, and the next owner sends the event.
    private mutating func isKept(_ id: DeliveryID) -> Bool {
        if assignment.isCurrent(deliveries[id].facts.partition, deliveries[id].ledgerEntry) {
            return true
        }
        release(id)
        return false
    }

    /// Plans the next attempt: after a wait in memory, through a retry topic, or not at all.
    private mutating func tryAgain(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        retryAfter: Duration?,
        isDeviceThrottled: Bool = false,
        now: Moment
    ) {
        guard isKept(id),
            // A throttled channel is throttled for the newer broadcast too.
            isDeviceThrottled || !supersededByNewer(id, now: now)
        else { return }
        let plan = retry.plan(
            deliveries[id],
            retryAfter: retryAfter,
            now: now.instant,
            using: &random
        )
        deliveries.update(id) {
            $0.refusals = 0
            $0.firstFailureAt = plan.firstFailureAt
        }
        if isDeviceThrottled, let device = deliveries[id].line {
            throttle(
                device,
                after: (id, failure),
                until: max(plan.notBefore, now.instant + (plan.delay ?? .zero)),
                now: now
            )
            // A newer event may have taken its place.
            guard deliveries.contains(id), !deliveries[id].hasOutcome else { return }
        }
        let arrival = deliveries[id].arrival
        let (next, isDenied) = retry.decide(
            plan,
            credential: deliveries[id].routeInUse.credential,
            canPostpone: settings.canPostpone(arrival),
            now: now
        )
        if isDenied { counts.retriesDenied += 1 }
        switch next {
        case .later: postpone(id, because: failure, notBefore: plan.notBefore, now: now)
        case .again(let due):
            if !arrival.facts.isExpired(at: due.timestamp) { countRetry(because: failure.reason) }
            backOff(id, until: due, now: now)
        }
    }

    /// Retries with the same `apns-id` after an attempt of unknown result.
    ///
    /// Push types in `sentOnce` are not retried: APNs may have received the notification, and for
    /// them a late second one is wrong.
    private mutating func retryUnknown(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) {
        guard settings.sentOnce.contains(deliveries[id].facts.pushType) else {
            tryAgain(id, after: failure, retryAfter: nil, now: now)
            return
        }
        guard isKept(id) else { return }
        conclude(id, with: .undeliverable(failure.reason, status: nil), now: now)
    }

    /// Sends a request again that the peer did not process; it does not count as an attempt.
    ///
    /// At once the first time, then with growing delays. After `retryHereFor` of refusals the event
    /// goes to a retry topic; if none takes it, it waits here until it is given up or expires. An
    /// event that is for now or never is given up then.
    private mutating func resend(_ id: DeliveryID, after failure: AttemptFailure, now: Moment) {
        counts.unprocessed += 1
        guard isKept(id) else { return }
        deliveries.update(id) { $0.attempts -= 1 }
        guard !supersededByNewer(id, now: now) else { return }
        let refusals = min(deliveries[id].refusals, .max - 1) + 1
        let firstFailureAt = deliveries[id].firstFailureAt ?? now.instant
        deliveries.update(id) {
            $0.refusals = refusals
            $0.firstFailureAt = firstFailureAt
        }
        let delay = retry.delay(afterRefusals: Int(refusals), using: &random)
        guard delay > .zero else {
            if !isStoppedByCampaign(id, now: now) {
                move(id, to: .inLane, isFirst: true, now: now)
            }
            return
        }
        let due = now.advanced(by: delay)
        guard due.instant > firstFailureAt + settings.retryHereFor else {
            backOff(id, until: due, now: now)
            return
        }
        // If no retry topic takes the event, it keeps waiting until it is given up.
        let delivery = deliveries[id]
        let deferral = retry.deferral(of: delivery, because: failure, waitingFor: .zero, now: now)
        if deferral != nil || due.timestamp > retry.giveUpAt(delivery, now: now) {
            postpone(id, because: failure, now: now)
        } else {
            backOff(id, until: due, now: now)
        }
    }

    /// Waits in memory for the next attempt, unless the event expires before.
    private mutating func backOff(_ id: DeliveryID, until due: Moment, now: Moment) {
        if deliveries[id].facts.isExpired(at: due.timestamp) {
            expire(id, at: due.timestamp, now: now)
        } else {
            move(id, to: .waiting, until: due.instant)
        }
    }

    /// Requests a new provider token after APNs called the last one expired, and retries at once.
    private mutating func refreshProviderToken(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) {
        decision.tokenRefreshes.append(
            TokenRefresh(
                credential: deliveries[id].routeInUse.credential,
                sentAt: deliveries[id].sentAt ?? now.instant
            )
        )
        guard isKept(id) else { return }
        guard !deliveries[id].isProviderTokenRefreshed else {
            // A fresh token did not help, or APNs does not allow one yet: every other event would
            // fail too.
            parkCredential(of: id, after: failure, now: now)
            return
        }
        guard !supersededByNewer(id, now: now) else { return }
        deliveries.update(id) { $0.isProviderTokenRefreshed = true }
        countRetry(because: failure.reason)
        approach(id, now: now)
    }

    /// Retries on a fresh connection after APNs refused the topic.
    ///
    /// The old connection may not know yet that the topic was added to the key.
    ///
    /// - Returns: false if the refusal is final.
    private mutating func tryTopic(
        _ topic: KeyedHash,
        of id: DeliveryID,
        _ attempt: Dispatch.Attempt,
        after failure: AttemptFailure,
        now: Moment
    ) -> Bool {
        guard !deliveries[id].isTopicTried,
            let steps = dispatch.topicRefused(topic, attempt, now: now.instant)
        else { return false }
        decision.connections += steps
        guard isKept(id), !supersededByNewer(id, now: now) else { return true }
        deliveries.update(id) { $0.isTopicTried = true }
        countRetry(because: failure.reason)
        approach(id, now: now)
        return true
    }

    /// Parks the delivery's route, and postpones or resends the delivery.
    ///
    /// - Returns: whether the route was in use until now.
    @discardableResult
    private mutating func parkCredential(
        of id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) -> Bool {
        let route = deliveries[id].routeInUse
        let sentAt = deliveries[id].sentAt ?? now.instant
        let isNew = dispatch.park(
            route,
            failure.reason,
            sentAt: sentAt,
            now: now.instant,
            using: &random
        )
        guard isKept(id) else { return isNew }
        let parking = dispatch.parking(of: route)
        // It was sent with the previous key; the current one may work.
        if parking.isReplaced(since: sentAt), deliveries[id].attempts < settings.retry.attempts {
            guard !supersededByNewer(id, now: now) else { return isNew }
            countRetry(because: failure.reason)
            approach(id, now: now)
            return isNew
        }
        postpone(id, because: failure, notBefore: parking.parkedUntil, now: now)
        return isNew
    }

    /// Throttles a device until that time, because APNs asked for it.
    ///
    /// Of waiting deliveries with the same `collapse_id`, only the newest is kept.
    ///
    /// If the wait exceeds what a retry in memory may take, the waiting deliveries go to a retry
    /// topic. The refused delivery itself does not: the caller handles it.
    private mutating func throttle(
        _ device: KeyedHash,
        after refused: (id: DeliveryID, failure: AttemptFailure),
        until: Instant,
        now: Moment
    ) {
        let longest = now.instant + settings.retryHereFor
        dispatch.throttled(device, until: min(until, longest))
        let line = dispatch.line(of: device)
        if deliveries[refused.id].facts.isBroadcast {
            for older in line.dropFirst() { supersede(older, now: now) }
            return
        }
        var seen: Set<KeyedHash> = []
        for id in line {
            guard let collapse = deliveries[id].facts.collapse else { continue }
            if !seen.insert(collapse).inserted { supersede(id, now: now) }
        }
        guard until > longest, settings.canPostpone else { return }
        for id in dispatch.line(of: device).reversed() where id != refused.id {
            postpone(id, because: refused.failure, notBefore: until, now: now)
        }
    }

    /// Counts a retry by reason; all APNs reasons that we do not know count as one.
    private mutating func countRetry(because reason: Reason) {
        counts.retries += 1
        if case .unknownAPNs = reason {
            retriesByReason[.unknownAPNs(""), default: 0] += 1
        } else {
            retriesByReason[reason, default: 0] += 1
        }
    }

    // MARK: - Ends

    /// Sends a delivery in a blocked lane to a retry topic, with all deliveries to its device.
    ///
    /// The failure names why the lane is blocked. `isSpared`: the delivery stays.
    private mutating func postponeBlocked(
        _ id: DeliveryID,
        lane: Int,
        now: Moment,
        sparing isSpared: (Delivery) -> Bool = { _ in false }
    ) {
        let (failure, notBefore) = dispatch.blockage(lane: lane)
        // Otherwise the next ones of the device would enter the lane one by one.
        for member in line(of: id).reversed() where !isSpared(deliveries[member]) {
            counts.madeRoom += 1
            postpone(member, because: failure, notBefore: notBefore, now: now)
        }
    }

    /// The deliveries to the same device, newest first, or the delivery alone.
    private func line(of id: DeliveryID) -> [DeliveryID] {
        deliveries[id].line.map { dispatch.line(of: $0) } ?? [id]
    }

    /// Defers a delivery to a retry topic, or ends it if no tier fits.
    ///
    /// The delivery must not have a stream. If no tier fits, it becomes `undeliverable` with the
    /// failure's reason; if it has expired, `expired`.
    ///
    /// - Parameters:
    ///   - id: the delivery.
    ///   - failure: why its last attempt failed, or why it cannot be attempted.
    ///   - notBefore: the earliest useful time of the next attempt, for example from `Retry-After`.
    ///   - now: this turn's moment.
    private mutating func postpone(
        _ id: DeliveryID,
        because failure: AttemptFailure,
        notBefore: Instant? = nil,
        now: Moment
    ) {
        leaveLine(id)
        guard isKept(id) else { return }
        if deliveries[id].fanOut == nil, deliveries[id].facts.recipientCount > 0 {
            // Each has its own expiration and history; some may be settled, invalid, or repeated.
            openFanOut(id, deliveries[id].arrival, postponing: failure)
            return
        }
        let wait = notBefore.map { $0 - now.instant } ?? .zero
        let deferral = retry.deferral(
            of: deliveries[id],
            because: failure,
            waitingFor: wait,
            now: now
        )
        putOff(id, deferral, because: failure, now: now)
    }

    /// Writes the event to a retry topic, or ends it: because it has expired, or with the failure
    /// if there is no such topic.
    private mutating func putOff(
        _ id: DeliveryID,
        _ deferral: Deferral?,
        because failure: AttemptFailure,
        now: Moment
    ) {
        let arrival = deliveries[id].arrival
        if arrival.facts.kind == .fanOut, deferral == nil || isExpired(id, now: now) {
            // Each recipient has an outcome of its own.
            return openFanOut(id, arrival, refusing: deferral == nil ? failure : nil)
        }
        guard !isExpired(id, now: now) else {
            expire(id, at: now.timestamp, now: now)
            return
        }
        guard let deferral else {
            conclude(
                id,
                with: .undeliverable(failure.reason, status: failure.httpStatus),
                now: now
            )
            return
        }
        if let fanOut = deliveries[id].fanOut, let recipient = deliveries[id].facts.recipient {
            intake.recipientDeferred(
                fanOut,
                recipient,
                deferral,
                source: deliveries[id].facts.source,
                now: now.instant
            )
            remove(id, isUndone: false)
            return
        }
        deliveries.update(id) { $0.conclusion = .deferred(deferral) }
        publish(.retry, of: id)
    }

    /// Writes recipients to a retry topic that were deferred, those of a record together.
    private mutating func deferGroups(now: Moment) {
        let isHurried = assignment.isReleasing || assignment.isShuttingDown
        for group in intake.groupsDue(now: now.instant, isHurried: isHurried) {
            let id = deliveries.insert(group.arrival, group.entry, of: group.fanOut)
            deliveries.update(id) { $0.conclusion = .deferred(group.deferral) }
            if isKept(id) { publish(.retry, of: id) }
        }
    }

    /// Drops recipients of records whose partition is read again: the records arrive again.
    private mutating func closeStaleFanOuts() {
        let assignment = assignment
        closeFanOuts { !assignment.isCurrent($0.facts.partition, $1) }
    }

    /// Releases recipients that are not deliveries yet, of the records that `isWanted` accepts.
    private mutating func closeFanOuts(
        where isWanted: (Arrival, OffsetLedger.Entry) -> Bool = { _, _ in true }
    ) {
        for released in intake.closeFanOuts(where: isWanted) {
            counts.released += released.recipients.count
            let partition = released.arrival.facts.partition
            for recipient in released.recipients {
                assignment.letGo(partition, released.entry, recipient: recipient)
            }
        }
    }

    /// Decides the outcome of an event, and publishes it.
    private mutating func conclude(
        _ id: DeliveryID,
        with finding: consuming Finding,
        now: Moment
    ) {
        if settings.isTransactional, !isKept(id) { return }
        leaveLine(id)
        let arrival = deliveries[id].arrival
        if let names = arrival.facts.names {
            let words = hygiene.ended(
                &finding,
                arrival,
                names,
                deadSince: deliveries[id].deadSince,
                now: now
            )
            for word in words { spread(word) }
        }
        var records: Publications = .outcome
        // Most events are accepted, and need only an outcome record.
        if !finding.isAccepted || finding.isTokenReadmitted {
            if settings.publishesTokenStatus, finding.concernsToken, !arrival.facts.isBroadcast {
                records.insert(.tokenStatus)
            }
            if settings.publishesDeadLetters, finding.kind.isDeadLetter {
                records.insert(.deadLetter)
            }
        }
        let credential = arrival.facts.route.map { settings.credentials[$0.credential].name }
        let ending = Ending(
            finding,
            credential: credential,
            attempts: deliveries[id].totalAttempts,
            sentAt: deliveries[id].sentAt,
            answeredAt: deliveries[id].answeredAt,
            completedAt: now.timestamp
        )
        deliveries.update(id) { $0.conclusion = .ended(ending) }
        publish(records, of: id)
    }

    /// Reports news of a token to the process's list, and to waiting deliveries with the same
    /// token.
    private mutating func spread(_ word: TokenWord) {
        decision.tokenWords.append(word)
        let line = dispatch.line(of: word.token)
        for id in line { deliveries.update(id) { $0.deadSince = word.deadSince } }
        if !line.isEmpty { hygiene.doubt(word.token) }
    }

    /// Publishes the records of a decided delivery: now, or in the next transaction.
    private mutating func publish(_ records: Publications, of id: DeliveryID) {
        move(id, to: .publishing(records))
        publishing.decided(id, records, needing: auxiliaryTopic(of: records, id))
        if settings.isTransactional {
            assignment.settlementAnnounced()
        } else if records == .retry {
            waitsBesideOutcome(id, for: records)
        } else if records.contains(.tokenStatus), let target = deliveries[id].facts.names?.target {
            for older in publishing.statusDecided(id, of: target) {
                drop(PublicationTag(older, .tokenStatus), isOutdated: true)
            }
        }
    }

    /// The delivery no longer waits for its token status.
    private mutating func statusEnded(_ id: DeliveryID, isWritten: Bool) {
        guard let target = deliveries[id].facts.names?.target else { return }
        publishing.statusEnded(id, of: target, isWritten: isWritten)
    }

    /// The topic that a delivery's records need in addition to the results topic.
    private func auxiliaryTopic(of records: Publications, _ id: DeliveryID) -> RecordTopic? {
        guard settings.isTransactional, records != .outcome else { return nil }
        switch records.auxiliary {
        case .tokenStatus: return .tokenStatus
        case .deadLetter: return .deadLetters
        case .outcome, .retry, nil:
            return deliveries[id].deferral.map {
                .retry(source: deliveries[id].facts.source, tier: $0.tier)
            }
        }
    }

    /// Ends a delivery without an outcome: the partition's next owner reads the record again.
    ///
    /// `isUndone`: its outcome was decided but is not written, so the record is not a duplicate
    /// when it is read again.
    private mutating func release(_ id: DeliveryID, isUndone: Bool = false) {
        counts.released += deliveries[id].recipientCount
        deliveries[id].forEachSettledRecord {
            assignment.letGo($0.partition, $0.entry, recipient: $0.recipient)
        }
        remove(id, isUndone: isUndone)
    }

    /// Removes a delivery from the shard.
    ///
    /// - Returns: The removed delivery.
    @discardableResult
    @inline(__always)
    private mutating func remove(_ id: DeliveryID, isUndone: Bool) -> Delivery {
        leaveLine(id)
        left(deliveries[id].place, id)
        if case .publishing(let awaited) = deliveries[id].place, awaited.contains(.tokenStatus) {
            statusEnded(id, isWritten: false)
        }
        let delivery = deliveries.take(id)
        intake.topicWaitEnded(id)
        if isUndone || !delivery.hasOutcome { hygiene.released(delivery.arrival) }
        if let fanOut = delivery.fanOut {
            intake.left(
                fanOut,
                recipientCount: delivery.recipientCount,
                source: delivery.facts.source
            )
        } else {
            intake.left(delivery.arrival)
        }
        return delivery
    }

    // MARK: - The end of an assignment

    /// Releases held deliveries and recipients that have no delivery: the shard no longer waits for
    /// them.
    private mutating func releaseHeld() {
        closeFanOuts()
        for id in intake.takeAllHeld() {
            intake.entered(deliveries[id].arrival)
            release(id)
        }
    }

    /// Releases deliveries without a stream or an outcome: the partitions' next owner sends them.
    ///
    /// Deliveries in flight stay, so that their outcomes are published; they settle an offset only
    /// if their partition comes back.
    private mutating func releaseWaiting() {
        dropHeldCommit()
        dropTransaction()
        releaseHeld()
        intake.forgetSchemaWaits()
        for id in deliveries.identifiers where deliveries[id].place.isBeforeSending { release(id) }
    }

    /// Drops the transaction at the end of an assignment; the next owner publishes its outcomes.
    private mutating func dropTransaction() {
        guard let dropped = publishing.dropAll() else { return }
        for id in dropped { release(id, isUndone: true) }
        if !publishing.isCommitting { assignment.commitFinished(failed: []) }
    }

    /// Aborts the current transaction and repeats it from its beginning.
    private mutating func abortTransaction(now: Moment) {
        if publishing.undo(now: now.instant) { undone() }
    }

    private mutating func undone() {
        tally.transactionUndone()
        assignment.commitFinished(failed: assignment.partitions)
        assignment.settlementAnnounced()
    }

    private mutating func transactionEnded(_ answer: OutcomeTransactions.Answer) {
        switch answer {
        case .undone: undone()
        case .ended(let reason): stop(because: .transactionsEnded(reason))
        case .committed, .nothing: break
        }
    }

    /// Requests a stop; only the first reason is reported.
    private mutating func stop(because reason: StopReason) {
        decision.stop = decision.stop ?? reason
    }

    // MARK: - Queries

    /// The number of records the shard may take from Kafka now.
    public mutating func intakeBudget(now: Instant) -> Int {
        log?.note(.intakeBudgetAsked) { $0.write(now) }
        return intake.budget(now: now)
    }

    /// When the next turn is due if nothing happens earlier.
    public func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            deadline = min(deadline ?? instant, instant)
        }
        consider(deliveries.nextDeadline?.at)
        consider(retry.nextDeadline)
        consider(intake.nextDeadline)
        consider(publishing.nextDeadline)
        consider(assignment.nextDeadline())
        consider(dispatch.nextDeadline(now: now, isNearlyFull: intake.isNearlyFull))
        if !campaigns.isEmpty, assignment.mayBeginAttempts(now: now) {
            consider(campaigns.nextDeadline(now: now))
            // Recipients that are not deliveries yet may be all that waits for a pause.
            for case let campaign? in intake.recipientQueues.map(\.campaign) {
                consider(campaigns.endOfPause(of: campaign, now: now))
            }
        }
        if intake.hasRoomForRecipient, haveRecipientsRoom(now: now) { consider(now) }
        consider(heldCommit?.until(isHurried: isHurried))
        if !settings.isTransactional || publishing.mayClose { consider(tally.nextDeadline) }
        return deadline
    }

    /// The next delivery whose schema has arrived; decode it again and pass it to `recordDecoded`.
    ///
    /// One at a time, because decoding all of them may take too long for one turn.
    public mutating func nextToDecode() -> DeliveryID? {
        log?.note(.nextToDecodeAsked)
        return intake.nextToDecode()
    }

    /// Tokens to look up in the process's list again, before the turn ends.
    ///
    /// Those of deliveries in line whose token was reported as dead, and of those that waited in no
    /// line and proceed now.
    public mutating func doubtfulTokens(now: Instant) -> [KeyedHash] {
        let due = dueWithoutLine(now: now)
        guard hygiene.hasDoubts || !due.isEmpty else { return [] }
        let targets = due.compactMap { deliveries[$0].facts.names?.target }
        return hygiene.doubtfulTokens(besides: targets).sorted { $0.rawValue < $1.rawValue }
    }

    /// A copy of the delivery; nil if it has left.
    public func delivery(_ id: DeliveryID) -> Delivery? {
        deliveries.contains(id) ? deliveries[id] : nil
    }

    /// The value for `APNsAnswer.topic`; nil if the delivery has left.
    ///
    /// Needed for an answer that refuses the topic, and occasionally for a 200.
    public func topic(of id: DeliveryID) -> KeyedHash? {
        guard deliveries.contains(id) else { return nil }
        return settings.hygiene.hashKey.hash(of: deliveries[id].arrival.topic)
    }

    /// Prefetches memory that will be needed soon; changes nothing else.
    ///
    /// Call it for each element of a batch before processing it. `ahead` returns the delivery whose
    /// part to fetch: the one that is the part's `distance` ahead in the batch; nil: none.
    /// `mutating`, so that the engine is borrowed instead of copied.
    @inline(__always)
    public mutating func lookAhead(_ ahead: (DeliveryPart) -> DeliveryID?) {
        deliveries.lookAhead(ahead)
    }

    /// Deliveries: records, and recipients of records.
    public var inFlightEvents: Int { intake.events }
    /// Recipients of records in hand that `inFlightEvents` leaves out: those that wait for a place,
    /// and of those that are retried together all but one.
    public var waitingRecipients: Int { intake.waitingRecipients }
    /// Settled recipients for which the last commits' metadata had no room.
    public var droppedRecipients: Int { assignment.droppedRecipients }
    public var inFlightBytes: Int { intake.bytes }
    /// Retry records in flight that are not due yet.
    public var heldEvents: Int { intake.heldEvents }
    public var heldBytes: Int { intake.heldBytes }
    /// Whether every assigned partition may deliver records: no limit is reached, none is held
    /// back.
    public var isIntakeOpen: Bool {
        assignment.isTakingRecords && assignment.heldBack.isEmpty && intake.isOpen
    }
    public var assignedPartitions: [PartitionID] { assignment.partitions }

    /// True once the shard has left the group and commits nothing more.
    public var hasLeftGroup: Bool { assignment.phase == .left }

    /// The partition's next offset to read; nil: unknown.
    public func position(of partition: PartitionID) -> Offset? {
        assignment.position(of: partition)
    }

    /// The partition's lowest unsettled offset, or its next offset to read if all are settled.
    ///
    /// Nil: unknown.
    public func unsettledOffset(of partition: PartitionID) -> Offset? {
        assignment.unsettledOffset(of: partition)
    }

    /// When the shard started to wait for the group's offsets; nil: it is not waiting.
    public var offsetsMissingSince: Instant? { assignment.offsetsMissingSince }

    /// Whether the shard paused the partition in Kafka.
    public func isPaused(_ partition: PartitionID) -> Bool { intake.isPaused(partition) }

    /// The connections of a route.
    public func pool(of route: Route) -> PoolMachine { dispatch.pool(of: route) }

    /// The number of a route's deliveries that wait for a stream.
    public func waitingCount(of route: Route) -> Int { dispatch.waitingCount(of: route) }

    public func breaker(of route: Route) -> CircuitBreaker { dispatch.breaker(of: route) }

    public func parking(of route: Route) -> CredentialParking { dispatch.parking(of: route) }

    /// The route's token fuse; nil: none is configured.
    public func tokenFuse(of route: Route) -> TokenFuse? { hygiene.fuse(of: route) }

    /// What the shard knows of each campaign, sorted by name.
    ///
    /// Scans all deliveries, so do not call it every turn.
    public var campaignProgress: [CampaignProgress] {
        var byKey: [KeyedHash: CampaignProgress] = [:]
        for (key, name, counts) in tally.campaigns {
            guard let name else { continue }
            byKey[key, default: CampaignProgress(name)].counts += counts
        }
        deliveries.forEachOfCampaign { key, delivery in
            guard let name = delivery.arrival.campaign else { return }
            // A whole record counts as all of its recipients.
            let count =
                delivery.fanOut == nil
                ? max(1, delivery.facts.recipientCount) : delivery.recipientCount
            switch delivery.place {
            case .atCampaign, .held:
                byKey[key, default: CampaignProgress(name)].waiting += count
            // On its way to a retry topic.
            case .publishing where delivery.conclusion?.isEnd == false:
                byKey[key, default: CampaignProgress(name)].waiting += count
            default: byKey[key, default: CampaignProgress(name)].inFlight += count
            }
        }
        intake.forEachWaitingRecord { arrival, count in
            guard let key = arrival.facts.campaign, let name = arrival.campaign else { return }
            byKey[key, default: CampaignProgress(name)].waiting += count
        }
        return byKey.values.sorted { $0.campaign < $1.campaign }
    }

    /// Whether a commit waits until the tally topic has the outcomes that it settles.
    public var isCommitHeld: Bool { heldCommit != nil }

    /// Outcomes of campaigns that no tally has, because too many are counted.
    public var untalliedOutcomes: Int { tally.uncounted }

    /// The number of deliveries that wait until their campaign may send.
    public var awaitingCampaignCount: Int { campaigns.waitingCount }

    /// The number of a campaign's deliveries that wait until it may send.
    public func awaitingCampaignCount(of campaign: CampaignName) -> Int {
        campaigns.count(of: settings.hygiene.hashKey.hash(of: campaign))
    }

    /// The number of deliveries that wait for their app's rate limit.
    public var rateLimitedCount: Int { dispatch.rateLimitedCount }

    /// The number of deliveries whose schema is being fetched, or that have not been decoded since.
    public var awaitingSchemaCount: Int { intake.awaitingSchemaCount }

    public var hasToDecode: Bool { intake.hasToDecode }

    /// The transactions of the shard's producer; nil: outcomes are written without transactions.
    public var transactions: OutcomeTransactions? { publishing.transactions }

    /// When the oldest event without an acknowledged outcome was read; nil: there are none.
    ///
    /// Leaves out retry records that wait to become due, at most one per partition, and events that
    /// wait for their campaign. Scans all deliveries, so do not call it every turn.
    public var oldestArrival: Instant? { deliveries.oldestArrival }

    /// By source, when the oldest record in flight was written to Kafka; nil: none is in flight.
    ///
    /// Leaves out records of retry topics and those that wait for their campaign: they wait on
    /// purpose. Do not call it every turn either.
    public func oldestRecords(ofSources count: Int) -> [Timestamp?] {
        deliveries.oldestRecords(ofSources: count)
    }
}

/// A commit that waits until the tally topic has the outcomes that it settles.
private struct HeldCommit: Sendable {
    /// How long it waits, also if the shard gives up its partitions.
    private static let patience = (usual: Duration.seconds(5), hurried: Duration.seconds(1))

    let commits: [PartitionCommit]
    /// The last batch of records that it waits for.
    var batch: UInt32
    let since: Instant

    func until(isHurried: Bool) -> Instant {
        since + (isHurried ? Self.patience.hurried : Self.patience.usual)
    }
}

/// What happened to a record that arrived.
public struct ArrivalReply: Hashable, Sendable {
    /// False if the shard must not deliver the record.
    ///
    /// It was settled before, or is not in the assignment; this copy of it moves no offset.
    public var isTaken = false
    /// Whether it is a retry record that is not due yet; its partition must be paused.
    public var isEarly = false
    /// False once the shard has reached its limit of bytes.
    public var hasRoom = true

    /// Whether to take no more records in this turn.
    public var stopsReading: Bool { isEarly || !hasRoom }
}

/// An answered attempt, with its verdict.
public struct JudgedAttempt: Hashable, Sendable {
    public let verdict: Verdict
    public let route: Route
    public let sentAt: Instant
    /// Whether the answer parks the credential, and with it every credential that has its key.
    public let revokesKey: Bool
}

/// Counters since the start; they only grow.
public struct EngineCounts: Hashable, Sendable {
    /// Records taken, tombstones included; a record with recipients counts as that many.
    public var consumed = 0
    /// Records not taken because they were settled before, by this shard or another.
    public var skippedSettled = 0
    public var tombstones = 0
    /// Outcomes acknowledged by Kafka.
    public var terminal = 0
    /// Retry records acknowledged by Kafka.
    ///
    /// Each ends one consumption; the event is consumed again when it comes out of the retry topic.
    public var deferred = 0
    /// Deliveries released without an outcome, because their partition was given up.
    ///
    /// The partition's next owner reads them again.
    public var released = 0
    public var attempts = 0
    public var retries = 0
    /// Streams that the peer returned unprocessed.
    public var unprocessed = 0
    /// Deliveries replaced by a newer one with the same `collapse_id`.
    public var superseded = 0
    /// Deliveries deferred without an attempt, because their route or device delayed others.
    public var madeRoom = 0
    /// Retries that the credential's budget did not allow.
    public var retriesDenied = 0

    public init() {}
}
