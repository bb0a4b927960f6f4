import CRdkafka
public import Vocabulary

/// A member of a consumer group.
///
/// Belongs to one thread. No call blocks, and there are no callbacks: `poll` returns everything
/// that happens. An assignment goes through `partitionsAssigned`, `assign`, `partitionsRevoked` and
/// `unassign`. Rebalances are eager, so each of them concerns the whole assignment. Commands that
/// the library cannot accept at once are carried out by `timeAdvanced`, at `nextDeadline`.
///
/// Dropping a consumer does not free it: librdkafka 2.0.2 may hang in the attempt. After `closed`,
/// a process may simply exit; otherwise call `destroyAside`.
public final class Consumer {
    /// The member's state in a rebalance.
    private enum Phase: Hashable {
        /// Owns no partitions. Next: `offered`, `closed`.
        case idle
        /// `partitionsAssigned` is to be answered by `assign` or `unassign`.
        ///
        /// Next: `assigned`, `unassigning`, `idle`, `revoking`, `closed`.
        case offered
        /// Records are delivered. Next: `revoking`, `closed`.
        case assigned
        /// `partitionsRevoked` is to be answered by `unassign`. Next: `unassigning`, `idle`,
        /// `closed`.
        case revoking
        /// `unassign` waits for a restart in progress; see `PartitionRestarts.settledAt`.
        ///
        /// Next: `idle`, `revoking`, `closed`.
        case unassigning
        case closed
    }

    let client: ClientHandle
    private let questions: Questions
    /// Whether the caller wants `endReached`.
    private let reportsPartitionEnds: Bool
    let commitAnswers = CommitAnswers()
    private var phase = Phase.idle
    private var isClosing = false
    /// Whether the library refused to close, because it has permanently lost the group.
    private var hasNothingToLeave = false
    /// The start positions of the current assignment.
    private var starts: [PartitionID: StartPosition] = [:]
    /// Checks of partitions whose first record at or after their start has not arrived.
    private var checks: [PartitionID: ResumeCheck] = [:]
    /// Partitions of the assignment that failed.
    private var restarts = PartitionRestarts()
    private var logQuestions = LogQuestions()
    private var fetchWatch = FetchWatch()
    /// Whether the queue was empty since the last look of `fetchWatch`: a full one stops fetching.
    private var hasRunDry = false
    /// Where logs end, or ended, that lost records which had been read.
    private var earlyEnds: [PartitionID: EarlyEnd] = [:]
    var reader = RecordReader()
    /// The partitions paused by `pause` and not resumed since.
    private var paused: Set<PartitionID> = []
    /// What `knownOffsets` last found in this assignment.
    private var knownExtents: [PartitionID: Range<Int64>] = [:]
    /// The partitions of the commit in progress; nil: there is none.
    private var committing: [PartitionID]?
    /// The generation for transactional commits of the current assignment; nil: it may not commit.
    var generation: GroupGeneration?
    /// Counts rebalances; an answer to a request from before the last one is dropped.
    private var rebalances: UInt = 0

