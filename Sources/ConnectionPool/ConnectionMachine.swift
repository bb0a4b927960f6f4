public import Vocabulary

/// What an answer shows about its connection; each case includes those before it.
public enum AnswerWorth: Hashable, Sendable, Comparable, CaseIterable {
    /// The peer is there, and sends this side away: "not on this connection".
    case presence
    /// It serves, though with an error of its own, or of the credential's.
    case service
    /// The connection works.
    case success
    /// And the provider token was looked at and found valid.
    case credential
}

/// The accounting of one connection: whether streams may open on it, and whether it is alive.
public struct ConnectionMachine: Hashable, Sendable {
    /// A connection that closes leaves the pool, whatever its phase.
    public enum Phase: Hashable, Sendable {
        /// TCP, TLS and the peer's SETTINGS are in progress. Next: `proving`, `ready`, `draining`
        /// (its credential was replaced or parked meanwhile).
        case connecting(since: Instant)
        /// One stream at a time, until the peer has found the provider token valid ("Establishing
        /// a token-based connection to APNs"). Next: `ready`, `draining`.
        case proving
        /// Streams may open, up to the peer's limit. Next: `draining`.
        case ready
        /// Open streams finish, none may open. Terminal.
        case draining
    }

    public let id: ConnectionID
    public private(set) var phase: Phase
    public private(set) var openStreams = 0
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, 6.5.2).
    public private(set) var maxConcurrentStreams = 0
    /// Since when the peer allows no stream at all; nil: it allows some, or is not open.
    public private(set) var shutSince: Instant?
    /// When the peer was last heard.
    public private(set) var heardAt: Instant
    /// When the last stream ended, or the connection opened.
    public private(set) var idleSince: Instant
    /// When the first stream opened since the peer was last heard, or when it was last heard if
    /// streams were left open then; nil: it owes nothing.
    ///
    /// Nothing that we do resets it, be it a further stream or a timeout: however often a dead
    /// peer is asked, it stays dead.
    public private(set) var silentSince: Instant?
    /// The same since a stream was last answered: what else is heard does not count.
    public private(set) var unansweredSince: Instant?
    public private(set) var pingSentAt: Instant?
    /// When the peer's SETTINGS came; nil: not yet.
    private var openedAt: Instant?
    private let requiresProof: Bool
    /// When the last stream was opened; nil: none was.
    public private(set) var askedAt: Instant?
    /// The most that an answer has shown; nil: no answer yet.
    public private(set) var worth: AnswerWorth?
    /// Its end was held against the peer already.
    public private(set) var isBlamed = false
    /// It was given up for another credential; how it ends says nothing about the peer.
    public private(set) var isSuperseded = false
    /// It was given up because nothing on it was answered, or allowed.
    public private(set) var isStalled = false

    public init(id: ConnectionID, requiresProof: Bool, now: Instant) {
        self.id = id
        self.requiresProof = requiresProof
        phase = .connecting(since: now)
        heardAt = now
        idleSince = now
    }

    // MARK: Inputs

    public mutating func opened(maxConcurrentStreams limit: Int, now: Instant) {
        guard case .connecting = phase else { return }
        limitStreams(limit, now: now)
        heard(now: now)
        idleSince = now
        openedAt = now
        phase = requiresProof ? .proving : .ready
    }

    public mutating func streamLimitChanged(_ limit: Int, now: Instant) {
        limitStreams(limit, now: now)
        heard(now: now)
    }

    public mutating func streamOpened(now: Instant) {
        precondition(freeStreams > 0, "stream opened beyond the limit on connection \(id)")
        silentSince = silentSince ?? now
        unansweredSince = unansweredSince ?? now
        openStreams += 1
        askedAt = now
    }

    /// A stream ended; `answer`: what its answer shows; nil: it had none.
    public mutating func streamEnded(_ answer: AnswerWorth?, now: Instant) {
        precondition(openStreams > 0, "more streams ended than opened on connection \(id)")
        openStreams -= 1
        if openStreams == 0 { idleSince = now }
        guard let answer else { return }
        heard(now: now)
        unansweredSince = openStreams > 0 ? now : nil
        worth = max(worth ?? answer, answer)
        if answer == .credential, phase == .proving { phase = .ready }
    }

    public mutating func drainingBegan() {
        phase = .draining
    }

    public mutating func blamed() {
        isBlamed = true
    }

    public mutating func superseded() {
        isSuperseded = true
        phase = .draining
    }

    /// Nothing was answered, or allowed, for too long: open streams may still be, none may open.
    public mutating func stalled() {
        isStalled = true
        phase = .draining
    }

    public mutating func pingSent(now: Instant) {
        pingSentAt = now
    }

    public mutating func pingAnswered(now: Instant) {
        pingSentAt = nil
        heard(now: now)
    }

    // MARK: Queries

    /// A stream was opened.
    public var wasAsked: Bool { askedAt != nil }

    /// It brought an answer that shows that it works.
    public var hasWorked: Bool { worth.map { $0 >= .success } ?? false }

    /// How many streams may be open now.
    public var streamLimit: Int {
        switch phase {
        case .connecting, .draining: 0
        case .proving: min(1, maxConcurrentStreams)
        case .ready: maxConcurrentStreams
        }
    }

    /// How many more streams may open now.
    ///
    /// None as well after the peer lowered its limit below what is open.
    public var freeStreams: Int { max(0, streamLimit - openStreams) }

    /// How long it has been open.
    public func age(now: Instant) -> Duration { openedAt.map { now - $0 } ?? .zero }

    public var isUsable: Bool { phase == .proving || phase == .ready }

    public var isConnecting: Bool {
        if case .connecting = phase { return true }
        return false
    }

    // MARK: Private

    private mutating func heard(now: Instant) {
        heardAt = now
        silentSince = openStreams > 0 ? now : nil
    }

    private mutating func limitStreams(_ limit: Int, now: Instant) {
        maxConcurrentStreams = limit
        shutSince = limit > 0 ? nil : shutSince ?? now
    }
}
