import APNsRules
import Vocabulary

/// The way of a delivery to a stream: its device's line, its app's rate limit, its route's queue.
extension DeliveryEngine {
    /// A routed delivery comes to the end of its device's line.
    mutating func enterFlow(
        _ id: DeliveryID,
        _ arrival: Arrival,
        _ route: Route,
        device: KeyedHash,
        now: Moment
    ) {
        let rateLimit =
            rates.isEmpty
            ? nil : rates.limit(for: arrival.content.destination, arrival.content.pushType)
        deliveries.update(id) {
            $0.phase = .waitingForStream
            $0.isInLine = true
            $0.rateLimit = rateLimit
        }
        lanes[route.index].held += 1
        if pacing.joined(id, device) {
            approach(id, now: now)
        } else if arrival.isBroadcast {
            supersedeOlder(than: id, device, now: now)
        } else if let collapseID = arrival.content.collapseID, pacing.isThrottled(device) {
            for older in pacing.line(of: device).dropFirst()
            where deliveries[older]?.event?.collapseID == collapseID {
                supersede(older, now: now)
            }
        }
    }

    /// First of its device's line: on to the route's queue, when the app's rate allows.
    mutating func approach(_ id: DeliveryID, now: Moment) {
        deliveries.update(id) { $0.phase = .waitingForStream }
        if let limit = deliveries[id]?.rateLimit,
            !rates.passed(id, limit: limit, now: now.instant)
        {
            return
        }
        enqueue(id, now: now)
    }

    mutating func passRateLimits(now: Moment) {
        guard !rates.isEmpty else { return }
        while let id = rates.popDue(now: now.instant) {
            guard deliveries[id]?.phase == .waitingForStream else { continue }
            enqueue(id, now: now)
        }
    }

    mutating func enqueue(_ id: DeliveryID, first: Bool = false, now: Moment) {
        guard let route = deliveries[id]?.route, let source = deliveries[id]?.arrival.source
        else { return }
        deliveries.update(id) {
            $0.phase = .waitingForStream
            $0.queuedAt = now.instant
        }
        if first {
            lanes[route.index].waiting.prepend(id, to: source)
        } else {
            lanes[route.index].waiting.append(id, to: source)
        }
        wakes.touch(route.index)
    }

    /// The delivery needs its place no more: the device's next one may go.
    ///
    /// Called for every delivery that ends, is postponed or is handed back; again does nothing.
    mutating func leaveFlow(_ id: DeliveryID) {
        guard let device = deliveries[id]?.device, let route = deliveries[id]?.route
        else { return }
        deliveries.update(id) { $0.isInLine = false }
        lanes[route.index].held -= 1
        guard let (next, notBefore) = pacing.left(id, device) else { return }
        deliveries.update(next) { $0.phase = .backingOff }
        retries.insert(next, due: notBefore ?? Instant(nanoseconds: .min))
    }

    // MARK: Devices that wait

    /// APNs has enough of this device until then: of what waits with the same `collapse_id` only
    /// the newest is worth sending.
    ///
    /// What is to wait longer than for a retry from memory goes to a retry topic, all but the
    /// delivery that was refused: it is its caller's.
    mutating func throttle(
        _ device: KeyedHash,
        after refused: (id: DeliveryID, failure: AttemptFailure),
        until: Instant,
        now: Moment
    ) {
        let longest = now.instant + settings.retryHereFor
        pacing.throttled(device, until: min(until, longest))
        var seen: Set<CollapseID> = []
        if deliveries[refused.id]?.event?.isBroadcast == true,
            let newest = pacing.line(of: device).first
        {
            supersedeOlder(than: newest, device, now: now)
            return
        }
        for id in pacing.line(of: device) {
            guard let collapseID = deliveries[id]?.event?.collapseID else { continue }
            if !seen.insert(collapseID).inserted { supersede(id, now: now) }
        }
        guard until > longest, settings.canPostpone else { return }
        for id in pacing.line(of: device).reversed() where id != refused.id {
            postpone(id, because: refused.failure, notBefore: until, now: now)
        }
    }

    /// Ends a delivery that has no stream, because a newer one says the same better.
    mutating func supersede(_ id: DeliveryID, now: Moment) {
        switch deliveries[id]?.phase {
        case .waitingForStream, .backingOff:
            counts.superseded += 1
            takeFromQueue(id)
            conclude(id, with: .superseded, now: now)
        case .awaitingSchema, .waitingForDue, .inFlight, .publishing, nil: break
        }
    }

    /// Takes a delivery out of its rate limit's or its route's queue, where only the first of a line
    /// stands.
    ///
    /// What has ended must not be sent from there, nor fill a route that stands still.
    private mutating func takeFromQueue(_ id: DeliveryID) {
        guard let delivery = deliveries[id], delivery.phase == .waitingForStream,
            let route = delivery.route, let device = delivery.device,
            pacing.isFirst(id, of: device)
        else { return }
        rates.removeAll { $0 == id }
        lanes[route.index].waiting.removeAll { $0 == id }
    }
}
