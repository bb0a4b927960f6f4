package import Telemetry

/// The contents of `/status.json`, which the status page shows.
package struct StatusDocument: Sendable {
    package var version: String
    /// `starting`, `running` or `draining`.
    package var state: String
    package var uptimeSeconds: Int64
    package var readiness: Readiness
    package var families: [MetricFamily]
    package var history: StatusHistory
    /// In the order of the page.
    package var reasons: [ExplainedReason]
    package var campaigns: StatusCampaigns
    /// In the order of the reference documentation, without secrets.
    package var configuration: [Setting]

    package init(
        version: String,
        state: String,
        uptimeSeconds: Int64,
        readiness: Readiness,
        families: [MetricFamily],
        history: StatusHistory = StatusHistory(),
        reasons: [ExplainedReason] = [],
        campaigns: StatusCampaigns,
        configuration: [Setting] = []
    ) {
        self.version = version
        self.state = state
        self.uptimeSeconds = uptimeSeconds
        self.readiness = readiness
        self.families = families
        self.history = history
        self.reasons = reasons
        self.campaigns = campaigns
        self.configuration = configuration
    }
}

extension StatusDocument {
    /// A reason of outcomes, with its explanation from the table of reasons.
    package struct ExplainedReason: Hashable, Sendable {
        package var count: StatusReasonCount
        /// What it means, in one sentence.
        package var meaning: String
        /// What an operator or developer should do.
        package var remedy: String

        package init(count: StatusReasonCount, meaning: String, remedy: String) {
            self.count = count
            self.meaning = meaning
            self.remedy = remedy
        }
    }

    /// A value of the effective configuration.
    package struct Setting: Hashable, Sendable {
        /// The key, such as `kafka.group_id`.
        package var key: String
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }
}
