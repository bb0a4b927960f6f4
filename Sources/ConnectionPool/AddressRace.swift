public import Vocabulary

/// In which order, and when, the addresses of one name are tried for one connection
/// (RFC 8305, 4 and 5: "Happy Eyeballs").
///
/// An address that swallows packets must not use up the whole connect timeout, so the next one is
/// tried next to it after a while; one that refuses is followed by the next at once. The first to
/// accept the TCP connection wins, and the caller gives up the others. Where the winner's handshake
/// then fails, the race continues with what was not tried yet.
///
/// Addresses with the fewest connections go first, so that many connections spread over many
/// servers; among equals IPv6 and IPv4 take turns.
public struct AddressRace: Hashable, Sendable {
    /// What the race knows about an address.
    public struct Candidate: Hashable, Sendable {
        public var isIPv6: Bool
        /// Connections that this shard has to it already.
        public var uses: Int

        public init(isIPv6: Bool, uses: Int) {
            self.isIPv6 = isIPv6
            self.uses = uses
        }
    }

    /// Twice what RFC 8305, 5 recommends and a quarter of what it allows: the farthest server
    /// answers a SYN within it, and a needless connect would be churn in Apple's eyes.
    public static let attemptDelay = Duration.milliseconds(500)

    /// Servers whose handshake may fail for one connection: what they all refuse, a certificate
    /// for instance, must not be shown to every one of them.
    public static let maxFailedHandshakes = 3

    /// Indices of the candidates that were not tried yet, the next one first.
    private var untried: ArraySlice<Int>
    private var running = 0
    private var startedAt: Instant?
    private var failedHandshakes = 0
    /// One address has TCP; whether it is of use remains to be seen.
    private var hasWinner = false

    /// - Parameter candidates: In the order of preference; the family of the first leads
    ///   (RFC 6724 put it there).
    public init(_ candidates: [Candidate]) {
        untried = Self.order(of: candidates)[...]
    }

    // MARK: Inputs

    /// The index of the address to try now; ask again until it is nil.
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

    /// An attempt has TCP; the others were given up.
    public mutating func won() {
        precondition(running > 0, "an attempt won that was not started")
        running = 1
        hasWinner = true
    }

    /// The winner turned out to be unusable: TLS failed, or the connection broke before HTTP/2 was
    /// up.
    public mutating func winnerFailed() {
        precondition(hasWinner, "nobody has won yet")
        running = 0
        hasWinner = false
        failedHandshakes += 1
        if failedHandshakes == Self.maxFailedHandshakes { abandon() }
    }

    /// Tries no further address.
    public mutating func abandon() {
        untried = []
    }

    // MARK: Queries

    /// When `next` has an address to try; nil: all have been tried, or one has won.
    public func nextAttemptAt(now: Instant) -> Instant? {
        guard !untried.isEmpty, !hasWinner else { return nil }
        guard running > 0, let startedAt else { return now }
        return startedAt + Self.attemptDelay
    }

    /// Nothing runs, and nothing is left to try.
    public var isLost: Bool { running == 0 && untried.isEmpty }

    // MARK: Private

    private static func order(of candidates: [Candidate]) -> [Int] {
        let leadsIPv6 = candidates.first?.isIPv6 ?? false
        return Set(candidates.map(\.uses)).sorted().flatMap { uses in
            let group = candidates.indices.filter { candidates[$0].uses == uses }
            return interleaved(
                group.filter { candidates[$0].isIPv6 == leadsIPv6 },
                group.filter { candidates[$0].isIPv6 != leadsIPv6 }
            )
        }
    }

    private static func interleaved(_ first: [Int], _ second: [Int]) -> [Int] {
        (0..<max(first.count, second.count)).flatMap { position in
            [first, second].compactMap { position < $0.count ? $0[position] : nil }
        }
    }
}
