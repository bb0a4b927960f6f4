package import Telemetry

/// The service's state for the admin port; each call returns immediately, on any thread.
package struct AdminState: Sendable {
    /// False only if a restart would help.
    package var isAlive: @Sendable () -> Bool
    package var readiness: @Sendable () -> Readiness
    /// The current values.
    package var metrics: @Sendable () -> [MetricFamily]
    /// See `StatusDocument`; nil: there is no status page.
    package var statusJSON: (@Sendable () -> [UInt8])?
    /// Writes an order for a campaign, and calls back when Kafka has answered.
    package typealias OrderCampaign =
        @Sendable (CampaignRequest, @escaping @Sendable (CampaignAnswer) -> Void) -> Void
    /// Nil: there is no topic for orders.
    package var orderCampaign: OrderCampaign?

    package init(
        isAlive: @escaping @Sendable () -> Bool,
        readiness: @escaping @Sendable () -> Readiness,
        metrics: @escaping @Sendable () -> [MetricFamily],
        statusJSON: (@Sendable () -> [UInt8])?,
        orderCampaign: OrderCampaign? = nil
    ) {
        self.isAlive = isAlive
        self.readiness = readiness
        self.metrics = metrics
        self.statusJSON = statusJSON
        self.orderCampaign = orderCampaign
    }
}

/// Whether the service is ready: the obstacles if it is not, and warnings.
///
/// Probes, rollouts and node drains act on readiness, in all processes at once. So only problems of
/// this process or of Kafka are obstacles. Problems of one credential, endpoint or schema are
/// warnings, because others continue to work, and no other process would do better.
package struct Readiness: Hashable, Sendable {
    package struct Finding: Hashable, Sendable {
        /// What it concerns, such as `kafka` or `credential example`.
        package var part: String
        /// A sentence for people; never contains a device token.
        package var reason: String

        package init(part: String, reason: String) {
            self.part = part
            self.reason = reason
        }
    }

    /// Empty if the service is ready.
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
