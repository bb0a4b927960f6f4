import APNsRules
import ConnectionPool
import Vocabulary

/// A route's connections, the deliveries that wait for one of their streams, and whether the
/// endpoint is worth trying.
struct Lane: Sendable {
    var pool: PoolMachine
    var waiting: WeightedQueues<DeliveryID>
    var breaker: CircuitBreaker
    /// Since when nothing flows; nil: it does.
    var blockedSince: Instant?
    /// Deliveries of the route that have no outcome yet, wherever they wait.
    var held = 0

    init(_ settings: EngineSettings, _ route: Route) {
        let isProven = settings.credentials[route.credential].isProvenByHandshake
        pool = PoolMachine(limits: settings.pool, requiresProof: !isProven)
        waiting = WeightedQueues(weights: settings.sourceWeights)
        breaker = CircuitBreaker(limits: settings.breaker)
    }
}
