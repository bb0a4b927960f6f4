import AdminHTTP
import Credentials
import Log
import Shard
import SystemIO
import Vocabulary

/// What the admin port says of the shards.
struct ServiceHealth: Sendable {
    let controls: [ShardControl]
    let schemas: ForeignSchemas
    let credentials: Credentials
    let tokenStatus: TokenStatusReader?
    let topicWait: TopicWait

    /// A loop that has not turned for so long is stuck: it wakes itself every second.
    ///
    /// The watchdog waits longer, so that probes and metrics can tell before it ends the process.
    private static let deadAfter = Duration.seconds(20)

    /// Depends on nothing outside the process.
    var isAlive: Bool {
        let now = SystemClock.now
        return controls.allSatisfy { $0.status.hasEnded || $0.silence(now: now) < Self.deadAfter }
    }

    /// How long ago the loop that is slowest now last turned.
    func longestSilence(now: Instant) -> Duration {
        controls.filter { !$0.hasEnded }.map { $0.silence(now: now) }.max() ?? .zero
    }

    /// `starting`, `running` or `draining`.
    var state: String {
        if controls.contains(where: \.isShutdownRequested) { return "draining" }
        return controls.allSatisfy(\.status.hasJoinedGroup) ? "running" : "starting"
    }

    /// Why the service is not ready, each cause once.
    var readiness: AdminHTTP.Readiness {
        var obstacles: Set<AdminHTTP.Readiness.Obstacle> = []
        if let trouble = topicWait.trouble {
            obstacles.insert(.init(part: "kafka", reason: trouble))
        } else if tokenStatus?.isLoading == true {
            let trouble = tokenStatus?.trouble.map { ": \($0)" } ?? ""
            obstacles.insert(.init(part: "kafka", reason: "loading token status\(trouble)"))
        }
        for control in controls {
            let status = control.status
            if control.isShutdownRequested {
                obstacles.insert(.init(part: "process", reason: "shutting down"))
            }
            if !status.hasJoinedGroup {
                obstacles.insert(.init(part: "kafka", reason: "not in the consumer group yet"))
            }
            if let trouble = status.kafkaTrouble {
                obstacles.insert(.init(part: "kafka", reason: trouble))
            }
            for route in status.routes {
                let part = "credential \(route.credential) (\(route.environment.rawValue))"
                if route.isTokenFuseBlown {
                    obstacles.insert(.init(part: part, reason: "APNs condemns too many tokens"))
                }
                guard let trouble = route.trouble else { continue }
                obstacles.insert(.init(part: part, reason: trouble))
            }
        }
        for trouble in credentials.troubles(now: SystemClock.wallClock) {
            let part = trouble.credential.map { "credential \($0)" } ?? "credentials"
            obstacles.insert(.init(part: part, reason: trouble.reason))
        }
        if let problem = schemas.directory?.problem {
            obstacles.insert(.init(part: "schemas", reason: problem))
        }
        if let trouble = schemas.registry?.trouble(now: SystemClock.now) {
            obstacles.insert(.init(part: "schema_registry", reason: trouble))
        }
        // Reasons are peers' words, too, and who asks with curl shows them on a terminal.
        let shown = Set(
            obstacles.map { obstacle in
                AdminHTTP.Readiness.Obstacle(part: obstacle.part, reason: obstacle.reason.printable)
            }
        )
        return AdminHTTP.Readiness(
            obstacles: shown.sorted { ($0.part, $0.reason) < ($1.part, $1.reason) }
        )
    }
}
