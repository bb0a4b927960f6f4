import AdminHTTP
import Credentials
import Log
import Shard
import SystemIO
import Vocabulary

/// The state of the shards, for the admin port.
struct ServiceHealth: Sendable {
    private typealias Finding = AdminHTTP.Readiness.Finding

    let controls: [ShardControl]
    let schemas: ForeignSchemas
    let credentials: Credentials
    let tokenStatus: TokenStatusReader?
    let campaigns: CampaignReader?
    let topicWait: TopicWait
    /// File reloads, by the part that reports their problems.
    let reloads: KeyValuePairs<String, FileReloads>

    /// A loop that has not turned for this long is stuck: it wakes itself up every second.
    ///
    /// The watchdog waits longer, so that probes and metrics show the problem before it ends the
    /// process.
    private static let deadAfter = Duration.seconds(20)

    /// Whether the process is alive; depends on nothing outside the process.
    var isAlive: Bool {
        let now = SystemClock.now
        return controls.allSatisfy { $0.status.hasEnded || $0.silence(now: now) < Self.deadAfter }
    }

    /// The time since the slowest shard's loop last turned.
    func longestSilence(now: Instant) -> Duration {
        controls.filter { !$0.hasEnded }.map { $0.silence(now: now) }.max() ?? .zero
    }

    /// `starting`, `running` or `draining`.
    var state: String {
        if controls.contains(where: \.isShutdownRequested) { return "draining" }
        return controls.allSatisfy(\.status.hasJoinedGroup) ? "running" : "starting"
    }

    /// What keeps the service from working, and other problems; each cause is listed once.
    var readiness: AdminHTTP.Readiness {
        var obstacles: Set<Finding> = []
        if let trouble = topicWait.trouble {
            obstacles.insert(.init(part: "kafka", reason: trouble))
        } else if tokenStatus?.isLoading == true {
            let trouble = tokenStatus?.trouble.map { ": \($0)" } ?? ""
            obstacles.insert(.init(part: "kafka", reason: "loading token status\(trouble)"))
        } else if let campaigns, !campaigns.isLoaded {
            let trouble = campaigns.trouble.map { ": \($0)" } ?? ""
            obstacles.insert(.init(part: "kafka", reason: "loading campaign orders\(trouble)"))
        }
        for control in controls {
            if control.isShutdownRequested {
                obstacles.insert(.init(part: "process", reason: "shutting down"))
            }
            let status = control.status
            if !status.hasJoinedGroup {
                obstacles.insert(.init(part: "kafka", reason: "not in the consumer group yet"))
            }
            if let trouble = status.kafkaTrouble {
                obstacles.insert(.init(part: "kafka", reason: trouble))
            }
        }
        return AdminHTTP.Readiness(
            obstacles: Self.shown(obstacles),
            warnings: Self.shown(warnings)
        )
    }

    /// Problems of single credentials, endpoints, schemas or registries, while others work.
    private var warnings: Set<Finding> {
        var warnings: Set<Finding> = []
        for route in controls.flatMap(\.status.routes) {
            let part = "credential \(route.credential) (\(route.environment.rawValue))"
            if route.isTokenFuseBlown {
                warnings.insert(
                    .init(part: part, reason: "token fuse blown: APNs refuses too many tokens")
                )
            }
            if let trouble = route.trouble {
                warnings.insert(.init(part: part, reason: trouble))
            }
        }
        if let tokenStatus, !tokenStatus.isLoading, let trouble = tokenStatus.trouble {
            warnings.insert(
                .init(part: "kafka", reason: "token status cannot be read: \(trouble)")
            )
        }
        if let campaigns, campaigns.isLoaded, let trouble = campaigns.trouble {
            warnings.insert(
                .init(part: "kafka", reason: "campaign orders cannot be read: \(trouble)")
            )
        }
        for trouble in credentials.troubles(now: SystemClock.wallClock) {
            let part = trouble.credential.map { "credential \($0)" } ?? "credentials"
            warnings.insert(.init(part: part, reason: trouble.reason))
        }
        if let problem = schemas.directory?.problem {
            warnings.insert(.init(part: "schemas", reason: problem))
        }
        if let trouble = schemas.registry?.trouble(now: SystemClock.now) {
            warnings.insert(.init(part: "schema_registry", reason: trouble))
        }
        for (part, reloads) in self.reloads {
            warnings.formUnion(reloads.troubles.map { Finding(part: part, reason: $0) })
        }
        return warnings
    }

    /// Makes findings printable: reasons may contain peers' texts, which curl would print on a
    /// terminal.
    private static func shown(_ findings: Set<Finding>) -> [Finding] {
        let shown = Set(findings.map { Finding(part: $0.part, reason: $0.reason.printable) })
        return shown.sorted { ($0.part, $0.reason) < ($1.part, $1.reason) }
    }
}
