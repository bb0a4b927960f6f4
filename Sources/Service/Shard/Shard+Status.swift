import ConnectionPool
import Delivery
import Telemetry
import Vocabulary

extension Shard {
    /// Between two looks that other threads get of the shard.
    private static let statusInterval = Duration.milliseconds(100)

    /// Writes the turn's numbers down.
    func record() {
        let counts = engine.counts
        metrics.attempts.add(UInt64(counts.attempts - recorded.attempts))
        metrics.retries.add(UInt64(counts.retries - recorded.retries))
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
        metrics.pausedPartitions.set(
            engine.isIntakePaused ? engine.assignedPartitions.count : 0
        )
        metrics.openConnections.set(connections.openCount)
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
        reportStatus()
    }

    func reportStatus() {
        var status = ShardStatus()
        status.hasJoinedGroup = troubles.hasJoinedGroup
        status.hasEnded = hasConsumerClosed || failure != nil
        status.kafkaTrouble = troubles.kafka(now: now.instant)
        status.assignedPartitions = engine.assignedPartitions.count
        status.isIntakePaused = engine.isIntakePaused
        status.inFlightEvents = engine.inFlightEvents
        status.isBehind = isFetchBehind && engine.isIntakeOpen && status.kafkaTrouble == nil
        status.progress = progress
        status.counts = ShardCounts(
            consumed: engine.counts.consumed,
            terminal: engine.counts.terminal,
            deferred: engine.counts.deferred,
            handedBack: engine.inFlightEvents + engine.counts.released
        )
        metrics.rateLimitedEvents.set(engine.rateLimitedCount)
        metrics.parkedCredentials.set(
            settings.engine.credentials.indices.count { !engine.parking(of: $0).isWorking }
        )
        var streams = 0
        var closedRoutes = 0
        for route in Route.all(credentialCount: settings.engine.credentials.count) {
            let pool = engine.pool(of: route)
            streams += pool.openStreams
            if engine.breaker(of: route).phase != .closed { closedRoutes += 1 }
            guard pool.isInUse else { continue }
            status.routes.append(
                ShardStatus.RouteStatus(
                    credential: credentialName(route),
                    environment: route.environment,
                    usableConnections: pool.usableConnections,
                    connections: pool.connections.count,
                    openStreams: pool.openStreams,
                    waiting: engine.waitingCount(of: route),
                    breaker: engine.breaker(of: route).phase.name,
                    trouble: trouble(route),
                    isTokenFuseBlown: blownFuses.contains(route)
                )
            )
        }
        metrics.streamsInUse.set(streams)
        metrics.openBreakers.set(closedRoutes)
        control.status = status
    }

    private func trouble(_ route: Route) -> String? {
        if let reason = engine.parking(of: route.credential).reason {
            return "parked: \(reason.text)"
        }
        if let reason = troubles.credentials[route] { return reason }
        if case .open = engine.breaker(of: route).phase {
            return "apns.endpoints.\(route.environment.rawValue): too many failures"
        }
        let pool = engine.pool(of: route)
        if pool.usableConnections > 0 { return nil }
        let trouble = troubles.connections[route] ?? "connecting"
        return "apns.endpoints.\(route.environment.rawValue): \(trouble)"
    }

    func count(_ decoded: DecodedRecord, _ framing: RecordFraming) {
        switch decoded {
        case .tombstone: metrics.tombstones.add()
        case .event, .invalid, .awaitingSchema: metrics.eventsConsumed[framing].add()
        }
    }

    /// Counts what has ended; to be called once Kafka has all of its records.
    func countOutcome(of delivery: Delivery) {
        guard let outcome = delivery.outcome else { return }
        metrics.count(outcome.kind, reason: outcome.reason)
        let start = outcome.subject.occurredAt ?? delivery.record.timestamp ?? outcome.receivedAt
        let elapsed = outcome.completedAt.milliseconds - start.milliseconds
        metrics.endToEnd.record(.milliseconds(max(0, elapsed)))
        log(outcome, of: delivery)
    }
}

extension CircuitBreaker.Phase {
    /// The word for the status page.
    fileprivate var name: String {
        switch self {
        case .closed: "closed"
        case .open: "open"
        case .halfOpen: "half-open"
        }
    }
}
