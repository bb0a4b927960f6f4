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
/// 2. `turnEnded(now:into:)`: time passes, streams open, offsets are committed; all that is to be
///    done is handed over as one `TurnDecision`;
/// 3. queries: `intakeBudget`, `nextDeadline`.
///
/// The engine itself has no policy. It keeps the table of deliveries, and passes each question to
/// the one of six owners that is responsible; each answers with a decision, which the engine
/// carries out. Owners keep their state private and do not know each other:
///
/// - `Assignment`: what the shard owns in Kafka, what of it is settled, and when that is committed
/// - `Intake`: how much may enter, and what arrived too early
/// - `Hygiene`: what must not be sent
/// - `Dispatch`: from a device's line to a stream
/// - `Retry`: what follows a failed attempt
/// - `Publishing`: the records that say how deliveries ended
public struct DeliveryEngine: Sendable {
    private let settings: EngineSettings
    private var random: SeededGenerator
    private var deliveries = DeliveryTable()
    private var assignment: Assignment
    private var intake: Intake
    private var hygiene: Hygiene
    private var dispatch: Dispatch
    private var retry: Retry
    private var publishing: Publishing
    public private(set) var counts = EngineCounts()
    /// `counts.retries` by the failed attempt's reason; unknown reasons of APNs count as one.
    public private(set) var retriesByReason: [Reason: Int] = [:]
    /// What is to be done at the end of this turn.
    private var decision = TurnDecision()
    /// Nil: inputs are not logged.
    private var log: InputLog?

    /// Makes an engine that has nothing in flight.
    ///
    /// - Parameters:
    ///   - settings: What the configuration decides.
    ///   - seed: Of its random numbers.
    ///   - version: Of the program, if the inputs are to be logged; see `takeLog`.
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
                // Only Kafka knows whether the last transaction before a rebalance happened.
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

