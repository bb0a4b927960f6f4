/// One shard's metrics of a route's pool and breaker; the shard's thread writes.
public final class RouteMetrics: Sendable {
    /// Of a connection, by `ConnectionMachine.Phase`.
    public enum ConnectionState: String, Hashable, Sendable, CaseIterable {
        case connecting
        /// One stream, until APNs took the provider token.
        case proving
        case ready
        case draining
    }

    /// Of a circuit breaker.
    public enum BreakerState: String, Hashable, Sendable, CaseIterable {
        case closed
        case open
        case halfOpen = "half_open"
    }

    private let connections = ConnectionState.allCases.map { _ in Gauge() }
    private let breakers = BreakerState.allCases.map { _ in Gauge() }
    public let streams = Gauge()
    /// How many streams the usable connections allow.
    public let streamsLimit = Gauge()
    /// Events that wait for a stream.
    public let waiting = Gauge()
    /// 1: APNs refuses too many device tokens.
    public let blownTokenFuse = Gauge()

    init() {
        setBreaker(.closed)
    }

    public func setConnections(_ count: (ConnectionState) -> Int) {
        for (gauge, state) in zip(connections, ConnectionState.allCases) { gauge.set(count(state)) }
    }

    public func setBreaker(_ present: BreakerState) {
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
