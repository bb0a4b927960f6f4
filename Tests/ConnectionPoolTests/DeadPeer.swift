import ConnectionPool
import Vocabulary

/// A peer that stops answering, a service that continues to ask it, and how long that lasts.
///
/// Every connection answers a few requests and then no more.
struct DeadPeer {
    enum Kind: CaseIterable {
        case silent
        case answersPingsOnly
    }

    /// The random plan: how the peer fails, and how it is asked.
    struct Case {
        let kind: Kind
        /// Requests that each connection answers.
        let answers: Int
        let limits: PoolMachine.Limits
        let requestTimeout: Duration
        /// The interval between new requests.
        let gap: Duration
        let attempts: Int
        let retryDelay: Duration
        let streams: Int
        let requiresProof: Bool

        init(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            func duration(_ milliseconds: ClosedRange<Int64>) -> Duration {
                // Log-uniform, so short and long values are equally likely.
                var most = milliseconds.lowerBound
                let doublings =
                    (milliseconds.upperBound / milliseconds.lowerBound).bitWidth
                    - (milliseconds.upperBound / milliseconds.lowerBound).leadingZeroBitCount
                most <<= Int64.random(in: 0...Int64(doublings), using: &random)
                let bound = min(max(most, milliseconds.lowerBound + 1), milliseconds.upperBound)
                return .milliseconds(
                    Int64.random(in: milliseconds.lowerBound...bound, using: &random)
                )
            }
            kind = Kind.allCases.randomElement(using: &random) ?? .silent
            answers = Int.random(in: 0...3, using: &random)
            limits = PoolMachine.Limits(
                maxConnections: Int.random(in: 1...3, using: &random),
                pingAfterIdle: duration(100...3_600_000)
            )
            requestTimeout = duration(100...300_000)
            gap = duration(20...120_000)
            attempts = Int.random(in: 1...6, using: &random)
            retryDelay = duration(1...60_000)
            streams = [1, 2, 20].randomElement(using: &random) ?? 1
            requiresProof = Bool.random(using: &random)
        }
    }

    private struct Stream {
        let connection: ConnectionID
        let attempt: Int
        let endsAt: Instant
        let isAnswered: Bool
    }

    /// The externally visible state of a connection.
    struct Sight {
        var answersLeft: Int
        /// The first request since its last answer; nil if none is unanswered.
        var askedAt: Instant?
        var pingedAt: Instant?
        /// When it stopped accepting streams.
        var leftAt: Instant?
        /// Its streams may still end.
        var isOpen = true
    }

    private let plan: Case
    private var bench: PoolBench
    private var requests: [(at: Instant, attempt: Int)]
    private var streams: [Stream] = []
    private var pongs: [(at: Instant, ConnectionID)] = []
    private var opens: [(at: Instant, ConnectionID)] = []
    private(set) var sights: [ConnectionID: Sight] = [:]
    /// The longest time from the first unanswered request until the connection is given up.
    private(set) var longestTrust = Duration.zero

    private static let latency = Duration.milliseconds(30)

    init(_ plan: Case, seed: UInt64) {
        self.plan = plan
        bench = PoolBench(plan.limits, requiresProof: plan.requiresProof)
        bench.random = SeededGenerator(seed: seed)
        bench.pool.useBegan()
        requests = [(bench.now, 1)]
    }

    var now: Instant { bench.now }

    var leftCount: Int { sights.values.count { $0.leftAt != nil } }

    /// Advances to the next event of any kind.
    mutating func step() {
        let now = bench.now
        var next = bench.pool.nextDeadline(now: now).map { max($0, now) }
        func consider(_ instant: Instant) {
            if instant > now { next = min(next ?? instant, instant) }
        }
        for request in requests { consider(request.at) }
        for stream in streams { consider(stream.endsAt) }
        for pong in pongs { consider(pong.at) }
        for open in opens { consider(open.at) }
        bench.now = next ?? now
        openDue()
        answerPings()
        endStreams()
        ask()
        carryOut(bench.advance())
        for sight in sights.values where sight.leftAt == nil {
            if let askedAt = sight.askedAt {
                longestTrust = max(longestTrust, bench.now - askedAt)
            }
        }
    }

