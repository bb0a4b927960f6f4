import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import SystemIO
import Vocabulary

/// One connection of a pool's from its look-up to its end.
///
/// Several addresses may be tried at once, until one of them accepts the TCP connection; from then
/// on there is only that one, unless its handshake fails.
final class APNsLink {
    struct Attempt {
        /// Counts from 1 within the link; part of the loop's identifier.
        let number: UInt64
        let address: SocketAddress
        let connection: ClientConnection
        /// What the loop watches it for.
        var interest: Interest
    }

    let id: ConnectionID
    let route: Route
    private(set) var attempts: [Attempt] = []
    private var addresses: [SocketAddress] = []
    private var race: AddressRace?
    private var attemptCount: UInt64 = 0
    /// The connection that won the race: that of the one attempt that is left.
    private(set) var connection: ClientConnection?
    private(set) var isOpen = false
    /// What its GOAWAY said; of several the first with a reason.
    private(set) var farewell: Farewell?
    /// It waits for `APNsConnections.flush`.
    var isTouched = false

    init(id: ConnectionID, route: Route) {
        self.id = id
        self.route = route
    }

    /// The one attempt that is left has TCP.
    var hasWinner: Bool { connection != nil }

    func attempt(_ number: UInt64) -> Attempt? { attempts.first { $0.number == number } }

    // MARK: The race

    /// The addresses are known; `uses` says how many connections there are to one already.
    func resolved(_ found: some Sequence<SocketAddress>, uses: (SocketAddress) -> Int) {
        addresses = Array(found)
        race = AddressRace(
            addresses.map {
                AddressRace.Candidate(isIPv6: $0.family == .ipv6, uses: uses($0))
            }
        )
    }

    /// The next address to connect to, if it is time; each is followed by `started` or
    /// `attemptFailed`.
    func nextAddress(now: Instant) -> SocketAddress? {
        race?.next(now: now).map { addresses[$0] }
    }

    func nextAttemptAt(now: Instant) -> Instant? { race?.nextAttemptAt(now: now) }

    /// Nothing runs, and nothing is left to try.
    var isLost: Bool { !hasWinner && attempts.isEmpty && race?.isLost ?? true }

    /// - Returns: The attempt, which the loop does not watch yet.
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

    /// An address could not even be tried.
    func attemptFailed() {
        race?.attemptFailed()
    }

    /// - Returns: The attempts that are not needed any more.
    func won(_ winner: Attempt) -> [Attempt] {
        let losers = attempts.filter { $0.number != winner.number }
        attempts = [winner]
        race?.won()
        connection = winner.connection
        return losers
    }

    /// HTTP/2 is up: no other address will be needed.
    func opened() {
        isOpen = true
        race = nil
    }

    /// A GOAWAY came.
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

    /// Tries no further address.
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
    /// Whether a connection that had TCP may fare better at another address of the same name.
    ///
    /// Not where somebody has decided: this side, the proxy, or APNs by GOAWAY or about the
    /// certificate.
    fileprivate var mayBeTheAddress: Bool {
        switch self {
        case .tls(.certificateRefused): false
        case .tls, .closedByPeer, .socketFailed, .protocolViolation, .flooded, .connectFailed: true
        case .unresolved, .timedOut, .pingUnanswered, .proxy, .goAway, .closedHere: false
        }
    }
}
