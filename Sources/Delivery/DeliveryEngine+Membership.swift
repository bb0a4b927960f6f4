package import Vocabulary

extension DeliveryEngine {
    // MARK: Inputs

    package mutating func partitionsAssigned(_ partitions: [PartitionID]) {
        actions.append(membership.partitionsAssigned(partitions))
        unsettled = 0
    }

    /// The group's offsets are known.
    ///
    /// Nil where the group never committed one; a partition that Kafka did not answer for is missing.
    package mutating func storedOffsetsFetched(_ offsets: [PartitionID: Offset?]) {
        assign(membership.storedOffsetsFetched(offsets))
    }

    package mutating func storedOffsetsFailed() {
        assign(membership.storedOffsetsFailed())
    }

    /// The assignment goes; `lost`: the group has given it to somebody else already.
    package mutating func partitionsRevoked(lost: Bool, now: Moment) {
        if lost {
            membership.partitionsLost()
            releaseWaiting()
            actions.append(.unassign)
            return
        }
        switch membership.phase {
        case .idle, .left: actions.append(.unassign)
        case .fetchingOffsets, .consuming, .releasing, .committing:
            membership.partitionsRevoked(now: now.instant)
        }
    }

    /// The partition is read from another place; what is in hand of it settles nothing any more.
    package mutating func partitionRestarted(_ partition: PartitionID) {
        membership.partitionRestarted(partition)
    }

    /// The commit in flight ended; `failed` are the partitions whose offset Kafka refused.
    package mutating func commitFinished(failed: [PartitionID]) {
        membership.commitFinished(failed: failed)
    }

    /// SIGTERM: take nothing new, finish what is in hand, commit, leave.
    package mutating func shutdownRequested(now: Moment) {
        guard !membership.isShuttingDown else { return }
        membership.shutdownRequested(now: now.instant)
        if !membership.partitions.isEmpty { actions.append(.pause(membership.partitions)) }
    }

    // MARK: Queries

    /// Where reading of the partition stands; nil when nobody knows.
    package func position(of partition: PartitionID) -> Offset? {
        membership.position(of: partition)
    }

    // MARK: The turn

    mutating func turnMembership(now: Moment) {
        let epoch = membership.epoch
        actions += membership.timeAdvanced(now: now.instant, unsettled: unsettled)
        if membership.epoch != epoch { releaseWaiting() }
    }

    mutating func turnIntake(now: Moment) {
        for change in membership.heldBackChanges() {
            guard case .resume(let partitions) = change else {
                actions.append(change)
                continue
            }
            actions.append(.resume(partitions.filter { !isStoppedByShare($0) }))
        }
        turnShares()
        guard let change = gate.timeAdvanced(now: now.instant) else { return }
        // Outside `consuming` the partitions are paused or gone already.
        guard membership.isTakingRecords, !membership.partitions.isEmpty else { return }
        switch change {
        case .pause: actions.append(.pause(membership.partitions))
        case .resume:
            actions.append(
                .resume(
                    membership.partitions.filter {
                        !membership.heldBack.contains($0) && !isStoppedByShare($0)
                    }
                )
            )
        }
    }

    private mutating func assign(_ action: Action?) {
        guard let action else { return }
        actions.append(action)
        // A new assignment starts unpaused; the bound holds for it as well.
        if gate.isPaused, membership.isTakingRecords {
            actions.append(.pause(membership.partitions))
        }
        pauseStoppedSources()
    }

    /// Lets go of what has no stream and no outcome: the partitions' next owner sends it.
    ///
    /// What is in flight stays, so that its outcome is published; it settles no offset any more.
    private mutating func releaseWaiting() {
        unsettled = 0
        for index in lanes.indices { lanes[index].waiting.removeAll { _ in true } }
        schemaWaits = SchemaWaits()
        rates.removeAll { _ in true }
        for id in deliveries.identifiers {
            switch deliveries[id]?.phase {
            case .waitingForStream, .backingOff, .awaitingSchema:
                counts.released += 1
                remove(id)
            case .inFlight, .publishing, nil: break
            }
        }
    }
}
