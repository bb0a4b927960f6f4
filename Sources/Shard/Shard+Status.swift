import ConnectionPool
import Delivery
import KafkaIO
import Log
import Telemetry
import Vocabulary

extension Shard {
    /// Between two looks that other threads get of the shard.
    private static let statusInterval = Duration.milliseconds(100)
    /// Between two looks at every delivery and partition.
    private static let lookInterval = Duration.seconds(1)

    /// Writes the turn's numbers down.
    mutating func record() {
        let counts = engine.counts
        metrics.attempts.add(UInt64(counts.attempts - recorded.attempts))
        if counts.retries != recorded.retries {
            for (reason, count) in engine.retriesByReason {
                metrics.setRetriesHere(count, because: reason)
            }
        }
        metrics.retriesDenied.add(UInt64(counts.retriesDenied - recorded.retriesDenied))
        metrics.madeRoom.add(UInt64(counts.madeRoom - recorded.madeRoom))
        metrics.released.add(UInt64(counts.released - recorded.released))
        metrics.skippedSettled.add(UInt64(counts.skippedSettled - recorded.skippedSettled))
        recorded = counts
        metrics.inFlightEvents.set(engine.inFlightEvents)
        metrics.waitingForDue.set(engine.heldEvents)
        metrics.inFlightBytes.set(engine.inFlightBytes)
        metrics.awaitingSchema.set(engine.awaitingSchemaCount)
        metrics.assignedPartitions.set(engine.assignedPartitions.count)
        metrics.accounting.set(
            Accounting(
                // What was handed back is the next owner's to account for.
                consumed: Int64(engine.counts.consumed - engine.counts.released),
                terminal: Int64(engine.counts.terminal + engine.counts.tombstones),
                inFlight: Int64(engine.inFlightEvents),
                deferred: Int64(engine.counts.deferred)
            )
        )
        guard lastStatus + Self.statusInterval <= now.instant else { return }
        lastStatus = now.instant
        watchTokenFuses()
        watchBreakers()
        watchGivenUp()
        if lastLook + Self.lookInterval <= now.instant { lookAround() }
        recordRoutes()
        reportStatus()
    }

    private mutating func lookAround() {
        lastLook = now.instant
        oldestArrival = engine.oldestArrival
        partitionSights = engine.assignedPartitions.map { partition in
            ShardStatus.PartitionSight(
                name: consumer.partitions[partition],
                isPaused: engine.isPaused(partition)
            )
        }
    }

    /// Where the engine stands in each partition that it owns.
    mutating func unsettledOffsets() -> [TopicPartition: Offset] {
        var offsets: [TopicPartition: Offset] = [:]
        for partition in engine.assignedPartitions {
            offsets[consumer.partitions[partition]] = engine.unsettledOffset(of: partition)
        }
        return offsets
    }

    private mutating func recordRoutes() {
        metrics.rateLimitedEvents.set(engine.rateLimitedCount)
        for credential in settings.engine.credentials.indices {
            let isWorking = engine.parking(of: credential).isWorking
            metrics.parkedCredentials[credential].set(isWorking ? 0 : 1)
        }
        for route in Route.all(credentialCount: settings.engine.credentials.count) {
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

    mutating func reportStatus() {
        var status = ShardStatus()
        status.hasJoinedGroup = troubles.hasJoinedGroup
        status.hasEnded = hasConsumerClosed || failure != nil
        status.kafkaTrouble = troubles.kafka(now: now.instant) ?? unreadable
        status.isTakingRecords = engine.isIntakeOpen && status.kafkaTrouble == nil
        status.oldestArrival = oldestArrival
        status.partitions = partitionSights
        status.progress = progress
        status.counts = ShardCounts(
            consumed: engine.counts.consumed,
            terminal: engine.counts.terminal,
            deferred: engine.counts.deferred,
            handedBack: engine.inFlightEvents + engine.counts.released
        )
        for route in Route.all(credentialCount: settings.engine.credentials.count) {
            guard engine.pool(of: route).isInUse else { continue }
            status.routes.append(
                ShardStatus.RouteStatus(
                    credential: credentialName(route),
                    environment: route.environment,
                    trouble: trouble(route),
                    isTokenFuseBlown: blownFuses.contains(route)
                )
            )
        }
        control.status = status
    }

    /// What keeps partitions from being read, though Kafka answers.
    private var unreadable: String? {
        let stuck = consumer.stuckPartitions
        return stuck.isEmpty ? nil : "\(names(stuck)): cannot be read on"
    }

    private mutating func trouble(_ route: Route) -> String? {
        if let reason = engine.parking(of: route.credential).reason {
            return "parked: \(reason.text)"
        }
        if let reason = troubles.credentials[route] { return reason }
        let endpoint = "apns.endpoints.\(route.environment.rawValue)"
        guard engine.pool(of: route).usableConnections > 0 else {
            return "\(endpoint): \(troubles.connections[route] ?? "connecting")"
        }
        if case .open = engine.breaker(of: route).phase {
            return "\(endpoint): too many failures, last: \(lastFailure(of: route))"
        }
        // Also where too few devices are concerned to open the breaker.
        guard troubles.isUnserved(route, now: now.instant) else { return nil }
        return "\(endpoint): answers no request, last: \(lastFailure(of: route))"
    }

    func lastFailure(of route: Route) -> String {
        troubles.failures[route] ?? "no connection"
    }

    /// Tells of breakers that opened or closed.
    private mutating func watchBreakers() {
        for route in Route.all(credentialCount: settings.engine.credentials.count) {
            switch engine.breaker(of: route).phase {
            case .open where shutBreakers.insert(route).inserted:
                var facts = facts(route)
                facts[.reason] = lastFailure(of: route)
                log.warning("APNs fails too often and is left alone for a while", facts)
            case .closed where shutBreakers.remove(route) != nil:
                troubles.endpointRecovered(route)
                log.notice("APNs answers again", facts(route))
            case .open, .halfOpen, .closed: break
            }
        }
    }
}

extension CircuitBreaker.Phase {
    fileprivate var state: RouteMetrics.BreakerState {
        switch self {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }
}

extension ConnectionMachine.Phase {
    fileprivate var state: RouteMetrics.ConnectionState {
        switch self {
        case .connecting: .connecting
        case .proving: .proving
        case .ready: .ready
        case .draining: .draining
        }
    }
}
