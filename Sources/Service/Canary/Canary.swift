import APNsRules
import AdminHTTP
package import Configuration
import Credentials
import Log
import Telemetry
import Vocabulary

/// The command `heliograph canary`.
///
/// At a steady pace, it writes an event to a source and waits for the running service's outcome.
package struct Canary: Sendable {
    private let configuration: Configuration
    private let plan: CanaryPlan
    private let metrics = CanaryMetrics()
    private let log: Log
    private let logSink: LogSink

    package init(_ configuration: Configuration, _ plan: CanaryPlan) {
        self.configuration = configuration
        self.plan = plan
        logSink = LogSink(format: configuration.log.format)
        log = Log(from: configuration.log.level, sink: logSink)
    }

    /// Runs until SIGTERM or SIGINT.
    ///
    /// - Throws: If no credential covers the app, or if the admin port cannot be opened or its
    ///   secrets cannot be read.
    package func run() async throws {
        try checkCoverage()
        let signals = ProcessSignals.catching(ProcessSignal.allCases)
        defer { logSink.finish() }
        let secrets = try AdminSecrets(configuration.admin, log: log)
        defer { secrets.stop() }
        let state = AdminState(
            isAlive: { true },
            readiness: { AdminHTTP.Readiness() },
            metrics: { [metrics] in metrics.families },
            statusJSON: nil
        )
        let parts = [
            PartGroup.Part("signals", mayEnd: true) { await signals.untilDrain() },
            PartGroup.Part("admin port") { try await secrets.serve(state) },
            PartGroup.Part("canary") { await fly() },
        ]
        try await PartGroup(parts) { [log] part, error in
            log.error("component failed during shutdown", [.problem: "\(part): \(error)"])
        }.run()
    }

    /// Refuses an app for which every event would fail.
    ///
    /// Reads no key: a key that is broken now may be replaced while the service uses its old one.
    private func checkCoverage() throws {
        _ = try CredentialRouting(configuration.apns.scopes(nil)).requiredRoute(
            for: .bundleID(plan.bundleID),
            pushType: .background,
            environment: nil
        )
    }

    /// Runs one round per interval until the task is cancelled.
    private func fly() async {
        let clock = ContinuousClock()
        var next = clock.now
        while !Task.isCancelled {
            let round = CanaryRound(configuration, plan)
            let landing = await withTaskCancellationHandler {
                await ShardThread.run(named: "canary") { round.fly() }
            } onCancel: {
                round.stop()
            }
            if let landing { tell(landing) }
            // Missed rounds are skipped, not made up for.
            next = max(next + plan.interval, clock.now)
            try? await Task.sleep(until: next, clock: clock)
        }
    }

    private func tell(_ landing: CanaryFlight.Landing) {
        switch landing {
        case .accepted(let duration): metrics.accepted(after: duration)
        case .failed(let result, let cause):
            metrics.failed(result)
            log.everyLine.warning(
                "the canary event failed",
                [.reason: result.rawValue, .error: cause]
            )
        }
    }
}