    /// - Returns: whether the record is the shard's to deliver.
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
        if let wait, arrival.facts.kind == .event {
            move(id, to: .held)
            intake.held(id, arrival, for: wait, now: now.instant)
        } else {
            begin(id, now: now)
        }
        return true
    }

    /// A record that waited for its schema was decoded again, and read again.
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
            // The registry was asked, and did not say.
            conclude(id, with: .invalid(reason), now: now)
        } else {
            move(id, to: .undecided)
            begin(id, now: now)
        }
    }

    /// The process's list was asked of one of the `doubtfulTokens`.
    public mutating func tokenHeard(_ token: KeyedHash, deadSince: Timestamp?, now: Instant) {
        log?.note(.tokenHeard) {
            $0.write(token)
            $0.write(deadSince)
            $0.write(now)
        }
        for id in dispatch.line(of: token) { deliveries.update(id) { $0.deadSince = deadSince } }
        for id in intake.heldDue(now: now) where deliveries[id].facts.names?.target == token {
            deliveries.update(id) { $0.deadSince = deadSince }
        }
    }

    /// The registry answered: the schema is known now, or known to be missing.
    public mutating func schemaFetched(_ schema: SchemaReference) {
        log?.note(.schemaFetched) { $0.write(schema) }
        intake.schemaFetched(schema)
    }

    /// The registry could not be asked; it is asked again, as long as a delivery has time left.
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

    // MARK: - Inputs: APNs

    /// APNs answered a delivery's stream.
    ///
    /// - Returns: what the answer says; nil when none was awaited any more.
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
    /// - Returns: the route of the attempt; nil when none was awaited any more.
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
        // The first refusal in a row may have crossed a limit that was lowered.
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

    /// TLS and HTTP/2 are up, and the peer's SETTINGS are here.
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

    /// The peer goes away; what it did not process is reported stream by stream.
    ///
    /// - Parameters:
    ///   - id: the connection.
    ///   - reason: what the peer says, if it says why.
    ///   - now: this turn's moment.
    /// - Returns: whether APNs thereby refuses the credential; what it says of one that was
    ///   replaced since the connection was made does not.
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

    /// The connection has ended, or was never made; each of its streams was reported before.
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

    /// The key or certificate of a credential, by its place in the configuration, was reloaded.
    ///
    /// It is tried at once, on connections of its own; the old ones finish.
    public mutating func credentialReplaced(_ credential: Int, now: Moment) {
        log?.note(.credentialReplaced) {
            $0.write(credential)
            $0.write(now)
        }
        decision.connections += dispatch.credentialReplaced(credential, now: now.instant)
    }

    /// APNs has refused the key of a credential, by its place in the configuration, elsewhere in
    /// the process: to another shard, or to a credential with the same key.
    ///
    /// All connections that used a revoked key are to be closed ("Establishing a token-based
    /// connection to APNs").
    public mutating func keyRevoked(_ credential: Int, now: Moment) {
        log?.note(.keyRevoked) {
            $0.write(credential)
            $0.write(now)
        }
        dispatch.park(
            credential,
            .keyRevoked,
            sentAt: now.instant,
            now: now.instant,
            using: &random
        )
    }

    // MARK: - Inputs: what Kafka has

    /// Kafka acknowledged one of the outcome's records, or will never take it.
    ///
    /// - Parameter tag: The record.
    /// - Returns: Whose it is; nil: the delivery had left before, or did not wait for the record.
    @discardableResult
    public mutating func published(_ tag: PublicationTag) -> PublishedRecord? {
        log?.note(.published) { $0.write(tag) }
        return ended(tag)
    }

    /// The delivery waits for this record no more.
    @inline(__always)
    private mutating func ended(_ tag: PublicationTag) -> PublishedRecord? {
        guard var awaited = awaitedRecords(of: tag) else { return nil }
        awaited.remove(tag.publication)
        publishing.ended(tag)
        guard awaited.isEmpty, !settings.isTransactional else {
            move(tag.delivery, to: .publishing(awaited))
            if !settings.isTransactional {
                waitsBesideOutcome(tag.delivery, for: awaited)
            } else if tag.publication != .outcome {
                intake.topicWaitEnded(tag.delivery)
            }
            if awaited.isEmpty { publishing.memberFinished() }
            return PublishedRecord(
                arrival: deliveries[tag.delivery].arrival,
                conclusion: deliveries[tag.delivery].concluded,
                isLast: false
            )
        }
        let delivery = remove(tag.delivery, isUndone: false)
        if tag.publication == .retry { counts.deferred += 1 } else { counts.terminal += 1 }
        assignment.settle(delivery.facts.partition, delivery.ledgerEntry)
        return PublishedRecord(
            arrival: delivery.arrival,
            conclusion: delivery.concluded,
            isLast: true
        )
    }

    /// Kafka did not take one of the outcome's records; it will be produced again.
    ///
    /// Without transactions the caller sees to it that a record whose batch was refused has the next
    /// one to itself.
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
            if fault != .batch, intake.hasNoRoomToWait(tag.delivery) {
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

    /// A delivery may wait for nothing but a topic other than the results topic.
    private mutating func waitsBesideOutcome(_ id: DeliveryID, for awaited: Publications) {
        guard !awaited.contains(.outcome), let publication = awaited.auxiliary else { return }
        intake.waitsForTopic(publication, of: id, deliveries[id].arrival)
    }

    /// The delivery goes without this record, which Kafka has not taken.
    private mutating func drop(_ tag: PublicationTag) {
        guard let record = ended(tag) else { return }
        decision.dropped.append(DroppedRecord(tag: tag, record: record))
    }

    /// The records that a delivery waits for, if this one is among them.
    private func awaitedRecords(of tag: PublicationTag) -> Publications? {
        guard deliveries.contains(tag.delivery),
            case .publishing(let awaited) = deliveries[tag.delivery].place,
            awaited.contains(tag.publication)
        else { return nil }
        return awaited
    }

    /// Kafka will never take this record of an outcome: the outcome goes without it.
    ///
    /// - Parameters:
    ///   - tag: The record.
    ///   - now: This turn's moment.
    /// - Returns: Whose it is; see `published`.
    public mutating func publicationAbandoned(
        _ tag: PublicationTag,
        now: Moment
    ) -> PublishedRecord? {
        log?.note(.publicationAbandoned) {
            $0.write(tag)
            $0.write(now)
        }
        guard settings.isTransactional else { return ended(tag) }
        publishing.withdraw(tag)
        abortTransaction(now: now)
        return nil
    }

    /// Kafka will never take the retry record: the event ends here.
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
            guard case .publishing(let awaited) = deliveries[id].place else { continue }
            unacknowledged.append((id, awaited))
        }
        publishing.producerReplaced(unacknowledged)
    }

    /// The transactional call in progress succeeded.
    ///
    /// - Returns: what is now committed, all records of each delivery.
    public mutating func transactionCallSucceeded()
        -> [(written: OutcomeTransactions.Written, record: PublishedRecord)]
    {
        log?.note(.transactionCallSucceeded)
        guard case .committed(let members) = publishing.callSucceeded() else { return [] }
        var committed: [(written: OutcomeTransactions.Written, record: PublishedRecord)] = []
        for member in members where deliveries.contains(member.delivery) {
            let delivery = remove(member.delivery, isUndone: false)
            let conclusion = delivery.concluded
            if conclusion.isEnd { counts.terminal += 1 } else { counts.deferred += 1 }
            assignment.settleCommitted(delivery.settledRecord)
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

    /// The transactional call in progress failed; `isInDoubt`: it may have committed nevertheless.
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

    /// The group gave these partitions to the shard.
    ///
    /// They may come instead of others that were not revoked: when a topic changes, librdkafka
    /// joins again without waiting for the answer to what it offered.
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

    /// Kafka was asked for the group's offset.
    ///
    /// - Parameters:
    ///   - stored: nil where the group never committed a position; a partition that Kafka did not
    ///     answer for is missing, and is requested again.
    ///   - now: this turn's moment.
    /// - Returns: the metadata that is ignored.
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

    /// The partition's next offset to be written, as reported by its first fetch.
    ///
    /// To be given before the partition's first record in an assignment; without it committed
    /// metadata is not used.
    ///
    /// - Returns: metadata about more offsets than there are, which is ignored.
    @discardableResult
    public mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> IgnoredMetadata? {
        log?.note(.endSeen) {
            $0.write(partition)
            $0.write(end)
        }
        return assignment.endSeen(partition, end)
    }

    /// All that there is of the partition was read; its next record will not be before that offset.
    public mutating func endReached(_ partition: PartitionID, _ end: Offset) {
        log?.note(.endReached) {
            $0.write(partition)
            $0.write(end)
        }
        assignment.endReached(partition, end)
    }

    /// The assignment ends; `lost`: the group has already given it to another member.
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

    /// The partition is read from another place; what is in flight of it settles nothing any more.
    public mutating func partitionRestarted(_ partition: PartitionID) {
        log?.note(.partitionRestarted) { $0.write(partition) }
        assignment.partitionRestarted(partition)
    }

    /// The partition is read from `start` on, and what is known of records from there on is of others:
    /// a start's `lastKnown` is gone, or another one stands in its place.
    ///
    /// - Returns: the metadata, which is forgotten.
    @discardableResult
    public mutating func partitionChanged(
        _ partition: PartitionID,
        from start: Offset
    ) -> IgnoredMetadata {
        log?.note(.partitionChanged) {
            $0.write(partition)
            $0.write(start)
        }
        return assignment.partitionChanged(partition, from: start)
    }

    /// Kafka does not have the next offset.
    ///
    /// - Parameters:
    ///   - partition: The partition.
    ///   - offset: The offset.
    ///   - extent: The log's oldest offset and the next one to be written, as its leader says now.
    ///   - oldestBefore: The oldest one as last known before; nil: unknown.
    /// - Returns: why, and where the partition is to be read on.
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
        return assignment.offsetLost(partition, offset, in: extent, oldestBefore: oldestBefore)
    }

    /// The broker takes less metadata than the commit in flight has; its end is reported after
    /// this.
    ///
    /// - Returns: how many characters commits have from now on.
    public mutating func commitMetadataRefused() -> Int {
        log?.note(.commitMetadataRefused)
        return assignment.commitMetadataRefused()
    }

    /// Kafka refuses commits of these partitions, even if it accepts others.
    ///
    /// Their topic is gone, or must not be read. The end of the commit in flight is reported after
    /// this, with them in `failed`.
    public mutating func commitRefused(_ refused: [PartitionID], now: Moment) {
        log?.note(.commitRefused) {
            $0.write(refused)
            $0.write(now)
        }
        assignment.commitRefused(refused, now: now.instant)
    }

    /// The commit in flight ended; `failed` are the partitions whose offset Kafka refused.
    public mutating func commitFinished(failed: [PartitionID]) {
        log?.note(.commitFinished) { $0.write(failed) }
        assignment.commitFinished(failed: failed)
    }

    /// SIGTERM: take nothing new, finish what is in flight, commit, leave.
    public mutating func shutdownRequested(now: Moment) {
        log?.note(.shutdownRequested) { $0.write(now) }
        guard !assignment.isShuttingDown else { return }
        releaseHeld()
        assignment.shutdownRequested(now: now.instant)
        intake.reasonChanged()
    }

    // MARK: - The turn

    /// Advances time, and decides what it and all inputs since the last turn require.
    ///
    /// - Parameters:
    ///   - now: this turn's moment.
    ///   - decision: takes what is to be done, instead of what it holds; to be handed in again
    ///     the next time, for its memory.
    public mutating func turnEnded(now: Moment, into decision: inout TurnDecision) {
        endOverdueAttempts(now: now)
        while let id = retry.popDue(now: now.instant, in: deliveries) { approach(id, now: now) }
        self.decision.schemaFetches += intake.schemasDue(now: now.instant)
        wakeHeld(now: now)
        while let id = dispatch.nextOfRate(now: now.instant, in: deliveries) {
            move(id, to: .inLane, now: now)
        }
        produceAgain(now: now)
        sweep(now: now)
        for lane in dispatch.lanesDue(now: now.instant) { turn(lane: lane, now: now) }
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

    /// Returns what was logged since the last call: whole turns, the first time after the log's
    /// header; see `Replay`.
    public mutating func takeLog() -> [UInt8] { log?.take() ?? [] }

    /// Logs no further input.
    public mutating func endLog() { log = nil }

    private mutating func takeRecords() {
        for tag in publishing.takeRecords() {
            // Kafka may have acknowledged what was to be produced again.
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

    /// Now and then: what waits and has expired ends here, connection or not; what waits for a
    /// blocked route makes room.
    private mutating func sweep(now: Moment) {
        guard dispatch.beginSweep(now: now.instant),
            // What ends now might end too late for the last commit, and once more at the next owner.
            assignment.mayBeginAttempts(now: now.instant)
        else { return }
        var expired = dispatch.sweepRates(in: deliveries).filter { isExpired($0, now: now) }
        for lane in dispatch.busyLanes {
            let blockedSince = dispatch.inTheWaySince(lane: lane)
            var blocked: [DeliveryID] = []
            for id in dispatch.sweepLane(lane, in: deliveries) {
                if isExpired(id, now: now) {
                    expired.append(id)
                } else if let blockedSince,
                    dispatch.hasWaitedTooLong(
                        deliveries[id].arrival,
                        lane: lane,
                        blockedSince: blockedSince,
                        now: now.instant
                    )
                {
                    blocked.append(id)
                }
            }
            for id in blocked { postponeBlocked(id, lane: lane, now: now) }
        }
        for id in expired { expire(id, at: now.timestamp, now: now) }
        guard intake.isNearlyFull else { return }
        for id in dispatch.tooManyInLine(in: deliveries, now: now.instant) {
            counts.madeRoom += 1
            postpone(id, because: .deviceCongested, now: now)
        }
    }

    private func isExpired(_ id: DeliveryID, now: Moment) -> Bool {
        deliveries[id].facts.isExpired(at: now.timestamp)
    }

    /// The event is over at that time, and ends.
    private mutating func expire(_ id: DeliveryID, at timestamp: Timestamp, now: Moment) {
        conclude(id, with: .expired(deliveries[id].facts.expiry(at: timestamp)), now: now)
    }

    private mutating func turn(lane: Int, now: Moment) {
        dispatch.laneBegan(lane, now: now.instant)
        let mayBegin = assignment.mayBeginAttempts(now: now.instant)
        if mayBegin { openStreams(lane: lane, now: now) }
        dispatch.reviewBlockage(lane: lane, now: now.instant)
        if mayBegin { makeRoom(lane: lane, now: now) }
        decision.connections += dispatch.laneEnded(lane, now: now.instant)
    }

    /// Opens streams for what waits, as far as the connections have room.
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

    /// Takes out of the lane what is more than its share while it does not move.
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
        intake.timeAdvanced(now: now.instant)
        // What is revoked stands as it is until it goes.
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
        decision.group += assignment.timeAdvanced(now: now.instant, isDrained: isDrained)
        if assignment.partitions.count < owned { releaseWaiting() }
        if assignment.hasWaitedTooLong(now: now.instant) { stop(because: .offsetsUnknown) }
    }

    /// Whether a delivery of the present assignment is in flight that may still come to its end; in
    /// a transaction, the last commit takes those with it that have come to their outcome.
    private func isAnyUnfinished(now: Moment) -> Bool {
        let isTransactional = settings.isTransactional
        let mayBegin = assignment.mayBeginAttempts(now: now.instant)
        return deliveries.contains { delivery in
            switch delivery.place {
            case .publishing where isTransactional: false
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
        }
        if assignment.isCommitWanted || publishing.isFull { publishing.close() }
        guard let members = publishing.membersToCommit else { return }
        let commits = assignment.takeCommits(settling: members.map { deliveries[$0].settledRecord })
        if !publishing.commit(commits) { assignment.commitFinished(failed: []) }
        carryOutTransactionSteps()
    }

    /// A delivery needs a topic that accepts nothing; without room to wait for it, it goes without
    /// that record.
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
        decision.dropped.append(DroppedRecord(tag: tag, record: record))
    }

    private mutating func carryOutTransactionSteps() {
        decision.transactions += publishing.takeSteps()
    }

    // MARK: - A delivery's way

    /// The only way from one place to the next: the owner of the old place counts one less, and the
    /// new one's queues the ticket.
    ///
    /// - Parameters:
    ///   - id: The delivery.
    ///   - place: Where it goes.
    ///   - due: Until when it waits, if it is to wait.
    ///   - isFirst: Whether it goes before all others of its lane.
    ///   - now: This turn's moment, for what enters a lane.
    private mutating func move(
        _ id: DeliveryID,
        to place: Delivery.Place,
        until due: Instant? = nil,
        isFirst: Bool = false,
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
            dispatch.enteredRate(ticket, limit: limit)
        case .inLane:
            deliveries.update(id) { $0.queuedAt = now?.instant }
            dispatch.enteredLane(
                ticket,
                deliveries[id].routeInUse,
                source: deliveries[id].facts.source,
                isFirst: isFirst
            )
        case .undecided, .awaitingSchema, .held, .inLine, .onStream, .publishing: break
        }
    }

    private mutating func left(_ place: Delivery.Place, _ id: DeliveryID) {
        switch place {
        case .atRate:
            if let limit = deliveries[id].facts.rateLimit { dispatch.leftRate(limit: limit) }
        case .inLane:
            dispatch.leftLane(deliveries[id].routeInUse, source: deliveries[id].facts.source)
        case .onStream: deliveries.returned(id)
        case .undecided, .awaitingSchema, .held, .inLine, .waiting, .publishing: break
        }
    }

    /// What a record is waiting for, if for anything, or whether it is sent.
    private mutating func begin(_ id: DeliveryID, now: Moment) {
        let arrival = deliveries[id].arrival
        if let schema = arrival.facts.awaitedSchema {
            // What it is can be said without the registry; only why cannot.
            if let reason = arrival.facts.invalidReason, intake.hasFailed(schema) {
                conclude(id, with: .invalid(reason), now: now)
            } else {
                awaitSchema(schema, id, arrival, now: now)
            }
        } else if let reason = arrival.facts.invalidReason {
            conclude(id, with: .invalid(reason), now: now)
        } else {
            route(id, arrival, now: now)
        }
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

    /// Whether an event is sent.
    private mutating func route(_ id: DeliveryID, _ arrival: Arrival, now: Moment) {
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
        if let history = arrival.facts.history, retry.isPastGiveUp(history, now: now.timestamp) {
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
            if deadSince != nil { hygiene.doubt(names.target) }
            deliveries.update(id) { $0.deadSince = deadSince }
            joinLine(id, arrival, route, names.target, now: now)
        }
    }

    /// A delivery comes to the end of its device's line.
    private mutating func joinLine(
        _ id: DeliveryID,
        _ arrival: Arrival,
        _ route: Route,
        _ device: KeyedHash,
        now: Moment
    ) {
        deliveries.update(id) { $0.isInLine = true }
        guard !dispatch.joined(id, device, on: route) else {
            approach(id, now: now)
            return
        }
        move(id, to: .inLine)
        if arrival.facts.isBroadcast {
            // A channel's newest broadcast says all that its older ones do, and better.
            for older in dispatch.line(of: device) where older != id { supersede(older, now: now) }
        } else if let collapse = arrival.facts.collapse, dispatch.isThrottled(device) {
            for older in dispatch.line(of: device).dropFirst()
            where deliveries[older].facts.collapse == collapse {
                supersede(older, now: now)
            }
        }
    }

    /// First of its device's line: on to the route's queue, when the app's rate allows.
    private mutating func approach(_ id: DeliveryID, now: Moment) {
        if let limit = deliveries[id].facts.rateLimit,
            !dispatch.mayPass(limit: limit, now: now.instant)
        {
            move(id, to: .atRate)
        } else {
            move(id, to: .inLane, now: now)
        }
    }

    /// The delivery needs its place in the line no more: the device's next one may go.
    ///
    /// Called for every delivery that ends, is postponed or is handed back; again does nothing.
    private mutating func leaveLine(_ id: DeliveryID) {
        guard let line = deliveries[id].line else { return }
        deliveries.update(id) { $0.isInLine = false }
        if let (next, notBefore) = dispatch.left(id, line, on: deliveries[id].routeInUse) {
            move(next, to: .waiting, until: notBefore)
        } else if hygiene.hasDoubts, !dispatch.hasLine(line) {
            hygiene.lineEnded(line)
        }
    }

    /// Ends a delivery that has no stream, because a newer one says the same better; one that is
    /// being sent stays: its answer decides.
    private mutating func supersede(_ id: DeliveryID, now: Moment) {
        switch deliveries[id].place {
        case .undecided, .inLine, .atRate, .inLane, .waiting:
            counts.superseded += 1
            conclude(id, with: .superseded, now: now)
        case .awaitingSchema, .held, .onStream, .publishing: break
        }
    }

    /// Ends a broadcast that would be sent once more, though a newer one waits behind it.
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
    /// - Returns: nil when no answer is expected for it any more.
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

    /// Whether the delivery is still this shard's to finish; if not, releases it: its partition was
    /// given up meanwhile, and its new owner sends it.
    private mutating func isKept(_ id: DeliveryID) -> Bool {
        if assignment.isCurrent(deliveries[id].facts.partition, deliveries[id].ledgerEntry) {
            return true
        }
        release(id)
        return false
    }

    /// The next attempt after a wait, or later, unless the last one was the last.
    private mutating func tryAgain(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        retryAfter: Duration?,
        isDeviceThrottled: Bool = false,
        now: Moment
    ) {
        guard isKept(id),
            // A channel that is throttled stays so for the newer one.
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

    /// Nobody knows whether APNs had the notification: again with the same `apns-id`, unless late
    /// is wrong.
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

    /// Elsewhere or once more, and without counting: the peer did not process the request.
    ///
    /// At once the first time, then with growing delays. A peer that refuses for `retryHereFor` has
    /// Kafka keep the event; what no retry topic takes waits here, until it is given up or expires.
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
            move(id, to: .inLane, isFirst: true, now: now)
            return
        }
        let due = now.advanced(by: delay)
        guard due.instant > firstFailureAt + settings.retryHereFor else {
            backOff(id, until: due, now: now)
            return
        }
        // Where no retry topic fits, there is nothing to end it for before it is given up.
        let delivery = deliveries[id]
        let deferral = retry.deferral(of: delivery, because: failure, waitingFor: .zero, now: now)
        if deferral != nil || due.timestamp > retry.giveUpAt(delivery, now: now) {
            postpone(id, because: failure, now: now)
        } else {
            backOff(id, until: due, now: now)
        }
    }

    /// Waits in memory, if there is still time then.
    private mutating func backOff(_ id: DeliveryID, until due: Moment, now: Moment) {
        if deliveries[id].facts.isExpired(at: due.timestamp) {
            expire(id, at: due.timestamp, now: now)
        } else {
            move(id, to: .waiting, until: due.instant)
        }
    }

    /// The token had expired: a new one, and one more try at once.
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
            // A fresh token did not help, or APNs allows none yet: no event will fare better.
            parkCredential(of: id, after: failure, now: now)
            return
        }
        guard !supersededByNewer(id, now: now) else { return }
        deliveries.update(id) { $0.isProviderTokenRefreshed = true }
        countRetry(because: failure.reason)
        approach(id, now: now)
    }

    /// Sends it once more, on a fresh connection: the old one may not know yet that the topic was added
    /// to the key.
    ///
    /// - Returns: false when the refusal is accepted.
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

    /// Parks the delivery's credential, and takes the delivery out of its way.
    ///
    /// - Returns: whether it was in use until now.
    @discardableResult
    private mutating func parkCredential(
        of id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) -> Bool {
        let credential = deliveries[id].routeInUse.credential
        let sentAt = deliveries[id].sentAt ?? now.instant
        let isNew = dispatch.park(
            credential,
            failure.reason,
            sentAt: sentAt,
            now: now.instant,
            using: &random
        )
        guard isKept(id) else { return isNew }
        let parking = dispatch.parking(of: credential)
        // Sent with the key before: the present one may do.
        if parking.isReplaced(since: sentAt), deliveries[id].attempts < settings.retry.attempts {
            guard !supersededByNewer(id, now: now) else { return isNew }
            countRetry(because: failure.reason)
            approach(id, now: now)
            return isNew
        }
        postpone(id, because: failure, notBefore: parking.nextDeadline, now: now)
        return isNew
    }

    /// APNs has enough of this device until then: of what waits with the same `collapse_id` only
    /// the newest is worth sending.
    ///
    /// What is to wait longer than for a retry from memory goes to a retry topic, all but the
    /// delivery that was refused: it is its caller's.
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

    /// Counts a retry under its reason; what APNs calls it, and we do not know, under one.
    private mutating func countRetry(because reason: Reason) {
        counts.retries += 1
        if case .unknownAPNs = reason {
            retriesByReason[.unknownAPNs(""), default: 0] += 1
        } else {
            retriesByReason[reason, default: 0] += 1
        }
    }

    // MARK: - Ends

    /// What waits in a blocked lane goes to a retry topic, with all that waits for its device; it
    /// says why.
    private mutating func postponeBlocked(_ id: DeliveryID, lane: Int, now: Moment) {
        let (failure, notBefore) = dispatch.blockage(lane: lane)
        // Behind it the device's next ones would come to the lane one by one.
        let line = deliveries[id].line.map { dispatch.line(of: $0) } ?? [id]
        for member in line.reversed() {
            counts.madeRoom += 1
            postpone(member, because: failure, notBefore: notBefore, now: now)
        }
    }

    /// Puts a delivery off to a retry topic, or ends it where no tier fits.
    ///
    /// The delivery has no stream. Where no tier fits, it is `undeliverable` for the reason of this
    /// failure; what has expired already is `expired`.
    ///
    /// - Parameters:
    ///   - id: the delivery.
    ///   - failure: what its last attempt died of, or what keeps it from being attempted.
    ///   - notBefore: when the next attempt makes sense, from `Retry-After` for instance.
    ///   - now: the present moment.
    private mutating func postpone(
        _ id: DeliveryID,
        because failure: AttemptFailure,
        notBefore: Instant? = nil,
        now: Moment
    ) {
        leaveLine(id)
        guard isKept(id) else { return }
        guard !isExpired(id, now: now) else {
            expire(id, at: now.timestamp, now: now)
            return
        }
        let wait = notBefore.map { $0 - now.instant } ?? .zero
        let deferral = retry.deferral(
            of: deliveries[id],
            because: failure,
            waitingFor: wait,
            now: now
        )
        guard let deferral else {
            conclude(
                id,
                with: .undeliverable(failure.reason, status: failure.httpStatus),
                now: now
            )
            return
        }
        deliveries.update(id) { $0.conclusion = .deferred(deferral) }
        publish(.retry, of: id)
    }

    /// Decides the outcome of an event and has it published.
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
        // Most are accepted, and nothing more is to be published than the outcome.
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

    /// Reports news of a token to the process's list, and to what waits for the same token.
    private mutating func spread(_ word: TokenWord) {
        decision.tokenWords.append(word)
        let line = dispatch.line(of: word.token)
        for id in line { deliveries.update(id) { $0.deadSince = word.deadSince } }
        if !line.isEmpty { hygiene.doubt(word.token) }
    }

    /// Has the records of a decided delivery published: now, or in the next transaction.
    private mutating func publish(_ records: Publications, of id: DeliveryID) {
        move(id, to: .publishing(records))
        publishing.decided(id, records, needing: auxiliaryTopic(of: records, id))
        if settings.isTransactional {
            assignment.settlementAnnounced()
        } else if records == .retry {
            waitsBesideOutcome(id, for: records)
        }
    }

    /// The topic that a delivery's records need other than the results topic.
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
    /// `isUndone`: it had come to an outcome, which is not written: it is not a duplicate of its
    /// own return.
    private mutating func release(_ id: DeliveryID, isUndone: Bool = false) {
        counts.released += 1
        assignment.letGo(deliveries[id].facts.partition, deliveries[id].ledgerEntry)
        remove(id, isUndone: isUndone)
    }

    /// Takes the delivery out of the shard's hands.
    ///
    /// - Returns: The delivery as it was.
    @discardableResult
    @inline(__always)
    private mutating func remove(_ id: DeliveryID, isUndone: Bool) -> Delivery {
        leaveLine(id)
        left(deliveries[id].place, id)
        let delivery = deliveries.take(id)
        intake.topicWaitEnded(id)
        if isUndone || !delivery.hasOutcome { hygiene.released(delivery.arrival) }
        intake.left(delivery.arrival)
        return delivery
    }

    // MARK: - The end of an assignment

    /// Releases what is held: nobody waits for it to come due.
    private mutating func releaseHeld() {
        for id in intake.takeAllHeld() {
            intake.entered(deliveries[id].arrival)
            release(id)
        }
    }

    /// Releases what has no stream and no outcome: the partitions' next owner sends it.
    ///
    /// What is in flight stays, so that its outcome is published; it moves an offset only if its
    /// partition comes back.
    private mutating func releaseWaiting() {
        dropTransaction()
        releaseHeld()
        intake.forgetSchemaWaits()
        for id in deliveries.identifiers where deliveries[id].place.isBeforeSending { release(id) }
    }

    /// The assignment is over: its outcomes are its next owner's to find and to publish.
    private mutating func dropTransaction() {
        guard let dropped = publishing.dropAll() else { return }
        for id in dropped { release(id, isUndone: true) }
        if !publishing.isCommitting { assignment.commitFinished(failed: []) }
    }

    /// Does the present transaction again from its beginning.
    private mutating func abortTransaction(now: Moment) {
        if publishing.undo(now: now.instant) { undone() }
    }

    private mutating func undone() {
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

    /// The first reason is the one that is reported.
    private mutating func stop(because reason: StopReason) {
        decision.stop = decision.stop ?? reason
    }

    // MARK: - Queries

    /// How many records the shard may take from Kafka now.
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
        return deadline
    }

    /// The next delivery whose schema has come, to be decoded again and handed to `recordDecoded`.
    ///
    /// One after the other, because all of them may be too much work for one turn.
    public mutating func nextToDecode() -> DeliveryID? {
        log?.note(.nextToDecodeAsked)
        return intake.nextToDecode()
    }

    /// Tokens of which something waits that may be sent, with a word against them when the process's
    /// list was asked last, or held for long since: to be asked again, before the turn's end.
    public mutating func doubtfulTokens(now: Instant) -> [KeyedHash] {
        let due = intake.heldDue(now: now)
        guard hygiene.hasDoubts || !due.isEmpty else { return [] }
        return hygiene.doubtfulTokens.union(due.compactMap { deliveries[$0].facts.names?.target })
            .sorted { $0.rawValue < $1.rawValue }
    }

    /// The delivery, unless it has left: a copy of all its fields.
    public func delivery(_ id: DeliveryID) -> Delivery? {
        deliveries.contains(id) ? deliveries[id] : nil
    }

    /// What `APNsAnswer.topic` is to hold, for an answer that refuses the topic, and from time to
    /// time for one with 200; nil: the delivery has left.
    public func topic(of id: DeliveryID) -> KeyedHash? {
        guard deliveries.contains(id) else { return nil }
        return settings.hygiene.hashKey.hash(of: deliveries[id].arrival.topic)
    }

    /// Prefetches what will be needed soon; changes nothing else.
    ///
    /// To be called for each place of a batch before its turn. `ahead` says whose part to fetch:
    /// the delivery that is so far ahead as the part's `distance`; nil: nobody's. `mutating`, so
    /// that the engine is borrowed and not copied.
    @inline(__always)
    public mutating func lookAhead(_ ahead: (DeliveryPart) -> DeliveryID?) {
        deliveries.lookAhead(ahead)
    }

    public var inFlightEvents: Int { intake.events }
    public var inFlightBytes: Int { intake.bytes }
    /// Retry records in flight that are not due.
    public var heldEvents: Int { intake.heldEvents }
    public var heldBytes: Int { intake.heldBytes }
    /// Every assigned partition may deliver records: no bound is reached, nothing is held back.
    public var isIntakeOpen: Bool {
        assignment.isTakingRecords && assignment.heldBack.isEmpty && intake.isOpen
    }
    public var assignedPartitions: [PartitionID] { assignment.partitions }

    /// True once the group was left: nothing will be committed any more.
    public var hasLeftGroup: Bool { assignment.phase == .left }

    /// The partition's reading position; nil when nobody knows.
    public func position(of partition: PartitionID) -> Offset? {
        assignment.position(of: partition)
    }

    /// The lowest offset of the partition that is not settled, or the next one to be read; nil when
    /// nobody knows.
    public func unsettledOffset(of partition: PartitionID) -> Offset? {
        assignment.unsettledOffset(of: partition)
    }

    /// Since when Kafka has not returned the group's offsets; nil: it has, or is not asked.
    public var offsetsMissingSince: Instant? { assignment.offsetsMissingSince }

    /// Whether Kafka was told to pause the partition.
    public func isPaused(_ partition: PartitionID) -> Bool { intake.isPaused(partition) }

    /// The connections of a route.
    public func pool(of route: Route) -> PoolMachine { dispatch.pool(of: route) }

    /// Deliveries of a route that wait for a stream.
    public func waitingCount(of route: Route) -> Int { dispatch.waitingCount(of: route) }

    public func breaker(of route: Route) -> CircuitBreaker { dispatch.breaker(of: route) }

    public func parking(of credential: Int) -> CredentialParking {
        dispatch.parking(of: credential)
    }

    /// The route's fuse; nil: the configuration has none.
    public func tokenFuse(of route: Route) -> TokenFuse? { hygiene.fuse(of: route) }

    /// Deliveries that wait for their app's rate limit.
    public var rateLimitedCount: Int { dispatch.rateLimitedCount }

    /// Deliveries whose schema is being fetched, or has come without their having been decoded.
    public var awaitingSchemaCount: Int { intake.awaitingSchemaCount }

    public var hasToDecode: Bool { intake.hasToDecode }

    /// The transactions of the shard's producer; nil: outcomes are not written in any.
    public var transactions: OutcomeTransactions? { publishing.transactions }

    /// When the oldest event in flight was read, if any is without an acknowledged outcome.
    ///
    /// What waits in flight to come due, at most one a partition, is young on purpose and left out.
    /// Looks at every delivery: not for every turn.
    public var oldestArrival: Instant? { deliveries.oldestArrival }

    /// By source, when the oldest of its records in hand was written to Kafka; nil: there is none.
    ///
    /// Records of retry topics are left out: they wait on purpose. Likewise not for every turn.
    public func oldestRecords(ofSources count: Int) -> [Timestamp?] {
        deliveries.oldestRecords(ofSources: count)
    }
}

