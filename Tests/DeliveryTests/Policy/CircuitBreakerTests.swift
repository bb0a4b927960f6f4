import Delivery
import Testing
import Vocabulary

@Suite struct CircuitBreakerTests {
    private enum Step {
        case start
        case success
        case failure
        case abandoned
        case connectFailure
        case connected
        case wait(Int)
    }

    private static let limits = CircuitBreaker.Limits(
        connectFailures: 2,
        requestFailures: 3,
        failurePercent: 50,
        sampleSize: 6,
        openFor: .seconds(5),
        maxOpenFor: .seconds(8),
        probes: 2
    )

    private func breaker(after steps: [Step]) -> CircuitBreaker {
        var breaker = CircuitBreaker(limits: Self.limits)
        var now = Instant(nanoseconds: 0)
        for step in steps {
            switch step {
            case .start: breaker.requestStarted()
            case .success: breaker.requestSucceeded(now: now)
            case .failure: breaker.requestFailed(now: now)
            case .abandoned: breaker.requestAbandoned()
            case .connectFailure: breaker.connectFailed()
            case .connected: breaker.connectSucceeded()
            case .wait(let seconds):
                now = now + .seconds(seconds)
                breaker.timeAdvanced(now: now)
            }
        }
        return breaker
    }

    private static func open(until seconds: Int64) -> CircuitBreaker.Phase {
        .open(until: Instant(nanoseconds: seconds * 1_000_000_000))
    }

    private static let opened: [Step] = [.failure, .failure, .failure]

    @Test(
        arguments: [
            ([.failure, .failure], .closed),
            ([.failure, .failure, .success, .failure, .failure], .closed),
            (opened, open(until: 5)),
            // Half of a window's answers fail, though never three in a row.
            (
                [.success, .failure, .success, .failure, .success, .failure],
                open(until: 5)
            ),
            // The same spread over two windows says nothing.
            (
                [.success, .failure, .success, .wait(10), .failure, .success, .failure],
                .closed
            ),
            (opened + [.success, .failure, .wait(4)], open(until: 5)),
            (opened + [.wait(5)], .halfOpen(started: 0, succeeded: 0)),
            (opened + [.wait(5), .start, .start], .halfOpen(started: 2, succeeded: 0)),
            (opened + [.wait(5), .start, .abandoned], .halfOpen(started: 0, succeeded: 0)),
            (opened + [.wait(5), .start, .success], .halfOpen(started: 1, succeeded: 1)),
            (opened + [.wait(5), .start, .success, .start, .success], .closed),
            // Each time the probes fail it stays open longer, up to a bound.
            (opened + [.wait(5), .start, .failure], open(until: 13)),
            (
                opened + [.wait(5), .start, .failure, .wait(8), .start, .failure],
                open(until: 21)
            ),
            ([.connectFailure], .closed),
            ([.connectFailure, .success, .connectFailure], .closed),
            ([.connectFailure, .connectFailure, .wait(60)], .open(until: nil)),
            (
                [.connectFailure, .connectFailure, .connected],
                .halfOpen(started: 0, succeeded: 0)
            ),
            (
                [.connectFailure, .connectFailure, .connected, .connectFailure],
                .open(until: nil)
            ),
        ] as [([Step], CircuitBreaker.Phase)]
    )
    private func `failures open it, time or a connection lets probes through, and probes close it`(
        steps: [Step],
        phase: CircuitBreaker.Phase
    ) {
        #expect(breaker(after: steps).phase == phase)
    }

    @Test(
        arguments: [
            ([], true), (opened, false), (opened + [.wait(5)], true),
            (opened + [.wait(5), .start], true), (opened + [.wait(5), .start, .start], false),
            (opened + [.wait(5), .start, .start, .success], false),
        ] as [([Step], Bool)]
    )
    private func `half open, it admits as many requests as it has probes`(
        steps: [Step],
        admits: Bool
    ) {
        #expect(breaker(after: steps).admits == admits)
    }
}
