public import Vocabulary

/// Keeps a failing endpoint from using up the memory of those that work.
///
/// It opens when many devices failed and they make up most of the recent answers. After a while, or
/// when a connection is up again, a few probes may pass, and the majority of their results decides.
/// Only requests sent in the current phase count: answers to earlier ones arrive late and say
/// nothing new.
public struct CircuitBreaker: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        /// Consecutive failed connects that open it.
        public var connectFailures: Int
        /// The minimum number of failed devices that opens it.
        public var failedDevices: Int
        /// The percentage of failed devices among recent answers that opens it.
        public var failurePercent: Int
        /// How many of the last answers count as recent, unless they are older than `window`.
        public var recentAnswers: Int
        public var window: Duration
        /// How long it first stays open (`Backoff`); doubles each time the probes fail.
        public var openFor: Duration
        public var maxOpenFor: Duration
        /// The number of concurrent probes; more than half of them with the same result decide.
        public var probes: Int

        public init(
            connectFailures: Int = 3,
            failedDevices: Int = 10,
            failurePercent: Int = 50,
            recentAnswers: Int = 100,
            window: Duration = .seconds(10),
            openFor: Duration = .seconds(5),
            maxOpenFor: Duration = .seconds(60),
            probes: Int = 5
        ) {
            self.connectFailures = connectFailures
            self.failedDevices = failedDevices
            self.failurePercent = failurePercent
            self.recentAnswers = recentAnswers
            self.window = window
            self.openFor = openFor
            self.maxOpenFor = maxOpenFor
            self.probes = probes
        }
    }

    public enum Phase: Hashable, Sendable {
        /// Everything passes. Next: `open`.
        case closed
        /// Nothing passes until that time; nil: until a connection is up. Next: `halfOpen`.
        case open(until: Instant?)
        /// A few probes may pass. Next: `closed`, `open`.
        case halfOpen(Trial)
    }

    /// The results of the probes.
    public struct Trial: Hashable, Sendable {
        /// Probes that are not answered yet.
        public fileprivate(set) var underway = 0
        public fileprivate(set) var succeeded = 0
        /// The failed devices, each counted once.
        public fileprivate(set) var failed: Set<KeyedHash> = []
    }

    public let limits: Limits
    public private(set) var phase = Phase.closed
    /// When the phase began; earlier requests do not count.
    private var since = Instant(nanoseconds: .min)
    /// How many times it opened since it was last closed.
    private var openings = 0
    private var connectFailures = 0
    private var recent: RecentAnswers

    public init(limits: Limits = .init()) {
        self.limits = limits
        recent = RecentAnswers(maxCount: limits.recentAnswers, maxAge: limits.window)
    }

    // MARK: Inputs

    public mutating func requestStarted() {
        guard case .halfOpen(var trial) = phase else { return }
        trial.underway += 1
        phase = .halfOpen(trial)
    }

    /// The endpoint answered, and not with a failure of its own.
    public mutating func requestSucceeded(sentAt: Instant, now: Instant) {
        connectFailures = 0
        guard sentAt >= since else { return }
        switch phase {
        case .closed: recent.succeeded(now: now)
        case .open: break
        case .halfOpen(var trial):
            trial.underway = max(0, trial.underway - 1)
            trial.succeeded += 1
            phase = .halfOpen(trial)
            if trial.succeeded * 2 > limits.probes { close(now: now) }
        }
    }

    /// The endpoint failed a request to this device or channel.
    ///
    /// It answered 5xx or not in time, or refused or reset the stream.
    public mutating func requestFailed(
        _ device: KeyedHash,
        sentAt: Instant,
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        guard sentAt >= since else { return }
        switch phase {
        case .closed:
            recent.failed(device, now: now)
            let (failures, answers) = recent.tally(now: now)
            guard failures >= limits.failedDevices,
                failures * 100 >= answers * limits.failurePercent
            else { return }
            open(now: now, using: &random)
        case .open: break
        case .halfOpen(var trial):
            trial.underway = max(0, trial.underway - 1)
            trial.failed.insert(device)
            phase = .halfOpen(trial)
            if trial.failed.count * 2 > limits.probes { open(now: now, using: &random) }
        }
    }

    /// The request ended in a way that says nothing about the endpoint; another probe may pass.
    public mutating func requestAbandoned(sentAt: Instant) {
        guard sentAt >= since, case .halfOpen(var trial) = phase else { return }
        trial.underway = max(0, trial.underway - 1)
        phase = .halfOpen(trial)
    }

    /// A connection failed, or ended before it served a request.
    public mutating func connectFailed() {
        connectFailures += 1
        switch phase {
        case .closed where connectFailures >= limits.connectFailures, .halfOpen:
            openings += 1
            phase = .open(until: nil)
        case .closed, .open: break
        }
    }

    /// A connection is up, so probes may pass.
    ///
    /// It does not prove that the endpoint works: connections may end before any answer.
    public mutating func connectSucceeded(now: Instant) {
        guard phase == .open(until: nil) else { return }
        begin(.halfOpen(Trial()), now: now)
    }

    public mutating func timeAdvanced(now: Instant) {
        guard case .open(let until?) = phase, until <= now else { return }
        begin(.halfOpen(Trial()), now: now)
    }

    // MARK: Queries

    /// Whether a request may start now.
    public var admits: Bool {
        switch phase {
        case .closed: true
        case .open: false
        case .halfOpen(let trial): trial.underway < limits.probes
        }
    }

    /// Whether the next request is a probe.
    public var isProbing: Bool {
        if case .halfOpen = phase { true } else { false }
    }

    public var nextDeadline: Instant? {
        guard case .open(let until) = phase else { return nil }
        return until
    }

    // MARK: Private

    private mutating func open(
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        openings += 1
        let backoff = Backoff(first: limits.openFor, longest: limits.maxOpenFor)
        phase = .open(until: now + backoff.wait(afterFailures: openings, using: &random))
    }

    private mutating func close(now: Instant) {
        openings = 0
        recent = RecentAnswers(maxCount: limits.recentAnswers, maxAge: limits.window)
        begin(.closed, now: now)
    }

    private mutating func begin(_ phase: Phase, now: Instant) {
        self.phase = phase
        since = now
    }
}