/// What happened to a record that arrived.
public struct ArrivalReply: Hashable, Sendable {
    /// False when the record is not the shard's to deliver.
    ///
    /// It was settled before, or is not of the assignment. Its offset is not committed for it.
    public var isTaken = false
    /// It is a retry record before its time, and its partition is to be paused.
    public var isEarly = false
    /// False once the shard holds its limit of bytes.
    public var hasRoom = true

    /// Whether nothing behind it may be taken in this turn.
    public var stopsReading: Bool { isEarly || !hasRoom }
}

/// An attempt that APNs has answered.
public struct JudgedAttempt: Hashable, Sendable {
    public let verdict: Verdict
    public let route: Route
    public let sentAt: Instant
    /// The answer parks the credential, and with it its key.
    public let revokesKey: Bool
}

/// What happened since the start; only ever grows.
public struct EngineCounts: Hashable, Sendable {
    /// Records taken, tombstones included.
    public var consumed = 0
    /// Records not taken because they were settled before, by this shard or another.
    public var skippedSettled = 0
    public var tombstones = 0
    /// Outcomes acknowledged by Kafka.
    public var terminal = 0
    /// Retry records acknowledged by Kafka: each ends a consumption, and its event is consumed
    /// once more when it comes out of the retry topic.
    public var deferred = 0
    /// Deliveries handed back without an outcome, because their partition was given up; its next
    /// owner reads them again.
    public var released = 0
    public var attempts = 0
    public var retries = 0
    /// Streams that the peer gave back unprocessed.
    public var unprocessed = 0
    /// Deliveries that gave way to a newer one with the same `collapse_id`.
    public var superseded = 0
    /// Deliveries deferred without an attempt, because their route or device delayed the others.
    public var madeRoom = 0
    /// Retries that the credential's budget did not allow.
    public var retriesDenied = 0

    public init() {}
}
