public import Vocabulary

/// In which order, and when, one connection tries the addresses of a name ("Happy Eyeballs").
///
/// RFC 8305, 4 and 5.
///
/// An address that drops packets must not use up the whole connect timeout, so after a while the
/// next one is tried in parallel; after a refusal the next one is tried at once. The first to
/// accept the TCP connection wins, and the caller cancels the others. If the winner's handshake
/// then fails, the race continues with the untried addresses.
///
/// Addresses with the fewest connections go first, so that connections spread over many servers;
/// among equals, IPv6 and IPv4 alternate. Those whose handshake failed recently go last: they never
/// have a connection, and would be the first choice for each new one.
public struct AddressRace: Hashable, Sendable {
    /// What the race knows about an address.
    public struct Candidate: Hashable, Sendable {
        public var isIPv6: Bool
        /// The number of connections this shard already has to it.
        public var uses: Int
        /// Whether a handshake failed there recently.
        public var hasFailed: Bool

        public init(isIPv6: Bool, uses: Int, hasFailed: Bool) {
            self.isIPv6 = isIPv6
            self.uses = uses
            self.hasFailed = hasFailed
        }
    }

    /// Twice the delay that RFC 8305, 5 recommends, and a quarter of its maximum.
    ///
    /// Even the farthest server answers a SYN within it, and Apple regards needless connects as
    /// abuse.
    public static let attemptDelay = Duration.milliseconds(500)

    /// The number of servers whose handshake may fail for one connection.
    ///
    /// A certificate that all of them reject must not be presented to each of them.
    public static let maxFailedHandshakes = 3

    /// Indices of the untried candidates, the next one first.
    private var untried: ArraySlice<Int>
    private var running = 0
    private var startedAt: Instant?
    private var failedHandshakes = 0
    /// Whether an address has accepted TCP; its handshake may still fail.
    private var hasWinner = false

    /// - Parameter candidates: In order of preference; the family of the first one leads, as sorted
    ///   by RFC 6724.
    public init(_ candidates: [Candidate]) {
        untried = Self.order(of: candidates)[...]
    }

    // MARK: Inputs

    /// The index of the address to try now; call it again until it returns nil.
    public mutating func next(now: Instant) -> Int? {
        guard let due = nextAttemptAt(now: now), due <= now, let index = untried.popFirst() else {
            return nil
        }
        running += 1
        startedAt = now
        return index
    }

    /// An attempt ended without a TCP connection.
    public mutating func attemptFailed() {
        precondition(running > 0, "more attempts failed than were started")
        running -= 1
    }

    /// An attempt has a TCP connection; the caller has cancelled the others.
    public mutating func won() {
        precondition(running > 0, "an attempt won that was not started")
        running = 1
        hasWinner = true
    }

    /// The winner failed: TLS failed, or the connection broke before HTTP/2 was established.
    public mutating func winnerFailed() {
        precondition(hasWinner, "nobody has won yet")
        running = 0
        hasWinner = false
        failedHandshakes += 1
        if failedHandshakes == Self.maxFailedHandshakes { abandon() }
    }

    /// Stops trying addresses.
    public mutating func abandon() {
        untried = []
    }

    // MARK: Queries

    /// When `next` has an address to try; nil: all were tried, or one has won.
    public func nextAttemptAt(now: Instant) -> Instant? {
        guard !untried.isEmpty, !hasWinner else { return nil }
        guard running > 0, let startedAt else { return now }
        return startedAt + Self.attemptDelay
    }

    /// Whether nothing is in progress and nothing is left to try.
    public var isLost: Bool { running == 0 && untried.isEmpty }

    // MARK: Private

    private static func order(of candidates: [Candidate]) -> [Int] {
        let leadsIPv6 = candidates.first?.isIPv6 ?? false
        return [false, true].flatMap { hasFailed in
            let similar = candidates.indices.filter { candidates[$0].hasFailed == hasFailed }
            return Set(similar.map { candidates[$0].uses }).sorted().flatMap { uses in
                let group = similar.filter { candidates[$0].uses == uses }
                return interleaved(
                    group.filter { candidates[$0].isIPv6 == leadsIPv6 },
                    group.filter { candidates[$0].isIPv6 != leadsIPv6 }
                )
            }
        }
    }

    private static func interleaved(_ first: [Int], _ second: [Int]) -> [Int] {
        (0..<max(first.count, second.count)).flatMap { position in
            [first, second].compactMap { position < $0.count ? $0[position] : nil }
        }
    }
}
