public import Vocabulary

/// What an answer shows about its connection; each case implies those before it.
public enum AnswerWorth: Hashable, Sendable, Comparable, CaseIterable {
    /// The peer answers, but rejects this connection.
    case presence
    /// The peer serves requests, although this answer is its own error or one of the credential.
    case service
    /// The connection works.
    case success
    /// The peer also checked the provider token, and found it valid.
    case credential
}

/// Tracks one connection: whether streams may open on it, and whether its peer is alive.
public struct ConnectionMachine: Hashable, Sendable {
    /// A connection that closes leaves the pool in any phase.
    public enum Phase: Hashable, Sendable {
        /// TCP, TLS and the peer's SETTINGS are in progress.
        ///
        /// Next: `proving`, `ready`, `draining` (its credential was replaced or parked).
        case connecting(since: Instant)
        /// One stream at a time, until the peer has accepted the provider token.
        ///
        /// See "Establishing a token-based connection to APNs". Next: `ready`, `draining`.
        case proving
        /// Streams may open, up to the peer's limit. Next: `draining`.
        case ready
        /// Open streams finish; no new ones open. Terminal.
        case draining
    }

    public let id: ConnectionID
    public private(set) var phase: Phase
    public private(set) var openStreams = 0
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113, 6.5.2).
    public private(set) var maxConcurrentStreams = 0
    /// Since when the peer allows no streams; nil: it allows some, or the connection is not open.
    public private(set) var shutSince: Instant?
    /// When the last byte from the peer arrived.
    public private(set) var heardAt: Instant
    /// When the last stream ended, or the connection opened.
    public private(set) var idleSince: Instant
    /// When the first stream opened since the peer was last heard; nil: no answer is due.
    ///
    /// If streams were open when the peer was last heard, that time.
    ///
    /// Nothing on this side resets it, neither a further stream nor a timeout: a dead peer stays
    /// dead however often it is asked.
    public private(set) var silentSince: Instant?
    /// The same, but since a stream was last answered; other frames do not count.
    public private(set) var unansweredSince: Instant?
    public private(set) var pingSentAt: Instant?
    /// When the peer's SETTINGS arrived; nil: not yet.
    private var openedAt: Instant?
    private let requiresProof: Bool
    /// When the last stream opened; nil: none has.
    public private(set) var askedAt: Instant?
    /// The most that any answer has shown; nil: there was none.
    public private(set) var worth: AnswerWorth?
    /// Whether its end already counted as a failure of the peer.
    public private(set) var isBlamed = false
    /// Whether it was closed for a new credential; its end then says nothing about the peer.
    public private(set) var isSuperseded = false
    /// Whether it was given up because the peer answered no streams, or allowed none.
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

    /// A stream ended; `answer`: what its answer shows; nil: there was none.
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

    /// Nothing was answered or allowed for too long: open streams may finish, no new ones open.
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

    /// Whether a stream was ever opened.
    public var wasAsked: Bool { askedAt != nil }

    /// Whether an answer has shown that the connection works.
    public var hasWorked: Bool { worth.map { $0 >= .success } ?? false }

    /// How many streams may be open at once.
    public var streamLimit: Int {
        switch phase {
        case .connecting, .draining: 0
        case .proving: min(1, maxConcurrentStreams)
        case .ready: maxConcurrentStreams
        }
    }

    /// How many more streams may open now.
    ///
    /// Zero also if the peer lowered its limit below the number of open streams.
    public var freeStreams: Int { max(0, streamLimit - openStreams) }

    /// The time since it opened.
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