/// The recent answers of an endpoint, and how many devices failed.
///
/// A device counts once, however often it failed: one notification that APNs cannot handle, retried
/// again and again, says nothing about the endpoint.
private struct RecentAnswers: Hashable, Sendable {
    private struct Answer: Hashable {
        let at: Instant
        /// Nil: a success.
        let failedDevice: KeyedHash?
    }

    private let maxCount: Int
    private let maxAge: Duration
    /// A ring buffer; once full, `next` is the index of the oldest answer.
    private var answers: [Answer] = []
    private var next = 0

    /// Makes an empty history of at most `maxCount` answers, none older than `maxAge`.
    init(maxCount: Int, maxAge: Duration) {
        self.maxCount = maxCount
        self.maxAge = maxAge
    }

    mutating func succeeded(now: Instant) {
        append(Answer(at: now, failedDevice: nil))
    }

    mutating func failed(_ device: KeyedHash, now: Instant) {
        let isKnown = answers.contains { $0.failedDevice == device && isRecent($0, now) }
        if !isKnown { append(Answer(at: now, failedDevice: device)) }
    }

    /// The number of failed devices, and of recent answers.
    func tally(now: Instant) -> (failures: Int, answers: Int) {
        answers.reduce(into: (failures: 0, answers: 0)) { tally, answer in
            guard isRecent(answer, now) else { return }
            tally.answers += 1
            if answer.failedDevice != nil { tally.failures += 1 }
        }
    }

    private func isRecent(_ answer: Answer, _ now: Instant) -> Bool { answer.at + maxAge > now }

    private mutating func append(_ answer: Answer) {
        if answers.count < maxCount {
            answers.append(answer)
        } else {
            answers[next] = answer
            next = next + 1 == maxCount ? 0 : next + 1
        }
    }
}
