package import Vocabulary

/// Keeps an endpoint that fails from taking the room of those that work.
///
/// The intuition of a fuse with a test button: it opens when failures come in a row, or make up
/// most of what comes; after a while, or when a connection stands again, a few probes may go;
/// when all of them succeed it closes.
package struct CircuitBreaker: Hashable, Sendable {
    package struct Limits: Hashable, Sendable {
        /// Failed connects in a row that open it.
        package var connectFailures: Int
        /// Failed requests in a row that open it.
        package var requestFailures: Int
        /// Of a window's answers, how many of a hundred may fail.
        package var failurePercent: Int
        /// Fewer answers in a window say nothing.
        package var sampleSize: Int
        package var window: Duration
        /// How long it stays open at first; doubles each time the probes fail.
        package var openFor: Duration
        package var maxOpenFor: Duration
        package var probes: Int

        package init(
            connectFailures: Int = 3,
            requestFailures: Int = 10,
            failurePercent: Int = 50,
            sampleSize: Int = 20,
            window: Duration = .seconds(10),
            openFor: Duration = .seconds(5),
            maxOpenFor: Duration = .seconds(60),
            probes: Int = 3
        ) {
            self.connectFailures = connectFailures
            self.requestFailures = requestFailures
            self.failurePercent = failurePercent
            self.sampleSize = sampleSize
            self.window = window
            self.openFor = openFor
            self.maxOpenFor = maxOpenFor
            self.probes = probes
        }
    }

    package enum Phase: Hashable, Sendable {
        /// Everything passes. Next: `open`.
        case closed
        /// Nothing passes until then; nil: until a connection stands. Next: `halfOpen`.
        case open(until: Instant?)
        /// So many probes are out or answered, so many succeeded. Next: `closed`, `open`.
        case halfOpen(started: Int, succeeded: Int)
    }

    package let limits: Limits
    package private(set) var phase = Phase.closed
    /// Times it opened since it was last closed.
    private var openings = 0
    private var connectFailures = 0
    private var requestFailures = 0
    private var windowStart = Instant(nanoseconds: .min)
    private var windowAnswers = 0
    private var windowFailures = 0

    package init(limits: Limits = .init()) {
        self.limits = limits
    }

    // MARK: Inputs

    package mutating func requestStarted() {
        guard case .halfOpen(let started, let succeeded) = phase else { return }
        phase = .halfOpen(started: started + 1, succeeded: succeeded)
    }

    /// The endpoint answered, and the answer is none of its own failures.
    package mutating func requestSucceeded(now: Instant) {
        connectFailures = 0
        requestFailures = 0
        switch phase {
        case .closed: answered(isFailure: false, now: now)
        // An answer to what was sent before it opened.
        case .open: break
        case .halfOpen(let started, let succeeded):
            guard succeeded + 1 < limits.probes else {
                close()
                return
            }
            phase = .halfOpen(started: started, succeeded: succeeded + 1)
        }
    }

    /// A 5xx, or no answer in time.
    package mutating func requestFailed(now: Instant) {
        requestFailures += 1
        switch phase {
        case .closed:
            answered(isFailure: true, now: now)
            let isStorm =
                windowAnswers >= limits.sampleSize
                && windowFailures * 100 >= windowAnswers * limits.failurePercent
            if requestFailures >= limits.requestFailures || isStorm { open(now: now) }
        case .open: break
        case .halfOpen: open(now: now)
        }
    }

    /// The request ended in a way that says nothing about the endpoint: another probe may go.
    package mutating func requestAbandoned() {
        guard case .halfOpen(let started, let succeeded) = phase else { return }
        phase = .halfOpen(started: max(succeeded, started - 1), succeeded: succeeded)
    }

    /// A connection could not be had, or ended before it was of any use.
    package mutating func connectFailed() {
        connectFailures += 1
        switch phase {
        case .closed where connectFailures >= limits.connectFailures, .halfOpen:
            openings += 1
            phase = .open(until: nil)
        case .closed, .open: break
        }
    }

    package mutating func connectSucceeded() {
        connectFailures = 0
        guard phase == .open(until: nil) else { return }
        phase = .halfOpen(started: 0, succeeded: 0)
    }

    package mutating func timeAdvanced(now: Instant) {
        guard case .open(let until?) = phase, until <= now else { return }
        phase = .halfOpen(started: 0, succeeded: 0)
    }

    // MARK: Queries

    /// Whether a request may start now.
    package var admits: Bool {
        switch phase {
        case .closed: true
        case .open: false
        case .halfOpen(let started, _): started < limits.probes
        }
    }

    package var nextDeadline: Instant? {
        guard case .open(let until) = phase else { return nil }
        return until
    }

    // MARK: Private

    private mutating func answered(isFailure: Bool, now: Instant) {
        if windowStart + limits.window <= now {
            windowStart = now
            windowAnswers = 0
            windowFailures = 0
        }
        windowAnswers += 1
        if isFailure { windowFailures += 1 }
    }

    private mutating func open(now: Instant) {
        let openFor = limits.openFor * (1 << min(openings, 16))
        openings += 1
        phase = .open(until: now + min(openFor, limits.maxOpenFor))
    }

    private mutating func close() {
        self = CircuitBreaker(limits: limits)
    }
}
