import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import SystemIO
import Vocabulary

/// One of a pool's connections, from name resolution to its end.
///
/// Several addresses may be tried in parallel until one accepts the TCP connection. Then only that
/// attempt remains, unless its handshake fails.
final class APNsLink {
    struct Attempt {
        /// Counted from 1 within the link; part of the loop identifier.
        let number: UInt64
        let address: SocketAddress
        let connection: ClientConnection
        /// The readiness that the loop watches for.
        var interest: Interest
    }

    let id: ConnectionID
    let route: Route
    private(set) var attempts: [Attempt] = []
    private var addresses: [SocketAddress] = []
    private var race: AddressRace?
    private var attemptCount: UInt64 = 0
    /// The connection that won the race, which belongs to the only remaining attempt.
    private(set) var connection: ClientConnection?
    private(set) var isOpen = false
    /// The peer's GOAWAY; if there were several, the first with a reason.
    private(set) var farewell: Farewell?
    /// Whether it waits for `APNsConnections.flush`.
    var isTouched = false

    init(id: ConnectionID, route: Route) {
        self.id = id
        self.route = route
    }

    /// Whether the only remaining attempt has a TCP connection.
    var hasWinner: Bool { connection != nil }

    func attempt(_ number: UInt64) -> Attempt? { attempts.first { $0.number == number } }

    // MARK: The race

    /// The name was resolved.
    func resolved(
        _ found: some Sequence<SocketAddress>,
        as candidate: (SocketAddress) -> AddressRace.Candidate
    ) {
        addresses = Array(found)
        race = AddressRace(addresses.map(candidate))
    }

    /// The next address to connect to, if one is due; call `started` or `attemptFailed` for it.
    func nextAddress(now: Instant) -> SocketAddress? {
        race?.next(now: now).map { addresses[$0] }
    }

    func nextAttemptAt(now: Instant) -> Instant? { race?.nextAttemptAt(now: now) }

    /// Whether nothing is in progress and nothing is left to try.
    var isLost: Bool { !hasWinner && attempts.isEmpty && race?.isLost ?? true }

    /// - Returns: The attempt, which the loop must start to watch.
    func started(_ connection: ClientConnection, to address: SocketAddress) -> Attempt {
        attemptCount += 1
        let attempt = Attempt(
            number: attemptCount,
            address: address,
            connection: connection,
            interest: connection.interest
        )
        attempts.append(attempt)
        return attempt
    }

    /// Connecting to an address failed at once.
    func attemptFailed() {
        race?.attemptFailed()
    }

    /// - Returns: The attempts to cancel.
    func won(_ winner: Attempt) -> [Attempt] {
        let losers = attempts.filter { $0.number != winner.number }
        attempts = [winner]
        race?.won()
        connection = winner.connection
        return losers
    }

    /// HTTP/2 is established, so no other address is needed.
    func opened() {
        isOpen = true
        race = nil
    }

    /// The peer sent GOAWAY.
    func sentAway(_ farewell: Farewell) {
        if self.farewell?.reason == nil { self.farewell = farewell }
    }

    /// - Returns: Whether other addresses may be tried, or are being tried.
    func ended(_ attempt: Attempt, because failure: ConnectionFailure) -> Bool {
        attempts.removeAll { $0.number == attempt.number }
        guard hasWinner else {
            race?.attemptFailed()
            return true
        }
        connection = nil
        guard !isOpen, failure.mayBeTheAddress else { return false }
        race?.winnerFailed()
        return true
    }

    /// Stops trying addresses.
    func abandonRace() {
        race?.abandon()
    }

    func watched(_ attempt: Attempt, for interest: Interest) {
        guard let index = attempts.firstIndex(where: { $0.number == attempt.number }) else {
            return
        }
        attempts[index].interest = interest
    }
}

extension ConnectionFailure {
    /// Whether the address, which accepted TCP, should be avoided after a failure of the handshake.
    var isOfAddress: Bool { self == .timedOut || mayBeTheAddress }

    /// Whether another address of the same name may work after this failure of a TCP connection.
    ///
    /// Not if the failure was a decision: of this side, of the proxy, or of APNs by GOAWAY or about
    /// the certificate.
    fileprivate var mayBeTheAddress: Bool {
        switch self {
        case .tls(.certificateRefused): false
        case .tls, .closedByPeer, .socketFailed, .protocolViolation, .flooded, .connectFailed: true
        case .unresolved, .timedOut, .pingUnanswered, .proxy, .goAway, .closedHere: false
        }
    }
}
