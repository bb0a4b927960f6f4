package import Telemetry

/// What the admin port reads from the service; each call returns at once, from any thread.
package struct AdminState: Sendable {
    /// False only when a restart would help.
    package var isAlive: @Sendable () -> Bool
    package var readiness: @Sendable () -> Readiness
    /// Read now.
    package var metrics: @Sendable () -> [MetricFamily]
    /// See `StatusDocument`; nil: there is no status page.
    package var statusJSON: (@Sendable () -> [UInt8])?

    package init(
        isAlive: @escaping @Sendable () -> Bool,
        readiness: @escaping @Sendable () -> Readiness,
        metrics: @escaping @Sendable () -> [MetricFamily],
        statusJSON: (@Sendable () -> [UInt8])?
    ) {
        self.isAlive = isAlive
        self.readiness = readiness
        self.metrics = metrics
        self.statusJSON = statusJSON
    }
}

/// Whether the service is ready: the reasons if it is not, and warnings.
///
/// Probes, rollouts and drains of nodes act on readiness, on all processes at once. So an obstacle
/// is this process' or Kafka's alone; what is wrong with one credential, endpoint or schema is a
/// warning, because the others continue and no other process would do better.
package struct Readiness: Hashable, Sendable {
    package struct Finding: Hashable, Sendable {
        /// The thing, as `kafka` or `credential example`.
        package var part: String
        /// A sentence for people; never with a device token.
        package var reason: String

        package init(part: String, reason: String) {
            self.part = part
            self.reason = reason
        }
    }

    /// Empty: ready.
    package var obstacles: [Finding]
    package var warnings: [Finding]

    package init(obstacles: [Finding] = [], warnings: [Finding] = []) {
        self.obstacles = obstacles
        self.warnings = warnings
    }

    package var isReady: Bool { obstacles.isEmpty }

    var json: String {
        """
        {"ready":\(isReady),"reasons":\(Self.list(obstacles)),"warnings":\(Self.list(warnings))}
        """
    }

    private static func list(_ findings: [Finding]) -> String {
        let members = findings.map { "{\"part\":\($0.part.json),\"reason\":\($0.reason.json)}" }
        return "[\(members.joined(separator: ","))]"
    }
}
