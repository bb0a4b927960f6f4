import Delivery
import Log
import Telemetry
import Vocabulary

extension Shard {
    /// Tells of fuses that blew or are whole again, and notes them for metrics and readiness.
    mutating func watchTokenFuses() {
        var trips = 0
        for route in Route.all(credentialCount: settings.engine.credentials.count) {
            guard let fuse = engine.tokenFuse(of: route) else { return }
            trips += fuse.trips
            metrics.routes[route.index].blownTokenFuse.set(fuse.isBlown ? 1 : 0)
            guard fuse.isBlown != blownFuses.contains(route) else { continue }
            if fuse.isBlown {
                blownFuses.insert(route)
                sayBlown(fuse, route)
            } else {
                blownFuses.remove(route)
                log.notice("token fuse whole again: APNs is believed", facts(route))
            }
        }
        metrics.tokenFuseTrips.add(UInt64(trips) - metrics.tokenFuseTrips.value)
    }

    private func sayBlown(_ fuse: TokenFuse, _ route: Route) {
        var facts = facts(route)
        facts[.problem] =
            "\(percent(fuse.share)) of the device tokens condemned, usual are "
            + "\(percent(fuse.baseline)); check host, credential and environment"
        log.error("token fuse blown: no token is to be removed", facts)
    }

    func facts(_ route: Route) -> LogFacts {
        [.credential: credentialName(route), .environment: route.environment.rawValue]
    }

    private func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
}
