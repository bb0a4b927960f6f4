import Delivery
import Vocabulary

/// How an endpoint answered one member, as far as its circuit breaker depends on it.
struct BreakerWatch {
    enum Phase {
        case closed
        case open
        /// Half-open since this time.
        case tried(Instant)
    }

    /// The devices of failed requests, oldest first.
    var failures: [(device: Int32, sentAt: Instant, at: Instant)] = []
    /// When the last good answer arrived.
    var servedAt = Instant(nanoseconds: 0)
    var phase = Phase.closed
    /// When the breaker last closed.
    var closedAt = Instant(nanoseconds: 0)
    /// Whether, since the breaker closed, a connection ended or failed because of the endpoint.
    var hasLostConnection = false
    /// Good answers to requests sent while half-open, then the devices of the failed ones.
    var succeeded = 0
    var failedWhileTried: Set<Int32> = []
}

extension World {
    /// Notes an answer to the member, or that its time ran out.
    mutating func noteForBreaker(
        _ stream: SimulatedConnection.OpenStream,
        isFailure: Bool,
        on route: Route,
        by member: Member
    ) {
        let device = events[Int(stream.event)].device
        if isFailure {
            // No checker looks further back.
            let horizon = now
            member.breakers[route.index].failures.removeAll { $0.at + .seconds(60) < horizon }
            member.breakers[route.index].failures.append((device, stream.sentAt, now))
        } else {
            member.breakers[route.index].servedAt = now
        }
        guard case .tried(let since) = member.breakers[route.index].phase, stream.sentAt >= since
        else { return }
        if isFailure {
            member.breakers[route.index].failedWhileTried.insert(device)
        } else {
            member.breakers[route.index].succeeded += 1
        }
    }

    /// Notes that a connection ended or could not be opened; earlier probes may not count.
    func noteForBreaker(
        endOf connection: SimulatedConnection,
        _ cause: CloseCause,
        by member: Member
    ) {
        member.breakers[connection.route.index].succeeded = 0
        // The endpoint is reachable, but rejects the credential.
        if cause == .other { member.breakers[connection.route.index].hasLostConnection = true }
    }

    /// Checks that a breaker opens only if the endpoint fails for many devices.
    ///
    /// It must close again as soon as most probes succeed.
    mutating func checkBreakers(of member: Member, _ engine: borrowing DeliveryEngine) {
        for index in member.breakers.indices {
            checkBreaker(engine.breaker(of: Route(index: index)), index, of: member)
        }
    }

    private mutating func checkBreaker(
        _ breaker: CircuitBreaker,
        _ index: Int,
        of member: Member
    ) {
        switch (member.breakers[index].phase, breaker.phase) {
        case (.closed, .closed): checkLeftAlone(member.breakers[index], breaker.limits)
        case (.closed, .open(.some)):
            coverage.note(.breakerOpened)
            // What was decided since the last turn looked back from there.
            let horizon = member.turnBefore
            member.breakers[index].failures.removeAll { $0.at + breaker.limits.window < horizon }
            let failed = Set(member.breakers[index].failures.map(\.device)).count
            if failed < breaker.limits.failedDevices {
                found(.breakerIsJust, "opened for \(failed) devices")
            }
            member.breakers[index].phase = .open
        case (.closed, .open(nil)):
            if !member.breakers[index].hasLostConnection {
                found(.breakerIsJust, "opened though no connection was lost or not had")
            }
            member.breakers[index].phase = .open
        case (.tried, .open(.some)):
            let failed = member.breakers[index].failedWhileTried.count
            if failed * 2 <= breaker.limits.probes {
                found(.breakerIsJust, "opened again for \(failed) devices")
            }
            member.breakers[index].phase = .open
        case (.tried, .halfOpen):
            let succeeded = member.breakers[index].succeeded
            if succeeded * 2 > breaker.limits.probes {
                found(.breakerIsJust, "shut after \(succeeded) good probes")
            }
        case (.open, .halfOpen), (.closed, .halfOpen):
            member.breakers[index].phase = .tried(now)
            member.breakers[index].succeeded = 0
            member.breakers[index].failedWhileTried = []
        case (_, .closed):
            member.breakers[index].phase = .closed
            member.breakers[index].closedAt = now
            member.breakers[index].hasLostConnection = false
        case (_, .open): member.breakers[index].phase = .open
        }
    }

    /// Checks that the member stops using an endpoint that fails all requests.
    ///
    /// The bounds are wide: twice the number of devices that opens a breaker, in half the window,
    /// and long after the last good answer.
    private mutating func checkLeftAlone(_ watch: BreakerWatch, _ limits: CircuitBreaker.Limits) {
        let longAgo = limits.window * 2
        guard watch.failures.last?.at == now, watch.servedAt + longAgo < now,
            watch.closedAt + longAgo < now
        else { return }
        let recent = watch.failures.filter {
            $0.at + limits.window / 2 > now && $0.sentAt >= watch.closedAt
        }
        let failed = Set(recent.map(\.device)).count
        guard failed >= 2 * limits.failedDevices else { return }
        found(.failingEndpointLeftAlone, "used though it failed \(failed) devices and served none")
    }
}