    private mutating func openDue() {
        let now = bench.now
        for (at, id) in opens where at <= now {
            bench.pool.connectionOpened(id, maxConcurrentStreams: plan.streams, now: now)
        }
        opens.removeAll { $0.at <= now }
    }

    private mutating func answerPings() {
        let now = bench.now
        for (at, id) in pongs where at <= now { bench.pool.pingAnswered(id, now: now) }
        pongs.removeAll { $0.at <= now }
    }

    private mutating func endStreams() {
        let now = bench.now
        let ended = streams.filter { $0.endsAt <= now }
        streams.removeAll { $0.endsAt <= now }
        for stream in ended { end(stream) }
    }

    private mutating func end(_ stream: Stream) {
        let id = stream.connection
        if stream.isAnswered {
            bench.pool.streamAnswered(
                on: id,
                shows: .credential,
                after: Self.latency,
                now: now
            )
            let isOwing = streams.contains { $0.connection == id }
            sights[id]?.askedAt = isOwing ? bench.now : nil
        } else {
            bench.pool.streamBroke(on: id, now: now)
            if stream.attempt < plan.attempts {
                requests.append((now + plan.retryDelay, stream.attempt + 1))
            }
        }
        closeIfIdle(id)
    }

    private mutating func ask() {
        let now = bench.now
        for request in requests where request.at <= now {
            guard let id = bench.pool.streamWanted(now: now) else { continue }
            let isAnswered = sights[id, default: Sight(answersLeft: 0)].answersLeft > 0
            if isAnswered { sights[id]?.answersLeft -= 1 }
            let askedAt = sights[id]?.askedAt
            sights[id]?.askedAt = askedAt ?? now
            let duration = isAnswered ? Self.latency : plan.requestTimeout
            streams.append(
                Stream(
                    connection: id,
                    attempt: request.attempt,
                    endsAt: now + duration,
                    isAnswered: isAnswered
                )
            )
        }
        let due = requests.count { $0.at <= now }
        bench.pool.demandChanged(waiting: due)
        // Requests without a stream are dropped; others follow.
        let hasNew = requests.contains { $0.at <= now && $0.attempt == 1 }
        requests.removeAll { $0.at <= now }
        if hasNew { requests.append((now + plan.gap, 1)) }
    }

    private mutating func carryOut(_ actions: [PoolMachine.Action]) {
        for action in actions {
            switch action {
            case .connect(let id):
                sights[id] = Sight(answersLeft: plan.answers)
                opens.append((now + Self.latency, id))
            case .ping(let id):
                sights[id]?.pingedAt = bench.now
                if plan.kind == .answersPingsOnly { pongs.append((now + Self.latency, id)) }
            case .drain(let id), .drainStalled(let id):
                leave(id)
                closeIfIdle(id)
            case .close(let id, _):
                leave(id)
                let broken = streams.filter { $0.connection == id }
                streams.removeAll { $0.connection == id }
                for stream in broken { end(stream) }
                closeIfIdle(id)
            }
        }
    }

    private mutating func leave(_ id: ConnectionID) {
        let leftAt = sights[id]?.leftAt
        sights[id]?.leftAt = leftAt ?? bench.now
    }

    private mutating func closeIfIdle(_ id: ConnectionID) {
        guard let sight = sights[id], sight.isOpen, sight.leftAt != nil,
            !streams.contains(where: { $0.connection == id })
        else { return }
        sights[id]?.isOpen = false
        opens.removeAll { $0.1 == id }
        pongs.removeAll { $0.1 == id }
        bench.close(id.rawValue)
    }
}
