import Service
import Testing
import Vocabulary

@Suite struct SignalRuleTests {
    typealias Step = (signal: ProcessSignal, milliseconds: Int64, action: SignalRule.Action)

    private static func instant(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: milliseconds * 1_000_000)
    }

    private static let sequences: [[Step]] = [
        // The first signal starts the drain, and a later one ends it.
        [(.terminate, 0, .drain), (.terminate, 5000, .exit(143))],
        [(.interrupt, 0, .drain), (.interrupt, 5000, .exit(130))],
        [(.terminate, 0, .drain), (.interrupt, 5000, .exit(130))],
        [(.interrupt, 0, .drain), (.terminate, 5000, .exit(143))],
        // A repeat in quick succession is not a second signal.
        [(.terminate, 0, .drain), (.terminate, 0, .ignore), (.interrupt, 199, .ignore)],
        [(.interrupt, 0, .drain), (.interrupt, 199, .ignore), (.terminate, 200, .exit(143))],
        // SIGHUP ends nothing, and does not count as a second signal.
        [(.hangUp, 0, .reload), (.hangUp, 0, .reload), (.terminate, 1, .drain)],
        [(.terminate, 0, .drain), (.hangUp, 5000, .ignore), (.terminate, 5001, .exit(143))],
    ]

    @Test(arguments: sequences)
    func `the effect of a signal depends on the signals before it`(steps: [Step]) {
        var rule = SignalRule()
        for step in steps {
            let action = rule.arrived(step.signal, now: Self.instant(step.milliseconds))
            #expect(action == step.action)
        }
    }

    @Test func `only SIGTERM and SIGINT start a drain`() {
        for signal in ProcessSignal.allCases {
            var rule = SignalRule()
            _ = rule.arrived(signal, now: Self.instant(0))
            #expect(rule.isDraining == (signal != .hangUp))
        }
    }
}
