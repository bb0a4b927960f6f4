package import Telemetry

/// The content of `/status.json` and of the status page.
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
    /// In the order of the reference, without secrets.
    package var configuration: [Setting]

    package init(
        version: String,
        state: String,
        uptimeSeconds: Int64,
        readiness: Readiness,
        families: [MetricFamily],
        history: StatusHistory = StatusHistory(),
        reasons: [ExplainedReason] = [],
        configuration: [Setting] = []
    ) {
        self.version = version
        self.state = state
        self.uptimeSeconds = uptimeSeconds
        self.readiness = readiness
        self.families = families
        self.history = history
        self.reasons = reasons
        self.configuration = configuration
    }
}

extension StatusDocument {
    /// A reason of outcomes, with what the table of reasons says of it.
    package struct ExplainedReason: Hashable, Sendable {
        package var count: StatusReasonCount
        /// What it means; one sentence.
        package var meaning: String
        /// What people should do.
        package var remedy: String

        package init(count: StatusReasonCount, meaning: String, remedy: String) {
            self.count = count
            self.meaning = meaning
            self.remedy = remedy
        }
    }

    /// A value of the configuration in effect.
    package struct Setting: Hashable, Sendable {
        /// As `kafka.group_id`.
        package var key: String
        package var value: String

        package init(key: String, value: String) {
            self.key = key
            self.value = value
        }
    }
}
