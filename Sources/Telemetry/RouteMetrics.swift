/// What one shard shows of a route's pool and breaker; the shard's thread writes.
package final class RouteMetrics: Sendable {
    /// Of a connection, by `ConnectionMachine.Phase`.
    package enum ConnectionState: String, Hashable, Sendable, CaseIterable {
        case connecting
        /// One stream, until APNs took the provider token.
        case proving
        case ready
        case draining
    }

    /// Of a circuit breaker.
    package enum BreakerState: String, Hashable, Sendable, CaseIterable {
        case closed
        case open
        case halfOpen = "half_open"
    }

    private let connections = ConnectionState.allCases.map { _ in Gauge() }
    private let breakers = BreakerState.allCases.map { _ in Gauge() }
    package let streams = Gauge()
    /// How many streams the usable connections allow.
    package let streamsLimit = Gauge()
    /// Events that wait for a stream.
    package let waiting = Gauge()
    /// 1: APNs condemns too many device tokens.
    package let blownTokenFuse = Gauge()

    init() {
        setBreaker(.closed)
    }

    package func setConnections(_ count: (ConnectionState) -> Int) {
        for (gauge, state) in zip(connections, ConnectionState.allCases) { gauge.set(count(state)) }
    }

    package func setBreaker(_ present: BreakerState) {
        for (gauge, state) in zip(breakers, BreakerState.allCases) {
            gauge.set(state == present ? 1 : 0)
        }
    }

    var connectionCounts: [(label: String, count: Int)] {
        zip(ConnectionState.allCases, connections).map { ($0.rawValue, $1.value) }
    }

    var breakerCounts: [(label: String, count: Int)] {
        zip(BreakerState.allCases, breakers).map { ($0.rawValue, $1.value) }
    }
}
