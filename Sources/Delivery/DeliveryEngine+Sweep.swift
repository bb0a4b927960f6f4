import Vocabulary

extension DeliveryEngine {
    /// Between two looks for what has waited too long.
    private static let sweepInterval = Duration.seconds(1)

    /// Now and then: what waits and has expired ends here, connection or not; what waits for a
    /// blocked route makes room.
    mutating func sweep(now: Moment) {
        guard nextSweep <= now.instant else { return }
        nextSweep = now.instant + Self.sweepInterval
        // What ends now might end too late for the last commit, and once more at the next owner.
        guard membership.mayBeginAttempts(now: now.instant) else { return }
        var over: [DeliveryID] = []
        var limited = RateLimits([])
        swap(&limited, &rates)
        limited.removeAll { isOver($0, now: now, &over) }
        swap(&limited, &rates)
        for index in lanes.indices where !lanes[index].waiting.isEmpty {
            let isInTheWay = isBlocked(lane: index) && makesRoom(lane: index)
            let blockedSince = isInTheWay ? lanes[index].blockedSince : nil
            var blocked: [DeliveryID] = []
            var waiting = WeightedQueues<DeliveryID>(weights: settings.sourceWeights)
            swap(&waiting, &lanes[index].waiting)
            waiting.removeAll { id in
                if isOver(id, now: now, &over) { return true }
                guard let blockedSince,
                    hasWaitedTooLong(id, blockedSince: blockedSince, now: now)
                else { return false }
                blocked.append(id)
                return true
            }
            swap(&waiting, &lanes[index].waiting)
            for id in blocked { postponeBlocked(id, lane: index, now: now) }
            wakes.touch(index)
        }
        for id in over { conclude(id, with: .expired, now: now) }
        makeRoomBehindDevices(now: now)
    }

    /// Whether the delivery need not wait any more: it has left, or expired and is to be told so.
    ///
    /// Mutating, though it changes nothing: `sweep` asks from a closure for each delivery that
    /// waits, which would copy the whole engine for a function that only reads.
    private mutating func isOver(_ id: DeliveryID, now: Moment, _ expired: inout [DeliveryID])
        -> Bool
    {
        guard let arrival = deliveries[id]?.arrival, arrival.isEvent else { return true }
        guard arrival.content.isExpired(at: now.timestamp) else { return false }
        expired.append(id)
        return true
    }
}
