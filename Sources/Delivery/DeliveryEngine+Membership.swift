public import Vocabulary

extension DeliveryEngine {
    // MARK: Inputs

    /// The group gave these partitions to the shard, some of them of retry topics; `table` has
    /// their names.
    public mutating func partitionsAssigned(
        _ partitions: [PartitionID],
        of table: PartitionTable,
        ofRetryTopics retryPartitions: Set<PartitionID> = []
    ) {
        actions.append(
            membership.partitionsAssigned(
                partitions,
                of: table,
                ofRetryTopics: retryPartitions
            )
        )
    }

    /// Kafka was asked where the group stands.
    ///
    /// - Parameters:
    ///   - stored: nil where the group never committed a position; a partition that Kafka did not
    ///     answer for is missing, and is asked for again.
    ///   - now: this turn's moment.
    /// - Returns: the metadata that is not believed.
    @discardableResult
    public mutating func storedOffsetsFetched(
        _ stored: [PartitionID: CommittedPosition?],
        now: Moment
    ) -> [IgnoredMetadata] {
        guard let begun = membership.storedOffsetsFetched(stored, now: now.instant)
        else { return [] }
        assign(begun.action)
        return begun.ignored
    }

    /// The partition's next offset to be written, as its first fetch told it.
    ///
    /// To be told before the partition's first record in an assignment; without it committed
    /// metadata is not used.
    ///
    /// - Returns: metadata that speaks of more offsets than there are, and is forgotten.
    @discardableResult
    public mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> IgnoredMetadata? {
        membership.endSeen(partition, end)
    }

    /// All that there is of the partition was read; its next record will not stand before that offset.
    public mutating func endReached(_ partition: PartitionID, _ end: Offset) {
        membership.endReached(partition, end)
    }

    /// The assignment goes; `lost`: the group has given it to somebody else already.
    public mutating func partitionsRevoked(lost: Bool, now: Moment) {
        if lost {
            membership.partitionsLost(now: now.instant)
            releaseWaiting()
            actions.append(.unassign)
            return
        }
        switch membership.phase {
        case .idle, .left: actions.append(.unassign)
        case .fetchingOffsets, .consuming, .releasing, .committing:
            releaseHeld()
            membership.partitionsRevoked(now: now.instant)
        }
    }

    /// The partition is read from another place; what is in hand of it settles nothing any more.
    public mutating func partitionRestarted(_ partition: PartitionID) {
        membership.partitionRestarted(partition)
    }

    /// The commit in flight ended; `failed` are the partitions whose offset Kafka refused.
    public mutating func commitFinished(failed: [PartitionID]) {
        membership.commitFinished(failed: failed)
    }

    /// SIGTERM: take nothing new, finish what is in hand, commit, leave.
    public mutating func shutdownRequested(now: Moment) {
        guard !membership.isShuttingDown else { return }
        releaseHeld()
        membership.shutdownRequested(now: now.instant)
        pauses.reasonChanged()
    }

    // MARK: Queries

    /// Where reading of the partition stands; nil when nobody knows.
    public func position(of partition: PartitionID) -> Offset? {
        membership.position(of: partition)
    }

    // MARK: The turn

    mutating func turnMembership(now: Moment) {
        let owned = membership.partitions.count
        let isDrained = membership.isReleasing && !isAnyUnfinished(now: now)
        actions += membership.timeAdvanced(now: now.instant, isDrained: isDrained)
        if membership.partitions.count < owned { releaseWaiting() }
    }

    mutating func turnIntake(now: Moment) {
        if membership.takeHeldBackChange() { pauses.reasonChanged() }
        if shares.timeAdvanced() { pauses.reasonChanged() }
        if gate.timeAdvanced(now: now.instant) != nil { pauses.reasonChanged() }
        // What is revoked stands as it is until it goes.
        guard pauses.isOutdated, membership.isTakingRecords || membership.isShuttingDown else {
            return
        }
        actions += pauses.changes(of: membership.partitions, where: isStopped)
    }

    /// The reasons for which Kafka is to send nothing of a partition.
    private func isStopped(_ partition: PartitionID) -> Bool {
        membership.isShuttingDown || gate.isPaused || membership.heldBack.contains(partition)
            || tierHold.stops(partition) || shares.stopped[source(of: partition)]
    }

    private mutating func assign(_ action: Action) {
        actions.append(action)
        pauses.assigned()
    }

    /// Whether a delivery of the present assignment is in hand that may still come to its end; in a
    /// transaction, the last commit takes those with it that have come to their outcome.
    private func isAnyUnfinished(now: Moment) -> Bool {
        let isTransactional = settings.isTransactional
        let mayBegin = membership.mayBeginAttempts(now: now.instant)
        return deliveries.contains { delivery in
            switch delivery.phase {
            case .publishing where isTransactional: return false
            case .publishing, .inFlight: break
            case .awaitingSchema, .waitingForDue, .waitingForStream, .backingOff:
                guard mayBegin else { return false }
            }
            return membership.isCurrent(delivery.record.partition, delivery.ledgerEntry)
        }
    }

    /// Lets go of what has no stream and no outcome: the partitions' next owner sends it.
    ///
    /// What is in flight stays, so that its outcome is published; it moves an offset only if its
    /// partition comes back.
    private mutating func releaseWaiting() {
        dropTransaction()
        releaseHeld()
        for index in lanes.indices { lanes[index].waiting.removeAll { _ in true } }
        schemaWaits = SchemaWaits()
        rates.removeAll { _ in true }
        for id in deliveries.identifiers {
            switch deliveries[id]?.phase {
            case .waitingForDue, .waitingForStream, .backingOff, .awaitingSchema:
                release(id)
            case .inFlight, .publishing, nil: break
            }
        }
    }

    /// Ends a delivery without an outcome: whoever owns the partition reads the record again.
    mutating func release(_ id: DeliveryID) {
        guard let delivery = deliveries[id] else { return }
        counts.released += 1
        membership.letGo(delivery.record.partition, delivery.ledgerEntry)
        remove(id)
    }
}
