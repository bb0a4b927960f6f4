/// One shard's metrics about a route's pool and breaker, written by the shard's thread.
public final class RouteMetrics: Sendable {
    /// The states of a connection, as in `ConnectionMachine.Phase`.
    public enum ConnectionState: String, Hashable, Sendable, CaseIterable {
        case connecting
        /// One stream at a time, until APNs has accepted the provider token.
        case proving
        case ready
        case draining
    }

    /// The states of a circuit breaker.
    public enum BreakerState: String, Hashable, Sendable, CaseIterable {
        case closed
        case open
        case halfOpen = "half_open"
    }

    private let connections = ConnectionState.allCases.map { _ in Gauge() }
    private let breakers = BreakerState.allCases.map { _ in Gauge() }
    public let streams = Gauge()
    /// The number of streams that the usable connections allow.
    public let streamsLimit = Gauge()
    /// The number of events that wait for a stream.
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
