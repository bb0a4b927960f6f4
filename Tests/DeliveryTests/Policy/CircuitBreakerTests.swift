import Delivery
import Testing
import Vocabulary

@Suite struct CircuitBreakerTests {
    private enum Step {
        case start
        case success
        /// The device of the request.
        case failure(UInt64)
        case abandoned
        /// The answer to a request of an earlier phase.
        case lateSuccess
        case lateFailure(UInt64)
        case lateAbandoned
        case connectFailure
        case connected
        case wait(Int)
    }

    private enum Expectation {
        case closed
        /// Tries a request this many seconds after the start.
        case openUntil(Int64)
        case openUntilConnected
        case halfOpen(underway: Int = 0, succeeded: Int = 0, failed: Int = 0)
    }

    private static let limits = CircuitBreaker.Limits(
        connectFailures: 2,
        failedDevices: 3,
        failurePercent: 50,
        recentAnswers: 10,
        window: .seconds(10),
        openFor: .seconds(5),
        maxOpenFor: .seconds(8),
        probes: 3
    )

    private static func device(_ number: UInt64) -> KeyedHash {
        KeyedHash(rawValue: number)
    }

    private func breaker(after steps: [Step]) -> CircuitBreaker {
        var breaker = CircuitBreaker(limits: Self.limits)
        var longest = LongestWait()
        var now = Instant(nanoseconds: 0)
        let before = Instant(nanoseconds: -1)
        for step in steps {
            switch step {
            case .start: breaker.requestStarted()
            case .success: breaker.requestSucceeded(sentAt: now, now: now)
            case .failure(let device):
                breaker.requestFailed(Self.device(device), sentAt: now, now: now, using: &longest)
            case .abandoned: breaker.requestAbandoned(sentAt: now)
            case .lateSuccess: breaker.requestSucceeded(sentAt: before, now: now)
            case .lateFailure(let device):
                breaker.requestFailed(
                    Self.device(device),
                    sentAt: before,
                    now: now,
                    using: &longest
                )
            case .lateAbandoned: breaker.requestAbandoned(sentAt: before)
            case .connectFailure: breaker.connectFailed()
            case .connected: breaker.connectSucceeded(now: now)
            case .wait(let seconds):
                now = now + .seconds(seconds)
                breaker.timeAdvanced(now: now)
            }
        }
        return breaker
    }

    private static let opened: [Step] = [.failure(1), .failure(2), .failure(3)]
    private static let tried = opened + [.wait(5)]
    private static let failedAgain: [Step] = [.start, .failure(1), .start, .failure(2)]

    @Test(
        arguments: [
            // Opens only for several devices, and if most answers are failures.
            ([.failure(1), .failure(2)], .closed),
            ([.failure(1), .failure(1), .failure(1), .failure(1)], .closed),
            (opened, .openUntil(5)),
            ([.success, .success, .success] + opened, .openUntil(5)),
            ([.success, .success, .success, .success] + opened, .closed),
            // Ten answers are considered, none older than ten seconds.
            (Array(repeating: .success, count: 50) + opened, .closed),
            (
                Array(repeating: .success, count: 50) + opened + [.failure(4), .failure(5)],
                .openUntil(5)
            ),
            ([.failure(1), .failure(2), .wait(10), .failure(3)], .closed),
            ([.failure(1), .wait(10), .failure(1), .failure(2)], .closed),
            // Requests sent before it opened do not count.
            (opened + [.success, .failure(4), .wait(4)], .openUntil(5)),
            (tried + [.lateSuccess, .lateFailure(4), .lateFailure(5)], .halfOpen()),
            (
                tried + [.start, .success, .start, .success]
                    + [.lateFailure(4), .lateFailure(5), .lateFailure(6)],
                .closed
            ),
            // The majority of probes decides, whatever a single device gets.
            (tried, .halfOpen()),
            (tried + [.start, .start], .halfOpen(underway: 2)),
            (tried + [.start, .abandoned], .halfOpen()),
            (tried + [.start, .lateAbandoned], .halfOpen(underway: 1)),
            (tried + [.start, .success], .halfOpen(succeeded: 1)),
            (tried + [.start, .failure(1)], .halfOpen(failed: 1)),
            (tried + [.start, .failure(1), .start, .failure(1)], .halfOpen(failed: 1)),
            (tried + [.start, .failure(1), .start, .success, .start, .success], .closed),
            // Each failed probe doubles the wait, up to a limit.
            (tried + failedAgain, .openUntil(13)),
            (tried + failedAgain + [.wait(8)] + failedAgain, .openUntil(21)),
            (tried + [.start, .success, .start, .success] + opened, .openUntil(10)),
            // Connections.
            ([.connectFailure], .closed),
            ([.connectFailure, .success, .connectFailure], .closed),
            ([.connectFailure, .connectFailure, .wait(60)], .openUntilConnected),
            ([.connectFailure, .connectFailure, .connected], .halfOpen()),
            (
                [.connectFailure, .connectFailure, .connected, .connectFailure],
                .openUntilConnected
            ),
            // A peer that accepts every connection and answers nothing counts the same.
            ([.connected, .connectFailure, .connected, .connectFailure], .openUntilConnected),
        ] as [([Step], Expectation)]
    )
    private func
        `failures open the breaker, time or a connection allows probes, and probes close it`(
            steps: [Step],
            expected: Expectation
        )
    {
        let phase = breaker(after: steps).phase
        switch expected {
        case .closed: #expect(phase == .closed)
        case .openUntil(let seconds):
            #expect(phase == .open(until: Instant(nanoseconds: seconds * 1_000_000_000)))
        case .openUntilConnected: #expect(phase == .open(until: nil))
        case .halfOpen(let underway, let succeeded, let failed):
            guard case .halfOpen(let trial) = phase else {
                Issue.record("\(phase)")
                return
            }
            #expect(trial.underway == underway)
            #expect(trial.succeeded == succeeded)
            #expect(trial.failed.count == failed)
        }
    }

    @Test(
        arguments: [
            ([], true), (opened, false), (tried, true), (tried + [.start, .start], true),
            (tried + [.start, .start, .start], false),
            (tried + [.start, .start, .start, .success], true),
        ] as [([Step], Bool)]
    )
    private func `a half-open breaker allows as many requests at a time as probes`(
        steps: [Step],
        admits: Bool
    ) {
        #expect(breaker(after: steps).admits == admits)
    }
}