    /// Starts the client; it joins the group once it is subscribed.
    ///
    /// `properties` are the operator's (`KafkaConfiguration`). `wakeup` is a non-blocking eventfd,
    /// signalled when there is something to poll: the loop reads it, then polls. `instance` makes a
    /// static member (KIP-345), which keeps its partitions across a restart. `endReached` is only
    /// reported with `reportsPartitionEnds`. Throws if a property is invalid.
    public init(
        group: String,
        instance: String? = nil,
        bootstrapServers: String,
        properties: [String: String],
        reportsPartitionEnds: Bool = false,
        wakeup: Int32
    ) throws(KafkaError) {
        var configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: bootstrapServers,
            properties: properties,
            group: group,
            instance: instance,
            // Needed to notice a log that ends before its start position.
            reportsPartitionEnds: true
        )
        configuration.enableEvents(
            RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT
                | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_STATS | RD_KAFKA_EVENT_LOG
        )
        configuration.hearCommits(commitAnswers)
        client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_CONSUMER,
            wakeup: wakeup
        )
        questions = unsafe Questions(client.raw, calls: client.calls, wakeup: wakeup)
        self.reportsPartitionEnds = reportsPartitionEnds
    }

    deinit { questions.unhook() }

    /// The partitions that the identifiers in events stand for.
    public var partitions: PartitionTable { reader.partitions }

    /// The name of one partition, without copying the table.
    public func name(of partition: PartitionID) -> TopicPartition { reader.partitions[partition] }

    /// Subscribes to topics; call it once, because 2.0.2 rewinds partitions when a subscription
    /// changes.
    public func subscribe(_ topics: [KafkaTopic]) throws(KafkaError) {
        let list = PartitionList(
            topics.map { TopicPartition(topic: $0, partition: RD_KAFKA_PARTITION_UA) }
        )
        let code = unsafe rd_kafka_subscribe(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
    }

    /// Passes at most `budget` events to `take`, one by one as they leave the queue.
    ///
    /// Stops after the first event for which `take` returns false; the caller must act on that
    /// event before the next poll.
    ///
    /// - Returns: true if there may be more; the eventfd is signalled then, so a loop that waits on
    ///   it wakes up again.
    public func poll(
        budget: Int,
        now: Instant,
        _ take: (consuming ConsumerEvent) -> Bool
    ) -> Bool {
        guard phase != .closed else { return false }
        var hasStopped = false
        for event in takeAnswers(now: now) {
            if !take(event) { hasStopped = true }
        }
        if hasStopped {
            client.ring()
            return true
        }
        let hasRelapses = restarts.hasRelapses
        events: for _ in 0..<budget {
            guard let event = client.nextEvent() else {
                hasRunDry = true
                if let last = endOfQueue() { _ = take(last) }
                return false
            }
            guard let message = unsafe event.fetchedMessage else {
                let isLast = translate(event, now).map { take($0) }.contains(false)
                if isLast { break }
                continue
            }
            let record = unsafe reader.record(from: message)
            if let begun = reader.takeBegun(), let known = knownOffsets(of: begun) {
                _ = take(.endSeen(begun, Offset(known.upperBound)))
            }
            switch checks.isEmpty ? .deliver : check(record) {
            case .skip: continue
            case .intact: readFromStart(record.partition, now)
            case .changed:
                guard take(changed(record.partition, now)) else { break events }
            case .replaced: guard take(.partitionReplaced(record.partition)) else { break events }
            case .deliver:
                if hasRelapses { restarts.recordArrived(record.partition) }
                guard take(.recordArrived(record)) else { break events }
            }
        }
        client.ring()
        return true
    }

    /// Requests the group's offsets and metadata from the coordinator; `storedOffsetsFetched`
    /// answers.
    ///
    /// The answer waits for open transactions of the group, up to the timeout. With
    /// `waitingForTransactions`, `transactionOffsets` is available for this assignment from now on.
    public func fetchStoredOffsets(
        of partitions: [PartitionID],
        waitingForTransactions: Bool = false,
        timeout: Duration = .seconds(10)
    ) {
        if waitingForTransactions { generation = unsafe GroupGeneration(of: client.raw) }
        questions.ask(
            .committed(partitions.map { reader.partitions[$0] }),
            number: rebalances,
            timeout: timeout
        )
    }

    /// Answers `partitionsAssigned`; records are delivered from these positions on.
    ///
    /// If the last known record of a start is not found, `partitionChanged` comes first. If another
    /// record has taken the place of the one before the start, `partitionReplaced` comes, and
    /// nothing more of the partition until `restart`.
    public func assign(_ starts: [PartitionStart], now: Instant) throws(KafkaError) {
        // The assignment may have been withdrawn in the same batch of events.
        guard phase == .offered else { return }
        for start in starts { checks[start.partition] = ResumeCheck(start) }
        // What an offer has replaced may be paused.
        resume(Array(paused))
        let known = starts.filter { $0.position != .end }
        try replaceAssignment(known.map { ($0.partition, $0.position) })
        phase = .assigned
        for start in starts where start.position == .end { findEnd(of: start.partition, now) }
    }

    /// Answers `partitionsRevoked`, or declines an assignment; the group waits for it.
    public func unassign(now: Instant) throws(KafkaError) {
        // A consumer that is closing does not wait for this answer.
        guard phase != .closed else { return }
        precondition(
            phase == .revoking || phase == .offered,
            "unassign answers a rebalance, once"
        )
        phase = .unassigning
        try timeAdvanced(now: now)
    }

    private func giveUpAssignment() throws(KafkaError) {
        // A pause would outlive the assignment; at this point, resuming cannot fetch anything
        // twice.
        resume(Array(paused))
        let code = unsafe rd_kafka_assign(client.raw, nil)
        phase = .idle
        // If the consumer has closed meanwhile, there is nothing left to give up.
        if let error = KafkaError(unlessSuccess: code), !isClosing { throw error }
    }

    /// Whether `commit` may be called.
    public var canCommit: Bool { committing == nil }

    /// Commits offsets and metadata for the group; `commitFinished` answers.
    ///
    /// Only one commit at a time: the library may repeat an old request after a newer one.
    public func commit(_ commits: [PartitionCommit]) throws(KafkaError) {
        precondition(canCommit, "a commit is under way")
        precondition(!commits.isEmpty, "an empty commit would store librdkafka's own offsets")
        let list = PartitionList(capacity: commits.count)
        for commit in commits {
            precondition(commit.isStorable, "metadata must be ASCII without NUL, 4,096 bytes")
            list.append(
                reader.partitions[commit.partition],
                offset: commit.offset.rawValue,
                metadata: commit.metadata
            )
        }
        let code = unsafe rd_kafka_commit_queue(client.raw, list.raw, client.queue, nil, nil)
        if let error = KafkaError(unlessSuccess: code) { throw error }
        committing = commits.map(\.partition)
    }

    /// Pauses these partitions at once; prefetched records are discarded, and fetched again later.
    public func pause(_ partitions: [PartitionID]) {
        let running = partitions.filter { !paused.contains($0) }
        guard phase == .assigned, !running.isEmpty else { return }
        let list = PartitionList(running.map { reader.partitions[$0] })
        unsafe rd_kafka_pause_partitions(client.raw, list.raw)
        paused.formUnion(running)
        fetchWatch.paused(running)
    }

    /// Resumes these partitions; ignores those that are not paused.
    ///
    /// 2.0.2 rewinds a partition that is resumed without being paused.
    public func resume(_ partitions: [PartitionID]) {
        let stopped = Set(partitions).intersection(paused).sorted()
        guard !stopped.isEmpty else { return }
        let list = PartitionList(stopped.map { reader.partitions[$0] })
        unsafe rd_kafka_resume_partitions(client.raw, list.raw)
        paused.subtract(stopped)
    }

    /// Continues reading a partition from this position, after a short wait.
    ///
    /// Required after `partitionFailed` and `partitionReplaced`.
    public func restart(_ partition: PartitionID, from position: StartPosition, now: Instant) {
        // If a rebalance came in the same batch of events, there is nothing to restart.
        guard phase == .assigned else { return }
        guard position != .end else { return findEnd(of: partition, now) }
        restarts.failed(partition, readOnFrom: position, now: now)
    }

    /// Asks for a partition's end, to read from there.
    ///
    /// librdkafka is never told to find it: if the leader changes before it has answered, it asks
    /// the next one, and half a second after the late answer once more, although records have been
    /// read by then. It goes on at that end, and skips what was written before it
    /// (`rd_kafka_toppar_handle_Offset`).
    private func findEnd(of partition: PartitionID, _ now: Instant) {
        starts[partition] = nil
        logQuestions.ask(partition, missing: nil, oldestBefore: nil, now: now)
    }

    /// Asks the partition's leader for the start and end of its log, because an offset is missing.
    ///
    /// `logFound` answers; `logNotFound` reports a failure, after which the leader is asked again.
    public func findLog(of partition: PartitionID, missing offset: Offset, now: Instant) {
        guard phase == .assigned else { return }
        logQuestions.ask(
            partition,
            missing: offset,
            oldestBefore: knownOffsets(of: partition)?.lowerBound,
            now: now
        )
    }

    /// Partitions that failed more than once without making progress, or are not fetched.
    public var stuckPartitions: [PartitionID] {
        let others = fetchWatch.silent.union(logQuestions.unanswered)
        return others.isEmpty ? restarts.stuck : others.union(restarts.stuck).sorted()
    }

    /// When `timeAdvanced` has work to do.
    public var nextDeadline: Instant? {
        switch phase {
        case .assigned:
            logQuestions.nextDeadline.map { min($0, restarts.nextDeadline ?? $0) }
                ?? restarts.nextDeadline
        case .unassigning: restarts.settledAt
        case .idle, .offered, .revoking, .closed: nil
        }
    }

    /// Carries out commands that the library could not accept earlier.
    public func timeAdvanced(now: Instant) throws(KafkaError) {
        switch phase {
        case .assigned:
            let unasked = logQuestions.takeDue(now: now)
            if !unasked.isEmpty {
                let names = unasked.map { reader.partitions[$0] }
                questions.ask(.extents(names), number: rebalances)
            }
            let due = restarts.takeDue(now: now)
            if !due.isEmpty { try carryOutRestarts(due) }
        case .unassigning: if restarts.settledAt <= now { try giveUpAssignment() }
        case .idle, .offered, .revoking, .closed: break
        }
    }

    /// Restarts assigned partitions at these positions.
    ///
    /// The other partitions continue after their last record. A seek would have no effect, because
    /// librdkafka has stopped the partition. `restarts` separates this from `unassign`: 2.0.2
    /// aborts the process if a partition is stopped while it is already stopping.
    private func carryOutRestarts(_ due: [PartitionID: StartPosition]) throws(KafkaError) {
        let assignment = starts.keys.sorted()
        let positions = try positions(of: assignment)
        for (partition, start) in due { restartCheck(of: partition, from: start) }
        let next = zip(assignment, positions).map { partition, position in
            if let start = due[partition] { return (partition, start) }
            return (partition, position.map { .at(Offset($0)) } ?? starts[partition] ?? .stored)
        }
        try replaceAssignment(next)
        let stopped = paused.sorted()
        paused.removeAll()
        pause(stopped)
    }

    /// The next offset to deliver of each partition; nil: it has delivered nothing yet.
    private func positions(of partitions: [PartitionID]) throws(KafkaError) -> [Int64?] {
        let list = PartitionList(partitions.map { reader.partitions[$0] })
        if let error = KafkaError(unlessSuccess: unsafe rd_kafka_position(client.raw, list.raw)) {
            throw error
        }
        return unsafe PartitionList.elements(of: list.raw).map { $0.offset >= 0 ? $0.offset : nil }
    }

    private func restartCheck(of partition: PartitionID, from start: StartPosition) {
        earlyEnds[partition] = nil
        let check = checks[partition]
        checks[partition] = check.flatMap { start == .at($0.start) ? $0.restarted() : nil }
    }

    /// The partition's last known start and end offsets.
    ///
    /// - Returns: nil before the first fetch; never sends a request.
    public func knownOffsets(of partition: PartitionID) -> Range<Int64>? {
        // librdkafka forgets them when a fetch fails, which is when they are needed.
        if let known = client.knownWatermarks(of: reader.partitions[partition]) {
            knownExtents[partition] = known
        }
        return knownExtents[partition]
    }

    /// Retention moves the start of a log that is read for days.
    func rememberExtents() { for partition in starts.keys { _ = knownOffsets(of: partition) } }

    /// Looks for partitions that are no longer fetched; `partitionSilent` reports them.
    func watchFetches(now: Instant) {
        guard phase == .assigned, fetchWatch.isDue(now: now) else { return }
        let running = starts.keys.filter {
            !paused.contains($0) && !restarts.isFailing($0) && !logQuestions.concerns($0)
        }
        guard let positions = try? positions(of: running) else { return }
        var views: [PartitionID: FetchWatch.View] = [:]
        for (partition, position) in zip(running, positions) where hasRunDry {
            let end = client.knownWatermarks(of: reader.partitions[partition])?.upperBound
            views[partition] = FetchWatch.View(position: position, end: end)
        }
        hasRunDry = false
        let quiet = fetchWatch.looked(at: views, now: now)
        guard !quiet.isEmpty else { return }
        questions.ask(.ends(quiet.map { reader.partitions[$0] }), number: rebalances)
    }

    /// Starts to leave the group: reports `partitionsRevoked` if it owns any, and finally `closed`.
    public func beginClose() {
        guard !isClosing else { return }
        isClosing = true
        let refusal = unsafe KafkaError(
            consuming: rd_kafka_consumer_close_queue(client.raw, client.queue)
        )
        // After a fatal error there is no group to leave, and the library returns an error.
        if refusal != nil { hasNothingToLeave = true }
        client.ring()
    }

    /// Frees a closed consumer on a thread of its own, which may never finish.
    public func destroyAside() {
        phase = .closed
        questions.unhook()
        client.destroyAside()
    }

    private func replaceAssignment(_ starts: [(PartitionID, StartPosition)]) throws(KafkaError) {
        let list = PartitionList(capacity: starts.count)
        for (partition, start) in starts {
            let check = checks[partition].flatMap { start == .at($0.start) ? $0 : nil }
            list.append(
                reader.partitions[partition],
                offset: check?.readsFrom.rawValue ?? start.libraryOffset
            )
        }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
        reader.forgetHandles()
        self.starts = Dictionary(starts) { $1 }
    }

    private func check(_ record: borrowing Record) -> ResumeCheck.Verdict {
        let verdict = checks[record.partition]?.recordArrived(record) ?? .deliver
        if verdict == .deliver { checks[record.partition] = nil }
        return verdict
    }

    private func changed(_ partition: PartitionID, _ now: Instant) -> ConsumerEvent {
        let start = readFromStart(partition, now)
        return .partitionChanged(partition, from: start)
    }

    /// Reads a partition from its start, after the last known record was checked.
    ///
    /// It restarts the partition instead of seeking: a restart separates the calls to librdkafka,
    /// and also handles a partition that has failed.
    @discardableResult
    private func readFromStart(_ partition: PartitionID, _ now: Instant) -> Offset {
        guard let check = checks[partition] else { preconditionFailure("only a check ends so") }
        restart(partition, from: .at(check.start), now: now)
        return check.start
    }

    private func lastKnownMissing(_ partition: PartitionID, _ now: Instant) -> ConsumerEvent {
        checks[partition]?.lastKnownMissing()
        return changed(partition, now)
    }

    /// The event that an empty queue stands for.
    private func endOfQueue() -> ConsumerEvent? {
        guard isClosing, unsafe hasNothingToLeave || rd_kafka_consumer_closed(client.raw) != 0
        else { return nil }
        phase = .closed
        return .closed
    }

    /// A rebalance invalidates what was known about the previous assignment.
    func rebalanceBegan(assigned: Bool) {
        rebalances += 1
        reader.forgetHandles()
        checks = [:]
        earlyEnds = [:]
        knownExtents = [:]
        restarts.assignmentEnded()
        logQuestions.assignmentEnded()
        fetchWatch.assignmentEnded()
        if assigned { generation = nil }
        phase = assigned ? .offered : .revoking
    }

    /// Reading a partition failed.
    func failed(
        _ partition: PartitionID,
        _ error: KafkaError,
        at offset: Offset?,
        _ now: Instant
    ) -> [ConsumerEvent] {
        // A topic that does not exist may be created again, and then be silent.
        if error.code != .unknownPartition, error.code != .unknownTopicOrPartition {
            fetchWatch.failed(partition)
        }
        guard error.code == .offsetOutOfReach else {
            return [.partitionFailed(partition, error, at: offset)]
        }
        let check = checks[partition]
        if let check, check.looksForLastKnown { return [lastKnownMissing(partition, now)] }
        if let end = error.truncatedEnd {
            earlyEnds[partition] = .certain(end)
        } else if let check {
            // Retention has deleted the record before its start, so there is nothing to compare.
            restart(partition, from: .at(check.start), now: now)
            return []
        }
        return [.partitionFailed(partition, error, at: offset)]
    }

    /// All was read that the partition holds: what has delivered nothing continues from there.
    func endReached(_ partition: PartitionID, _ end: Offset, _ now: Instant) -> [ConsumerEvent] {
        guard phase == .assigned, starts[partition] != nil else { return [] }
        if let check = checks[partition] {
            return check.looksForLastKnown
                ? [lastKnownMissing(partition, now)] : endReached(partition, end, before: check)
        }
        guard reportsPartitionEnds else { return [] }
        starts[partition] = .at(end)
        return [.endReached(partition, end)]
    }

    /// The log may have lost the record before the start, together with the log's end.
    private func endReached(
        _ partition: PartitionID,
        _ end: Offset,
        before check: ResumeCheck
    ) -> [ConsumerEvent] {
        guard end < check.start, !check.isSilent else { return [] }
        checks[partition]?.endedEarly()
        earlyEnds[partition] = .seen(end)
        let error = KafkaError(code: .offsetOutOfReach, text: "the log ends at \(end)")
        return [.partitionFailed(partition, error, at: check.start)]
    }

    /// Whether the ends of partitions are of interest.
    var wantsEnds: Bool { reportsPartitionEnds || !checks.isEmpty }

    /// The answers that belong to the current assignment.
    private func takeAnswers(now: Instant) -> [ConsumerEvent] {
        var events: [ConsumerEvent] = []
        for (number, answer) in questions.takeAnswers() where number == rebalances {
            switch answer {
            case .committed(let result):
                events.append(.storedOffsetsFetched(result.map(storedOffsets)))
            case .extents(let extents):
                events += extents.compactMap { logAnswered(reader.intern($0), $1, now) }
            case .ends(let ends):
                events += ends.compactMap { endAnswered(reader.intern($0), $1) }
            }
        }
        return events
    }

    private func logAnswered(
        _ partition: PartitionID,
        _ answer: Result<Range<Int64>, KafkaError>,
        _ now: Instant
    ) -> ConsumerEvent? {
        switch answer {
        case .failure(let error):
            return logQuestions.failed(partition, now: now) ? .logNotFound(partition, error) : nil
        case .success(let log):
            guard let question = logQuestions.answered(partition) else { return nil }
            guard let missing = question.offset else {
                let end = StartPosition.at(Offset(log.upperBound))
                starts[partition] = end
                restarts.failed(partition, readOnFrom: end, now: now)
                return nil
            }
            return .logFound(
                FoundLog(
                    partition,
                    missing: missing,
                    log: earlyEnds[partition]?.cut(log, missing: missing) ?? log,
                    oldestBefore: question.oldestBefore
                )
            )
        }
    }

    private func endAnswered(_ partition: PartitionID, _ end: Int64) -> ConsumerEvent? {
        guard case .silent(let hasWorked) = fetchWatch.answered(partition, end: end) else {
            return nil
        }
        return .partitionSilent(partition, end: Offset(end), hasWorked: hasWorked)
    }

    private func storedOffsets(
        _ answers: [PartitionAnswer]
    ) -> [PartitionID: Result<CommittedPosition?, KafkaError>] {
        let offsets = answers.map { (reader.intern($0.partition), $0.committed) }
        return Dictionary(offsets) { $1 }
    }

    /// The partitions of the commit that has ended.
    func commitEnded() -> [PartitionID] {
        defer { committing = nil }
        return committing ?? []
    }
}

extension StartPosition {
    var libraryOffset: Int64 {
        switch self {
        case .at(let offset): offset.rawValue
        case .beginning: Int64(RD_KAFKA_OFFSET_BEGINNING)
        case .end: Int64(RD_KAFKA_OFFSET_END)
        case .stored: Int64(RD_KAFKA_OFFSET_STORED)
        }
    }
}

extension PartitionCommit {
    /// Whether librdkafka 2.0.2 stores the metadata unchanged.
    var isStorable: Bool {
        metadata.utf8.count <= 4096 && metadata.utf8.allSatisfy { (1...127).contains($0) }
    }
}
