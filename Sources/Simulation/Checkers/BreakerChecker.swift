import Delivery
import Vocabulary

/// How an endpoint treated one member, as far as its breaker must heed it.
struct BreakerWatch {
    enum Phase {
        case closed
        case open
        /// Since then.
        case tried(Instant)
    }

    /// The devices that were failed, and when, oldest first.
    var failures: [(device: Int32, at: Instant)] = []
    var phase = Phase.closed
    /// Of what was sent while it is tried: good answers, and the devices that were failed.
    var succeeded = 0
    var failedWhileTried: Set<Int32> = []
}

extension World {
    /// An answer came to the member, or the time for it ran out.
    mutating func noteForBreaker(
        _ stream: SimulatedConnection.OpenStream,
        isFailure: Bool,
        on route: Route,
        by member: Member
    ) {
        let device = events[Int(stream.event)].device
        if isFailure { member.breakers[route.index].failures.append((device, now)) }
        guard case .tried(let since) = member.breakers[route.index].phase, stream.sentAt >= since
        else { return }
        if isFailure {
            member.breakers[route.index].failedWhileTried.insert(device)
        } else {
            member.breakers[route.index].succeeded += 1
        }
    }

    /// A connection ended, or was not had: probes before that may count for nothing.
    func noteForBreaker(endOf connection: SimulatedConnection, by member: Member) {
        member.breakers[connection.route.index].succeeded = 0
    }

    /// An endpoint is left alone only for failing many devices, and used again as soon as it serves
    /// most of those that it is tried with.
    mutating func checkBreakers(of member: Member, _ engine: DeliveryEngine) {
        for index in member.breakers.indices {
            checkBreaker(engine.breaker(of: Route(index: index)), index, of: member)
        }
    }

    private mutating func checkBreaker(
        _ breaker: CircuitBreaker,
        _ index: Int,
        of member: Member
    ) {
        var watch = member.breakers[index]
        // What was decided since the last turn looked back from there.
        let horizon = member.turnBefore
        watch.failures.removeAll { $0.at + breaker.limits.window < horizon }
        switch (watch.phase, breaker.phase) {
        case (.closed, .open(.some)):
            coverage.note(.breakerOpened)
            let failed = Set(watch.failures.map(\.device)).count
            if failed < breaker.limits.failedDevices {
                found(.breakerIsJust, "opened for \(failed) devices")
            }
            watch.phase = .open
        case (.tried, .open(.some)):
            if watch.failedWhileTried.count * 2 <= breaker.limits.probes {
                found(.breakerIsJust, "opened again for \(watch.failedWhileTried.count) devices")
            }
            watch.phase = .open
        case (.tried, .halfOpen):
            if watch.succeeded * 2 > breaker.limits.probes {
                found(.breakerIsJust, "shut after \(watch.succeeded) good probes")
            }
        case (.open, .halfOpen), (.closed, .halfOpen):
            watch.phase = .tried(now)
            watch.succeeded = 0
            watch.failedWhileTried = []
        case (_, .closed): watch.phase = .closed
        case (_, .open): watch.phase = .open
        }
        member.breakers[index] = watch
    }
}
