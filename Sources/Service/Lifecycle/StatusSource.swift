import APNsRules
import AdminHTTP
import Configuration
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// The data of the status page, and the timer that records its history.
final class StatusSource: Sendable {
    private let health: ServiceHealth
    private let metrics: Metrics
    private let configuration: [StatusDocument.Setting]
    private let campaigns: CampaignReadings
    private let startedAt = SystemClock.now
    private let history = Mutex(StatusHistory())
    private let campaignRates = Mutex(CampaignRates())

    init(
        health: ServiceHealth,
        metrics: Metrics,
        campaigns: CampaignReadings,
        configuration: Configuration
    ) {
        self.health = health
        self.campaigns = campaigns
        self.metrics = metrics
        self.configuration = configuration.effectiveValues.map {
            StatusDocument.Setting(key: $0.path, value: $0.text)
        }
    }

    /// Records the metrics every few seconds, until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            record()
            try? await Task.sleep(for: .seconds(StatusHistory.interval))
        }
    }

    private var uptime: Duration { SystemClock.now - startedAt }

    private func record() {
        // Read before taking the lock, so that a request for the document does not have to wait.
        let families = metrics.families
        history.withLock { $0.record(families, uptimeMilliseconds: uptime.milliseconds) }
        let totals = campaigns.counts.mapValues(\.outcomes.total)
        campaignRates.withLock { $0.record(totals, uptimeMilliseconds: uptime.milliseconds) }
    }

    /// The contents of `/status.json`.
    var json: [UInt8] {
        let history = history.withLock { $0 }
        let rates = campaignRates.withLock { $0 }
        let uptime = uptime
        return StatusDocument(
            version: Heliograph.version,
            state: health.state,
            uptimeSeconds: uptime.components.seconds,
            readiness: health.readiness,
            families: metrics.families,
            history: history,
            reasons: history.reasons.map(StatusDocument.ExplainedReason.init),
            campaigns: campaigns.table { campaign, total in
                rates.rate(
                    of: campaign,
                    total: total,
                    uptimeMilliseconds: uptime.milliseconds
                )
            },
            configuration: configuration
        ).utf8
    }
}

extension StatusDocument.ExplainedReason {
    /// Combines a reason from the metrics with its explanation.
    init(_ count: StatusReasonCount) {
        let note = Self.note(on: count.reason, decidedBy: count.decidedBy)
        self.init(count: count, meaning: note.meaning, remedy: note.remedy)
    }

    /// The explanation and remedy of a reason as named in the metrics, one sentence each.
    package static func note(
        on reason: String,
        decidedBy decider: String
    ) -> (meaning: String, remedy: String) {
        if decider == Outcome.Decider.heliograph.rawValue {
            guard let local = LocalReason(rawValue: reason) else { return ("", "") }
            return (local.explanation, local.remedy)
        }
        let rows =
            ReasonTable.rows(matching: reason)
            + ReasonTable.rows(matching: reason, kind: .broadcast)
        if let row = rows.first { return (row.explanation, row.remedy) }
        return reason == "none"
            ? ("APNs gave no reason.", "Its status alone decided; see the answers by status.")
            : (
                "APNs gave a reason that this version does not know.",
                "Read it in the outcomes; its status alone decided."
            )
    }
}
