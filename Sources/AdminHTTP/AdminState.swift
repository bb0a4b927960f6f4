package import Telemetry

/// What the admin port asks the service; each answer is given at once and from any thread.
package struct AdminState: Sendable {
    /// False only when a restart would help.
    package var isAlive: @Sendable () -> Bool
    package var readiness: @Sendable () -> Readiness
    /// Read now.
    package var metrics: @Sendable () -> [MetricFamily]
    /// See `StatusDocument`.
    package var statusJSON: @Sendable () -> [UInt8]

    package init(
        isAlive: @escaping @Sendable () -> Bool,
        readiness: @escaping @Sendable () -> Readiness,
        metrics: @escaping @Sendable () -> [MetricFamily],
        statusJSON: @escaping @Sendable () -> [UInt8]
    ) {
        self.isAlive = isAlive
        self.readiness = readiness
        self.metrics = metrics
        self.statusJSON = statusJSON
    }
}

/// Whether the service does its work, and if not, why: one reason for each thing that is not ready.
package struct Readiness: Hashable, Sendable {
    package struct Obstacle: Hashable, Sendable {
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
    package var obstacles: [Obstacle]

    package init(obstacles: [Obstacle] = []) {
        self.obstacles = obstacles
    }

    package var isReady: Bool { obstacles.isEmpty }

    var json: String {
        let reasons = obstacles.map { "{\"part\":\($0.part.json),\"reason\":\($0.reason.json)}" }
        return "{\"ready\":\(isReady),\"reasons\":[\(reasons.joined(separator: ","))]}"
    }
}
